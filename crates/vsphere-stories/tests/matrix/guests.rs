//! Guests: how they start, and what can be done in them.

use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rookery_vim::{MoRef, Node};

use super::raw_client::{RawClient, is, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

/// Powers a VM off and on again.
async fn restarted(client: &RawClient) -> anyhow::Result<MoRef> {
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    client.finish("PowerOnVM_Task", &vm, "").await?;
    Ok(vm)
}

pub(super) async fn a_guest_comes_up_step_by_step(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = restarted(&client).await?;
    let tools = client.property(&vm, "guest.toolsRunningStatus").await?;
    ensure!(tools == "guestToolsNotRunning", "the tools are {tools:?} at once");
    ensure!(client.property(&vm, "guest.ipAddress").await?.is_empty(), "it has an address at once");
    client.until(&vm, "guest.toolsRunningStatus", "guestToolsRunning").await?;
    for _ in 0..50 {
        if !client.property(&vm, "guest.ipAddress").await?.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("it has no address")
}

pub(super) async fn a_guest_is_ready_by_itself(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = restarted(&client).await?;
    client.until(&vm, "guest.guestOperationsReady", "true").await
}

pub(super) async fn a_guest_that_is_off_tells_no_address(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = restarted(&client).await?;
    client.until(&vm, "guest.toolsRunningStatus", "guestToolsRunning").await?;
    client.off(&vm).await?;
    client.until(&vm, "guest.toolsRunningStatus", "guestToolsNotRunning").await?;
    let address = client.property(&vm, "guest.ipAddress").await?;
    ensure!(address.is_empty(), "it still has {address}");
    Ok(())
}

async fn processes(client: &RawClient) -> anyhow::Result<MoRef> {
    let this = MoRef::new("ServiceInstance", "ServiceInstance");
    let content = client.ask("RetrieveServiceContent", &this, "").await?;
    let guests = content.child("returnval").and_then(|content| content.child("guestOperationsManager"));
    let guests = guests.map(super::raw_client::reference).context("guest operations")?;
    let manager = client.value(&guests, "processManager").await?.context("programs")?;
    Ok(super::raw_client::reference(&manager))
}

fn login(vm: &MoRef, password: &str) -> String {
    format!(
        "{}<auth xsi:type=\"NamePasswordAuthentication\"><interactiveSession>false</interactiveSession>\
         <username>root</username><password>{password}</password></auth>",
        tag("vm", vm)
    )
}

/// Runs a program to its end; what is told of it then.
async fn run(client: &RawClient, vm: &MoRef, path: &str, arguments: &str) -> anyhow::Result<Node> {
    let processes = processes(client).await?;
    let login = login(vm, "secret");
    let given = format!(
        "{login}<spec xsi:type=\"GuestProgramSpec\"><programPath>{path}</programPath>\
         <arguments>{arguments}</arguments></spec>"
    );
    let started = client.ask("StartProgramInGuest", &processes, &given).await?;
    let pid = started.child_text("returnval").context("a process")?;
    for _ in 0..100 {
        let listed =
            client.ask("ListProcessesInGuest", &processes, &format!("{login}<pids>{pid}</pids>")).await?;
        let process = listed.child("returnval").context("the process is listed")?;
        if process.child("endTime").is_some() {
            return Ok(process.clone());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("{path} does not end")
}

pub(super) async fn a_program_ends_with_its_code(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    for (arguments, code) in [("-c 'exit 0'", "0"), ("-c 'exit 7'", "7")] {
        let process = run(&client, &vm, "/bin/sh", arguments).await?;
        let seen = process.child_text("exitCode");
        ensure!(seen == Some(code), "{arguments} ended with {seen:?}");
    }
    Ok(())
}

pub(super) async fn a_wrong_guest_password_is_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let given = format!(
        "{}<spec xsi:type=\"GuestProgramSpec\"><programPath>/bin/sh</programPath><arguments/></spec>",
        login(&vm, "guessed")
    );
    is(&client.refusal("StartProgramInGuest", &processes(&client).await?, &given).await?, "InvalidGuestLogin")
}

pub(super) async fn a_guest_that_is_off_runs_nothing(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let given = format!(
        "{}<spec xsi:type=\"GuestProgramSpec\"><programPath>/bin/sh</programPath><arguments/></spec>",
        login(&vm, "secret")
    );
    let refused = client.refusal("StartProgramInGuest", &processes(&client).await?, &given).await?;
    ensure!(
        ["InvalidPowerState", "GuestOperationsUnavailable"].contains(&refused.fault.as_str()),
        "{refused}"
    );
    Ok(())
}

pub(super) async fn a_file_goes_into_a_guest_and_comes_back(subject: Subject) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("egg");
    std::fs::write(&file, "shell and yolk")?;
    let file = file.to_str().context("a path")?;
    let guest = ["-l", "root:secret", "-vm", "DC0_H0_VM0"];
    let run = |command: &'static str, rest: &[&str]| {
        let words: Vec<String> =
            [&[command], guest.as_slice(), rest].concat().iter().map(|word| (*word).to_owned()).collect();
        let subject = &subject;
        async move { subject.govc(&words.iter().map(String::as_str).collect::<Vec<_>>()).await }
    };
    run("guest.upload", &[file, "/tmp/egg"]).await?;
    let back = run("guest.download", &["/tmp/egg", "-"]).await?;
    ensure!(back == "shell and yolk", "{back:?} came back");
    Ok(())
}

pub(super) async fn govc_runs_a_program(subject: Subject) -> anyhow::Result<()> {
    let words = ["guest.run", "-l", "root:secret", "-vm", "DC0_H0_VM0", "/bin/echo", "hello"];
    let said = subject.govc(&words).await?;
    ensure!(said == "hello", "it said {said:?}");
    Ok(())
}
