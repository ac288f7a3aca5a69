//! Guests in boxes: what vcsim has to be told so that its VMs behave as those of a vCenter do.
//!
//! A clone inherits the guest of its template, carries the notes of its order from the beginning and has an address if it
//! asked DHCP; changed notes and sizes are told to whoever watches; and what is started in a guest runs in there to its
//! last word. Clients say nothing of all that, so that a proxy has to say it in their place.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::Vcsim;
use crate::tools::workspace;
use crate::{Proxy, tool};

/// What the stand-in for `docker` needs for boxes.
pub(super) fn bring(command: &mut Command, scratch: &Path, guests: &Path) {
    fs::create_dir_all(guests).expect("a folder for guests");
    // Boxes belong to nobody, who must be able to pass.
    for folder in [scratch, guests] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).expect("it is ours");
    }
    command
        .env("ROOKERY_BOX", workspace().join("crates/vim-sim/src/server/exec"))
        .env("ROOKERY_GOVC", tool("govc"))
        .envs([("GOVC_USERNAME", Vcsim::USER), ("GOVC_PASSWORD", Vcsim::PASSWORD)])
        .envs([("GOVC_INSECURE", "true"), ("GOVC_PERSIST_SESSION", "false")])
        // Each look at a container would overwrite the notes of its VM.
        .env("VCSIM_INSPECT_INTERVAL", "87600h");
}

/// A guest that turns itself off has its VM turned off there.
pub(super) fn tell_address(guests: &Path, address: &str) {
    fs::write(guests.join("address"), format!("{address}/sdk")).expect("the folder takes files");
}

/// The `/tmp` of the guest of a VM.
pub(super) fn folder(guests: &Path, uuid: &str) -> Option<PathBuf> {
    let containers = fs::read_dir(guests.join("containers")).ok()?;
    let of_vm = |folder: &PathBuf| {
        fs::read_to_string(folder.join("uuid")).is_ok_and(|found| found.trim_end() == uuid)
    };
    containers.filter_map(|entry| Some(entry.ok()?.path())).find(of_vm).map(|folder| folder.join("box/tmp"))
}

pub(super) fn amend(proxy: &Proxy) {
    proxy.amend("CloneVM_Task", clone);
    proxy.amend("ReconfigVM_Task", |body| Some(reconfigure(body)));
    proxy.amend("StartProgramInGuest", start);
}

fn clone(body: &str) -> Option<String> {
    let (head, tail) = body.split_once("</config>")?;
    let guest = if body.contains("CustomizationDhcpIpGenerator") { "[\"box\",\"dhcp\"]" } else { "box" };
    let mut settings = vec![
        option("RUN.container", "xsd:string", guest),
        option("RUN.mountdmi", "xsd:string", "false"),
        option("SET.guest.guestOperationsReady", "xsd:boolean", "true"),
    ];
    settings.extend(
        between(body, "annotation").map(|notes| option("SET.config.annotation", "xsd:string", notes)),
    );
    Some(format!("{head}{}</config>{tail}", settings.concat()))
}

fn reconfigure(body: &str) -> String {
    let told = [
        ("annotation", "SET.config.annotation", "xsd:string"),
        ("numCPUs", "SET.config.hardware.numCPU", "xsd:int"),
        ("memoryMB", "SET.config.hardware.memoryMB", "xsd:int"),
    ];
    let told = told.iter().filter_map(|(of, key, kind)| Some(option(key, kind, between(body, of)?)));
    body.replacen("</spec>", &format!("{}</spec>", told.collect::<String>()), 1)
}

/// vcsim pastes path, arguments and variables into a shell of this machine: quoted, they pass it.
fn start(body: &str) -> Option<String> {
    let (path, arguments) = (between(body, "programPath")?, between(body, "arguments")?);
    let line = quoted(&format!("\"{path}\" {arguments}"));
    let body = body.replacen(&element("programPath", path), &element("programPath", "line"), 1).replacen(
        &element("arguments", arguments),
        &element("arguments", &line),
        1,
    );
    let mut amended = String::new();
    let mut rest = body.as_str();
    while let Some(variable) = between(rest, "envVariables") {
        let (before, after) = rest.split_once(&element("envVariables", variable))?;
        amended.extend([before, &element("envVariables", &quoted(variable))]);
        rest = after;
    }
    Some(amended + rest)
}

/// A word for a shell, written in XML before and after.
fn quoted(xml: &str) -> String {
    let plain = xml.replace("&apos;", "'").replace("&#39;", "'");
    format!("'{}'", plain.replace('\'', "'\\''"))
}

fn option(key: &str, kind: &str, value: &str) -> String {
    let value = format!("<value xsi:type=\"{kind}\">{value}</value>");
    format!("<extraConfig xsi:type=\"OptionValue\"><key>{key}</key>{value}</extraConfig>")
}

fn element(name: &str, text: &str) -> String {
    format!("<{name}>{text}</{name}>")
}

/// What the first element of that name holds.
fn between<'b>(body: &'b str, name: &str) -> Option<&'b str> {
    let after = body.split_once(&format!("<{name}>"))?.1;
    Some(after.split_once(&format!("</{name}>"))?.0)
}
