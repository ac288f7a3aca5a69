//! The calls of the last stage: start a command in the guest, and ask how it ended.

use rookery_vim::guest::{
    GuestAuthentication, GuestProcessInfo, GuestProgram, GuestProgramSpec, NamePasswordAuthentication,
};
use rookery_vim::methods::{ListProcessesInGuest, StartProgramInGuest};
use rookery_vim::{Hidden, MoRef, Wire as _};
use rookery_vim_client::{CallError, Client, properties_of};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OnceCell;

/// The command, for people.
pub(super) const COMMAND: &str = "`env`";
/// The tools hand path and arguments to a shell as one line, so that this runs `env`. Worker scripts are started in the
/// same way: what the probe proves holds for them.
const PROGRAM: &str = "/bin/echo";
const ARGUMENTS: &str = "-n ;env";

/// A user of the guest.
#[derive(Debug, Clone)]
pub struct GuestLogin {
    /// Its name.
    pub user: String,
    /// Its password.
    pub password: SecretString,
}

/// The guest of one VM.
pub(super) struct Guest<'a> {
    client: &'a Client,
    processes: &'a MoRef,
    vm: &'a MoRef,
    login: &'a GuestLogin,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It runs.
    NotYet,
    /// With this exit code.
    With(i32),
    /// The guest does not know it: it was restarted in between.
    Unknown,
}

impl<'a> Guest<'a> {
    /// The guest, through the server's process manager, which is asked for once.
    pub(super) async fn find(
        client: &'a Client,
        manager: &'a OnceCell<MoRef>,
        vm: &'a MoRef,
        login: &'a GuestLogin,
    ) -> Result<Self, CallError> {
        let processes = manager.get_or_try_init(|| process_manager(client)).await?;
        Ok(Self { client, processes, vm, login })
    }

    /// Starts the command; its process.
    pub(super) async fn start(&self) -> Result<i64, CallError> {
        let spec = GuestProgramSpec {
            program_path: PROGRAM.to_owned(),
            arguments: ARGUMENTS.to_owned(),
            working_directory: None,
            env_variables: Vec::new(),
        };
        let start = StartProgramInGuest {
            this: self.processes.clone(),
            vm: self.vm.clone(),
            auth: self.auth(),
            spec: GuestProgram::GuestProgramSpec(spec),
        };
        self.client.call(&start).await
    }

    /// Whether and how the command ended.
    pub(super) async fn ended(&self, pid: i64) -> Result<End, CallError> {
        let list = ListProcessesInGuest {
            this: self.processes.clone(),
            vm: self.vm.clone(),
            auth: self.auth(),
            pids: vec![pid],
        };
        Ok(end_of(pid, &self.client.call(&list).await?))
    }

    fn auth(&self) -> GuestAuthentication {
        GuestAuthentication::NamePasswordAuthentication(NamePasswordAuthentication {
            interactive_session: false,
            username: self.login.user.clone(),
            password: Hidden(self.login.password.expose_secret().to_owned()),
        })
    }
}

/// A server without one answers the calls to it with a fault that says so.
async fn process_manager(client: &Client) -> Result<MoRef, CallError> {
    let fallback = || MoRef::new("GuestProcessManager", "guestOperationsProcessManager");
    let Some(guests) = &client.content().guest_operations_manager else { return Ok(fallback()) };
    let found = properties_of(client, guests, &["processManager"]).await?.into_iter().next();
    Ok(found.and_then(|(_, value)| MoRef::from_node(value).ok()).unwrap_or_else(fallback))
}

fn end_of(pid: i64, listed: &[GuestProcessInfo]) -> End {
    match listed.iter().find(|process| process.pid == pid) {
        None => End::Unknown,
        Some(GuestProcessInfo { exit_code: Some(code), .. }) => End::With(*code),
        // Servers may leave an exit code of 0 out.
        Some(GuestProcessInfo { end_time: Some(_), .. }) => End::With(0),
        Some(_) => End::NotYet,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn a_process_has_ended_when_it_has_an_exit_code_or_an_end() {
        let ended = Some(Timestamp::UNIX_EPOCH);
        let check = |pid: i64, end_time, exit_code, expected| {
            let process = GuestProcessInfo {
                name: "echo".to_owned(),
                pid,
                owner: "worker".to_owned(),
                cmd_line: format!("{PROGRAM} {ARGUMENTS}"),
                start_time: Timestamp::UNIX_EPOCH,
                end_time,
                exit_code,
            };
            let other = GuestProcessInfo { pid: 1, end_time: ended, exit_code: Some(9), ..process.clone() };
            assert_eq!(end_of(7, &[other, process]), expected, "{end_time:?} {exit_code:?}");
        };
        check(7, None, None, End::NotYet);
        check(7, ended, None, End::With(0));
        check(7, ended, Some(0), End::With(0));
        check(7, ended, Some(127), End::With(127));
        check(7, None, Some(3), End::With(3));
        check(8, ended, Some(0), End::Unknown);
        assert_eq!(end_of(7, &[]), End::Unknown);
    }

    #[test]
    fn the_password_is_not_shown() {
        let login = GuestLogin { user: "worker".to_owned(), password: "hunter2".into() };
        let shown = format!("{login:?}");
        assert!(shown.contains("worker") && !shown.contains("hunter2"), "{shown}");
    }
}
