mod boxes;
mod ours;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rookery_daemon::Supervisor;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::tools::workspace;
use crate::{Govc, Proxy, tool};

/// Long enough for ten thousand VMs on a busy machine; a start that fails says so at once.
const START: Duration = Duration::from_secs(1800);

/// VMware's simulator as its own process, or ours in its place (`ROOKERY_PEER=sim`). It ends with this value, or with the test that dies.
#[derive(Debug)]
pub struct Vcsim {
    child: Child,
    address: String,
    options: VcsimOptions,
    // Its datastores are real files; they go when the simulator goes.
    scratch: TempDir,
}

/// What the simulated vCenter is like.
#[derive(Debug, Clone, Default)]
pub struct VcsimOptions {
    arguments: Vec<String>,
    guests: Option<Guests>,
    without_tools: bool,
}

/// Where the guests of its VMs live.
#[derive(Debug, Clone)]
enum Guests {
    /// In a folder of its own, which goes when the simulator goes.
    Own,
    /// In the folder of another simulator.
    Shared(PathBuf),
    /// Each in a box of its own.
    Boxed,
}

/// Whether the simulator is ours.
pub fn on_our_simulator() -> bool {
    ours::is_wanted()
}

/// Whether a story is left out here, since it is about the ways of vcsim: `left_out.rs` of the stories says why of each. The
/// test command counts it as skipped.
pub fn only_on_vcsim() -> bool {
    if ours::is_wanted() {
        left_out("about the ways of vcsim; left_out.rs says which");
    }
    ours::is_wanted()
}

/// Says that the test that calls this does nothing, and why. `cargo xtask test` counts it as skipped.
fn left_out(reason: &str) {
    let thread = std::thread::current();
    let line = format!("\ntest left out: {}: {reason}\n", thread.name().unwrap_or("a test"));
    // Not by `println!`, which is heard only of tests that fail.
    std::io::stdout().lock().write_all(line.as_bytes()).expect("somebody listens");
}

impl VcsimOptions {
    /// A small world without TLS: one host with the given number of VMs.
    pub fn plain(vms: usize) -> Self {
        Self::tls(vms).with("-tls=false")
    }

    /// The same with the simulator's built-in certificate.
    pub fn tls(vms: usize) -> Self {
        Self::default().with("-cluster=0").with("-standalone-host=1").with(format!("-vm={vms}"))
    }

    /// Over TLS with a certificate of its own: `valid`, `expired` or `other-name`. See [`Vcsim::ca_file`].
    pub fn issued(vms: usize, certificate: &str) -> Self {
        Self::tls(vms).with(format!("-issue={certificate}"))
    }

    /// VMs can have a guest, whose programs are processes of this machine: see [`crate::Govc::give_guest`].
    #[must_use]
    pub fn with_guests(mut self) -> Self {
        self.guests = Some(Guests::Own);
        self
    }

    /// The guests are those of another simulator, as a host and its vCenter see the same.
    #[must_use]
    pub fn with_guests_of(mut self, other: &Vcsim) -> Self {
        self.guests = Some(Guests::Shared(guests(&other.scratch)));
        self
    }

    /// Guests can do whatever they like, and keep the notes of their VM: see [`Vcsim::gateway`], through which alone they
    /// are to be used.
    #[must_use]
    pub fn with_boxes(mut self) -> Self {
        self.guests = Some(Guests::Boxed);
        self
    }

    /// No VM has the tools, as in vcsim no VM does anyway.
    #[must_use]
    pub fn without_tools(mut self) -> Self {
        self.without_tools = true;
        self
    }

    /// Appends an argument.
    #[must_use]
    pub fn with(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

impl Vcsim {
    /// The only user that it knows.
    pub const USER: &str = "user";
    /// That user's password.
    pub const PASSWORD: &str = "pass";

    /// Starts it on a free port and waits until it serves.
    pub async fn start(options: VcsimOptions) -> Self {
        let scratch = TempDir::new().expect("a temporary folder");
        let (child, address) = launch(&options, "127.0.0.1:0", &scratch).await;
        if let Some(Guests::Boxed) = options.guests {
            boxes::tell_address(&guests(&scratch), &address);
        }
        Self { child, address, options, scratch }
    }

    /// A way to it on which its VMs behave as those of a vCenter do, if it was started with
    /// [`VcsimOptions::with_boxes`]: clones have a guest that can be worked in at once.
    pub async fn gateway(&self, supervisor: &Supervisor) -> Proxy {
        let proxy = Proxy::start(self.socket(), supervisor).await;
        boxes::amend(&proxy);
        proxy
    }

    /// The files of a guest in a box that are in its `/tmp`, by the UUID of its VM.
    pub fn box_folder(&self, uuid: &str) -> Option<PathBuf> {
        boxes::folder(&guests(&self.scratch), uuid)
    }

    /// `https://127.0.0.1:port`, as it announced itself.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// `127.0.0.1:port`.
    pub fn socket(&self) -> &str {
        self.address.split_once("://").map_or(&self.address, |(_, socket)| socket)
    }

    /// The authority that issued its certificate, if it was started with [`VcsimOptions::issued`].
    pub fn ca_file(&self) -> PathBuf {
        ca_file(&self.scratch)
    }

    /// Where guests can write. With vcsim it is one folder of this machine for all of them; our guests have one each,
    /// which is seen by its guest alone.
    pub fn guest_folder(&self) -> PathBuf {
        if ours::is_wanted() { PathBuf::from("/tmp") } else { guests(&self.scratch).join("files") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("the simulator runs")
    }

    /// A host, by its name, is not connected any more.
    pub async fn lose_host(&self, name: &str) {
        if ours::is_wanted() {
            let incident = format!("{{\"host-down\": {{\"host\": \"{name}\"}}}}");
            ours::control(&self.scratch, &["do", &incident]).await;
        } else {
            Govc::new(self).run(&["host.disconnect", &format!("*/{name}")]).await;
        }
    }

    /// The guest of a VM has no tools that run, now and whenever it starts, and shows nothing of itself. Those of vcsim
    /// are like that anyway.
    pub async fn silence_guest(&self, vm: &str) {
        if ours::is_wanted() {
            let looks = "\"tools\": false, \"operations\": false, \"addresses\": []";
            let incident = format!("{{\"set-guest\": {{\"vm\": \"{vm}\", {looks}}}}}");
            ours::control(&self.scratch, &["do", &incident]).await;
            let rule = format!("{{\"target\": \"{vm}\", \"action\": {{\"guest\": \"no-tools\"}}}}");
            ours::control(&self.scratch, &["add-rule", &rule]).await;
        }
    }

    /// Kills it without a shutdown.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("the simulator can be killed");
    }

    /// Starts it again on the same port after [`Self::kill`]. It remembers nothing.
    pub async fn start_again(&mut self) {
        let socket = self.socket().to_owned();
        (self.child, self.address) = launch(&self.options, &socket, &self.scratch).await;
    }
}

fn ca_file(scratch: &TempDir) -> PathBuf {
    scratch.path().join("ca.pem")
}

fn guests(scratch: &TempDir) -> PathBuf {
    scratch.path().join("guests")
}

/// vcsim has guests if a `docker` is the first on its way: ours.
fn bring_guests(command: &mut Command, folder: &Path) {
    let stand_in = workspace().join("tools/vsphere/docker-stand-in");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(stand_in).chain(std::env::split_paths(&others)));
    command.env("PATH", path.expect("folders without colons")).env("ROOKERY_GUESTS", folder);
}

async fn launch(options: &VcsimOptions, listen: &str, scratch: &TempDir) -> (Child, String) {
    let arguments = &options.arguments;
    let mut command = if ours::is_wanted() {
        ours::command(options, listen, scratch)
    } else {
        theirs(options, listen, scratch)
    };
    let mut child = command.spawn().expect("the simulator starts");
    let output = child.stdout.take().expect("its output is piped");
    let mut lines = BufReader::new(output).lines();
    let line =
        timeout(START, lines.next_line()).await.expect("vcsim serves in time").expect("its output is text");
    let line = line.unwrap_or_else(|| panic!("vcsim {arguments:?} ended before it served"));
    let address = line.strip_prefix("serving ").unwrap_or_else(|| panic!("vcsim said {line:?}"));
    if ours::is_wanted() {
        ours::slow_down(arguments, scratch).await;
    }
    (child, address.to_owned())
}

fn theirs(options: &VcsimOptions, listen: &str, scratch: &TempDir) -> Command {
    let mut command = Command::new(tool("vcsim"));
    match &options.guests {
        Some(Guests::Own) => bring_guests(&mut command, &guests(scratch)),
        Some(Guests::Shared(folder)) => bring_guests(&mut command, folder),
        Some(Guests::Boxed) => {
            bring_guests(&mut command, &guests(scratch));
            boxes::bring(&mut command, scratch.path(), &guests(scratch));
        }
        None => {}
    }
    command
        .args(["-until-stdin-closes", "-listen", listen])
        .args(["-username", Vcsim::USER, "-password", Vcsim::PASSWORD])
        .args(&options.arguments)
        .arg("-ca")
        .arg(ca_file(scratch))
        .env("TMPDIR", scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // It logs every handshake that a story breaks on purpose.
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}
