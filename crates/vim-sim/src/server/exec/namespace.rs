//! The namespaces of one guest: its own users, processes and view of the files.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::Start;
use crate::guests::GuestPower;
use crate::server::scratch::Scratch;

const SETUP: &str = include_str!("setup.sh");
const MACHINE: &str = include_str!("machine.sh");
/// Goes to where the program is to start, tells its number, and becomes the program.
const LAUNCH: &str = "case $1 in /home/*) mkdir -p -- \"$1\";; esac; cd -- \"$1\" || cd /; shift; echo $$; \
    exec \"$@\" </dev/null >/dev/null 2>&1";
/// 16 GiB of addresses, a day of computing and 4 GiB a file for each process.
const LIMITS: [&str; 6] =
    ["--nproc=4096", "--as=17179869184", "--cpu=86400", "--fsize=4294967296", "--nofile=4096", "--core=0"];
/// The exit code of a program whose end was not seen.
const NOT_KNOWN: i32 = 137;
/// Replacements for programs that act on the machine.
const STAND_INS: [&str; 6] = ["sudo", "shutdown", "poweroff", "halt", "reboot", "systemctl"];
/// What guests may write to.
const PLACES: [&str; 5] = ["tmp", "usr-local", "root", "home", "var-tmp"];
/// The user of programs if the simulator itself runs as root: nobody.
const NOBODY: u32 = 65_534;
/// How long it may take until a guest is ready, and until it has ended.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the simulator's own tools are. Guests write to `/usr/local`: what they put there must never run with the rights
/// that make and enter a guest.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Why programs cannot be run here.
#[derive(Debug, thiserror::Error)]
#[error(
    "programs of guests cannot be run on this machine: it must let an unprivileged user make user, mount and PID \
     namespaces, and have unshare, nsenter, setpriv, prlimit, mount and pivot_root of util-linux: {0}"
)]
pub struct ExecRefused(pub(super) String);

impl ExecRefused {
    fn io(what: &str, error: &io::Error) -> Self {
        Self(format!("{what}: {error}"))
    }
}

/// The namespaces of a guest, alive as long as this is.
#[derive(Debug)]
pub(super) struct Namespace {
    child: Child,
    /// The first process of the guest ends with this.
    life: Option<ChildStdin>,
    power: pipe::Receiver,
}

impl Namespace {
    /// Makes the namespaces of a guest whose files are in that folder.
    pub(super) async fn start(folder: &Path, host_name: &str) -> Result<Self, ExecRefused> {
        prepare(folder)
            .map_err(|error| ExecRefused::io(&format!("{} cannot be made", folder.display()), &error))?;
        let mut command = unprivileged("unshare");
        command
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "--pid",
                "--ipc",
                "--uts",
                "--fork",
                "--kill-child",
            ])
            .args(["--", "/bin/sh", "-s"])
            .env("GUEST", folder)
            .env("NAME", host_name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| ExecRefused::io("unshare cannot be started", &error))?;
        let mut life = child.stdin.take();
        let set_up = tokio::time::timeout(PATIENCE, set_up(&mut life, child.stdout.take())).await;
        if !matches!(set_up, Ok(Ok(true))) {
            drop(life);
            return Err(ExecRefused(complaints(child.stderr.take()).await));
        }
        // Open at both ends: otherwise it would end with the first program that writes to it.
        let power = pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(folder.join("power"))
            .map_err(|error| ExecRefused::io("the guest's pipe cannot be opened", &error))?;
        Ok(Self { child, life, power })
    }

    /// Starts a program, which sees what its guest sees and has no rights.
    pub(super) async fn launch(&self, start: &Start) -> io::Result<Program> {
        let mut command = self.enter(true);
        command.args(["setsid", "sh", "-c", LAUNCH, "sh", &start.directory]);
        command.args(["setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]);
        command.arg("prlimit").args(LIMITS).args(["env", "-i", "--"]).args(&start.environment);
        // Its path and its arguments are one text.
        command.args(["/bin/sh", "-c", &format!("\"{}\" {}", start.path, start.arguments)]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut pid = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output.take(32)).read_line(&mut pid).await?;
        }
        Ok(Program { child, pid: pid.trim().to_owned() })
    }

    /// Ends a program with all that it started, gently and then not.
    pub(super) fn stop(&self, pid: &str) -> io::Result<Child> {
        let mut command = self.enter(true);
        command.args(["sh", "-c", "kill -s TERM -- \"-$1\"; sleep 5; kill -s KILL -- \"-$1\"", "sh", pid]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }

    /// What the guest does to its machine next.
    pub(super) async fn power(&mut self) -> GuestPower {
        loop {
            let mut said = [0; 64];
            match self.power.read(&mut said).await {
                Ok(length) => {
                    let said = String::from_utf8_lossy(said.get(..length).unwrap_or_default()).into_owned();
                    match said.lines().last() {
                        Some("off") => return GuestPower::Off,
                        Some("reboot") => return GuestPower::Reboot,
                        Some(_) | None => {}
                    }
                }
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// A script of the simulator's own that sees the guest's files.
    pub(super) fn inside(&self, script: &str, arguments: &[&str]) -> Command {
        let mut command = self.enter(false);
        command.args(["/bin/sh", "-c", script, "sh"]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What enters the guest. Only what is started among its processes can be seen by them.
    fn enter(&self, among_processes: bool) -> Command {
        let target = self.child.id().unwrap_or_default().to_string();
        let mut command = unprivileged("nsenter");
        command.args(["--preserve-credentials", "--user", "--mount", "--ipc", "--uts", "--target", &target]);
        if among_processes {
            command.arg(format!("--pid=/proc/{target}/ns/pid_for_children"));
        }
        command.arg("--");
        command
    }

    /// Ends everything. When this returns no process of the guest is left.
    pub(super) async fn end(mut self) {
        // The first process ends, and the kernel ends the others before that is reported.
        self.life = None;
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            self.child.kill().await.ok();
        }
    }
}

#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// As the guest numbers it.
    pub(super) pid: String,
}

impl Program {
    /// Waits for its end; its exit code, as a shell tells it.
    pub(super) async fn ended(mut self) -> i32 {
        match self.child.wait().await {
            Ok(status) => status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(NOT_KNOWN),
            Err(_) => NOT_KNOWN,
        }
    }
}

async fn set_up(life: &mut Option<ChildStdin>, output: Option<ChildStdout>) -> io::Result<bool> {
    let (Some(life), Some(output)) = (life, output) else { return Ok(false) };
    life.write_all(SETUP.as_bytes()).await?;
    let mut said = String::new();
    BufReader::new(output).read_line(&mut said).await?;
    Ok(said == "ready\n")
}

async fn complaints(errors: Option<ChildStderr>) -> String {
    let mut text = String::new();
    if let Some(errors) = errors {
        let mut errors = errors.take(4096);
        tokio::time::timeout(PATIENCE, errors.read_to_string(&mut text)).await.ok();
    }
    let text = text.trim().replace('\n', "; ");
    if text.is_empty() {
        "the namespaces could not be made, and unshare gave no reason".to_owned()
    } else {
        text
    }
}

/// A program of util-linux, with the rights of an ordinary user.
fn unprivileged(program: &str) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")]);
        command.args(["--clear-groups", "--", program]);
        command
    } else {
        Command::new(program)
    };
    command.env_clear().env("PATH", PATH).current_dir("/").kill_on_drop(true);
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Makes the folder of a guest, with the places that are its own.
fn prepare(folder: &Path) -> io::Result<()> {
    // A guest that has run before has had its hands in there: nothing is written to it any more.
    if folder.exists() {
        return Ok(());
    }
    for place in PLACES.into_iter().chain(["view", "usr-local/bin", "usr-local/sbin"]) {
        fs::create_dir_all(folder.join(place))?;
    }
    for place in ["tmp", "var-tmp"] {
        fs::set_permissions(folder.join(place), fs::Permissions::from_mode(0o1777))?;
    }
    let stand_ins = STAND_INS.map(|name| folder.join("usr-local/bin").join(name));
    for path in stand_ins.into_iter().chain([folder.join("machine")]) {
        fs::write(&path, MACHINE)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    if is_root() {
        give_to_nobody(folder)?;
    }
    Ok(())
}

/// Changes the owner of a folder and of all that is in it to the user `nobody`.
fn give_to_nobody(path: &Path) -> io::Result<()> {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_to_nobody(&entry?.path())?;
        }
    }
    Ok(())
}

/// The folder that holds those of all guests. It goes when this goes.
pub(super) fn throw_away() -> io::Result<Scratch> {
    let folder = Scratch::new()?;
    // Guests must be able to pass through it, though not to look around.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
    Ok(folder)
}

pub(super) fn folder_of(all: &Path, vm: crate::Id) -> PathBuf {
    all.join(vm.reference().id())
}
