//! Programs and files inside guests, through VMware Tools and with the guest's own users.
//!
//! The tools of a VM carry out one operation after the other, so that one is asked for at a time; VMs do not wait for
//! each other. Starting a program is never repeated: whether it ran is the caller's to find out.

mod error;
mod route;
mod turns;
mod web;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rookery_vim::guest::{
    GuestAuthentication, GuestFileAttributes, GuestPosixFileAttributes, GuestProcessInfo, GuestProgram,
    GuestProgramSpec, NamePasswordAuthentication,
};
use rookery_vim::methods::{
    CreateTemporaryFileInGuest, DeleteFileInGuest, InitiateFileTransferFromGuest,
    InitiateFileTransferToGuest, ListProcessesInGuest, Method, StartProgramInGuest, TerminateProcessInGuest,
    ValidateCredentialsInGuest,
};
use rookery_vim::{Hidden, MoRef, Wire as _, unwritable};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;

use crate::client::Client;
use crate::error::CallError;
use crate::properties::properties_of;
use turns::Turns;

pub use error::GuestError;
pub use route::RouteError;
pub use web::GuestFileError;

/// Tools answer within seconds, and in a guest that is starting much later: giving up early would leave a program behind
/// that nobody knows.
const DEADLINE: Duration = Duration::from_secs(60);
/// So many looks in a row that fail for a reason that may pass are not followed by another.
const FAILED_LOOKS: u32 = 10;

/// Acts inside guests through one client. Clones share the turns of each VM.
#[derive(Debug, Clone)]
pub struct Guests {
    client: Client,
    managers: Arc<OnceCell<Managers>>,
    turns: Turns,
}

/// A user of the guest itself; vCenter's users mean nothing there.
#[derive(Debug, Clone)]
pub struct GuestUser {
    pub name: String,
    pub password: SecretString,
}

/// A program to start.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// Where it is in the guest, from the root.
    pub path: String,
    /// Everything after its name, byte for byte. Tools on Linux hand both to a shell: quoting is the caller's, and
    /// redirections work.
    pub arguments: String,
    /// Its variables. If there are any, they are all that it gets: not even `PATH` is there by itself.
    pub environment: Vec<(String, String)>,
    /// Where it starts; otherwise in the home of its user.
    pub directory: Option<String>,
}

/// Arguments and variables may hold secrets.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The server's objects for guests, as far as it has them.
#[derive(Debug)]
struct Managers {
    auth: Option<MoRef>,
    files: Option<MoRef>,
    processes: Option<MoRef>,
}

impl Guests {
    /// Operations over this client. Nothing is sent yet.
    pub fn new(client: Client) -> Self {
        Self { client, managers: Arc::default(), turns: Turns::default() }
    }

    /// Whether the guest knows the user and the password.
    pub async fn validate(&self, vm: &MoRef, user: &GuestUser) -> Result<(), GuestError> {
        let action = "check a password";
        let auth = user.authentication()?;
        let this = self.manager(vm, action, "GuestAuthManager", |m| &m.auth).await?;
        self.call(vm, action, &ValidateCredentialsInGuest { this, vm: vm.clone(), auth }).await
    }

    /// Starts a program and gives its process id; the program goes on by itself.
    ///
    /// It is sent once. After [`GuestError::MayHaveStarted`] look for the program before you start it again.
    pub async fn start(&self, vm: &MoRef, user: &GuestUser, program: &Program) -> Result<i64, GuestError> {
        let action = format!("start {}", program.path);
        let (auth, spec) = (user.authentication()?, GuestProgram::GuestProgramSpec(program.spec()?));
        let this = self.processes_of(vm, &action).await?;
        let call = StartProgramInGuest { this, vm: vm.clone(), auth, spec };
        self.call(vm, &action, &call).await.map_err(|error| error.of_start(&program.path))
    }

    /// The processes with these ids, or all if there are none. Those that ended are shown for some minutes.
    pub async fn processes(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        pids: &[i64],
    ) -> Result<Vec<GuestProcessInfo>, GuestError> {
        let action = "list the processes";
        let auth = user.authentication()?;
        let this = self.processes_of(vm, action).await?;
        let call = ListProcessesInGuest { this, vm: vm.clone(), auth, pids: pids.to_vec() };
        self.call(vm, action, &call).await
    }

    /// Waits for the end of a program that [`Self::start`] started, and gives its exit code. It is looked for after each
    /// of the delays, until these end or too many looks in a row have failed.
    pub async fn ended(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        pid: i64,
        delays: impl IntoIterator<Item = Duration>,
    ) -> Result<i32, GuestError> {
        let mut last = GuestError::StillRunning { pid, vm: vm.clone() };
        let mut failed = 0;
        for delay in delays {
            tokio::time::sleep(delay).await;
            match self.processes(vm, user, &[pid]).await {
                Ok(found) => match progress(&found, pid) {
                    Progress::Ended(code) => return Ok(code),
                    Progress::Running => {
                        failed = 0;
                        last = GuestError::StillRunning { pid, vm: vm.clone() };
                    }
                    Progress::Unlisted => return Err(GuestError::Forgotten { pid, vm: vm.clone() }),
                },
                Err(error) if error.is_transient() && failed + 1 < FAILED_LOOKS => {
                    failed += 1;
                    last = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub async fn terminate(&self, vm: &MoRef, user: &GuestUser, pid: i64) -> Result<(), GuestError> {
        let action = format!("end process {pid}");
        let auth = user.authentication()?;
        let this = self.processes_of(vm, &action).await?;
        self.call(vm, &action, &TerminateProcessInGuest { this, vm: vm.clone(), auth, pid }).await
    }

    /// Writes a file of exactly this size, in place of one that is there; permissions as `0o644`, or the guest's default.
    /// After a failure the file may be there in part.
    pub async fn upload(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        path: &str,
        permissions: Option<u32>,
        size: u64,
        content: impl AsyncRead + Send + Unpin,
    ) -> Result<(), GuestError> {
        let action = format!("write {path}");
        let attributes =
            GuestPosixFileAttributes { permissions: permissions.map(i64::from), ..Default::default() };
        let failed = |source| GuestError::Transfer {
            action: action.clone(),
            vm: vm.clone(),
            source: Box::new(source),
        };
        let call = InitiateFileTransferToGuest {
            this: self.files_of(vm, &action).await?,
            vm: vm.clone(),
            auth: user.authentication()?,
            guest_file_path: writable("the path", path)?,
            file_attributes: GuestFileAttributes::GuestPosixFileAttributes(attributes),
            file_size: i64::try_from(size).map_err(|_| failed(GuestFileError::TooLarge { size }))?,
            overwrite: true,
        };
        let _turn = self.turns.enter(vm).await;
        let url = self.call_in_turn(vm, &action, &call).await?;
        web::send(&self.client, vm, &url, size, content).await.map_err(failed)
    }

    /// Reads a file, and gives its size. After a failure a part of it may have been written.
    pub async fn download(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        path: &str,
        into: &mut (impl AsyncWrite + Send + Unpin),
    ) -> Result<u64, GuestError> {
        let action = format!("read {path}");
        let call = InitiateFileTransferFromGuest {
            this: self.files_of(vm, &action).await?,
            vm: vm.clone(),
            auth: user.authentication()?,
            guest_file_path: writable("the path", path)?,
        };
        let failed = |source| GuestError::Transfer {
            action: action.clone(),
            vm: vm.clone(),
            source: Box::new(source),
        };
        let _turn = self.turns.enter(vm).await;
        let told = self.call_in_turn(vm, &action, &call).await?;
        let received = web::fetch(&self.client, vm, &told.url, into).await.map_err(failed)?;
        // A log may have grown since; a connection that merely ended does not always say that it broke.
        match u64::try_from(told.size) {
            Ok(expected) if received < expected => Err(failed(GuestFileError::Short { expected, received })),
            Ok(_) | Err(_) => Ok(received),
        }
    }

    pub async fn delete_file(&self, vm: &MoRef, user: &GuestUser, path: &str) -> Result<(), GuestError> {
        let action = format!("remove {path}");
        let (auth, file_path) = (user.authentication()?, writable("the path", path)?);
        let this = self.files_of(vm, &action).await?;
        self.call(vm, &action, &DeleteFileInGuest { this, vm: vm.clone(), auth, file_path }).await
    }

    /// Makes an empty file of a name that nobody else has, in the guest's folder for such files, and gives its path.
    pub async fn temporary_file(
        &self,
        vm: &MoRef,
        user: &GuestUser,
        prefix: &str,
        suffix: &str,
    ) -> Result<String, GuestError> {
        let action = "make a temporary file";
        let call = CreateTemporaryFileInGuest {
            this: self.files_of(vm, action).await?,
            vm: vm.clone(),
            auth: user.authentication()?,
            prefix: writable("the prefix", prefix)?,
            suffix: writable("the suffix", suffix)?,
            directory_path: None,
        };
        self.call(vm, action, &call).await
    }

    async fn call<M: Method>(&self, vm: &MoRef, action: &str, method: &M) -> Result<M::Output, GuestError> {
        let _turn = self.turns.enter(vm).await;
        self.call_in_turn(vm, action, method).await
    }

    async fn call_in_turn<M: Method>(
        &self,
        vm: &MoRef,
        action: &str,
        method: &M,
    ) -> Result<M::Output, GuestError> {
        let deadline = self.client.deadlines().call.max(DEADLINE);
        let called = self.client.call_within(method, deadline).await;
        called.map_err(|error| GuestError::of_call(action, vm, method.this(), error))
    }

    async fn files_of(&self, vm: &MoRef, action: &str) -> Result<MoRef, GuestError> {
        self.manager(vm, action, "GuestFileManager", |m| &m.files).await
    }

    async fn processes_of(&self, vm: &MoRef, action: &str) -> Result<MoRef, GuestError> {
        self.manager(vm, action, "GuestProcessManager", |m| &m.processes).await
    }

    async fn manager(
        &self,
        vm: &MoRef,
        action: &str,
        kind: &str,
        which: impl Fn(&Managers) -> &Option<MoRef>,
    ) -> Result<MoRef, GuestError> {
        let read = self.managers.get_or_try_init(|| Managers::read(&self.client)).await;
        let managers = read.map_err(|source| GuestError::Refused {
            action: action.to_owned(),
            vm: vm.clone(),
            source: Box::new(source),
        })?;
        let unsupported = || GuestError::Unsupported { action: action.to_owned(), manager: kind.to_owned() };
        which(managers).clone().ok_or_else(unsupported)
    }
}

impl Managers {
    async fn read(client: &Client) -> Result<Self, CallError> {
        let paths = ["authManager", "fileManager", "processManager"];
        let mut found = match &client.content().guest_operations_manager {
            Some(manager) => properties_of(client, manager, &paths).await?,
            None => BTreeMap::new(),
        };
        let [auth, files, processes] = paths.map(|path| MoRef::from_node(found.remove(path)?).ok());
        Ok(Self { auth, files, processes })
    }
}

impl GuestUser {
    fn authentication(&self) -> Result<GuestAuthentication, GuestError> {
        Ok(GuestAuthentication::NamePasswordAuthentication(NamePasswordAuthentication {
            interactive_session: false,
            username: writable("the user's name", &self.name)?,
            password: Hidden(writable("the password", self.password.expose_secret())?),
        }))
    }
}

impl Program {
    /// What is sent; nothing of it is left out or changed on the way.
    fn spec(&self) -> Result<GuestProgramSpec, GuestError> {
        let variable = |(name, value): &(String, String)| {
            if name.is_empty() || name.contains('=') {
                return Err(GuestError::Variable { name: name.clone() });
            }
            writable("the environment", &format!("{name}={value}"))
        };
        Ok(GuestProgramSpec {
            program_path: writable("the program's path", &self.path)?,
            arguments: writable("the arguments", &self.arguments)?,
            working_directory: self.directory.as_deref().map(|d| writable("the directory", d)).transpose()?,
            env_variables: self.environment.iter().map(variable).collect::<Result<_, _>>()?,
        })
    }
}

/// A text that arrives as it is, or a refusal.
fn writable(place: &'static str, text: &str) -> Result<String, GuestError> {
    match unwritable(text) {
        Some(character) => Err(GuestError::Unwritable { place, character }),
        None => Ok(text.to_owned()),
    }
}

/// How far a program has come.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Running,
    /// With this exit code.
    Ended(i32),
    Unlisted,
}

fn progress(listed: &[GuestProcessInfo], pid: i64) -> Progress {
    match listed.iter().find(|process| process.pid == pid) {
        // Servers may leave out a code of 0.
        Some(process) if process.end_time.is_some() => Progress::Ended(process.exit_code.unwrap_or(0)),
        Some(_) => Progress::Running,
        None => Progress::Unlisted,
    }
}

#[cfg(test)]
mod tests;
