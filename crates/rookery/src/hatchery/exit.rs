//! The exit codes of `hatchery run`: whoever supervises the process restarts it at once, later or not at all, by cause.

use rookery_cds::CdsError;
use rookery_daemon::lock::LockError;
use rookery_daemon::shutdown::ExitCause;
use rookery_fleet_vsphere::SiteError;
use rookery_hatchery::run::{Ended, InstanceError, LeadershipLost, StartError};
use rookery_vim_client::CallError;

/// The cause of an error; none if it is one that every command may end with.
pub(super) fn cause_of(error: &anyhow::Error) -> Option<ExitCause> {
    error.chain().find_map(|cause| {
        let of_start = cause.downcast_ref().and_then(of_start);
        let of_instance = cause.downcast_ref().and_then(of_instance);
        of_start.or(of_instance).or_else(|| cause.downcast_ref().map(of_end))
    })
}

fn of_start(error: &StartError) -> Option<ExitCause> {
    match error {
        StartError::VCenter(CallError::Credentials { .. }) | StartError::SignIn(CdsError::SignIn { .. }) => {
            Some(ExitCause::Credentials)
        }
        StartError::VCenter(_) | StartError::SignIn(_) | StartError::Site(SiteError::Call(_)) => {
            Some(ExitCause::Peer)
        }
        StartError::Instance(instance_error) => of_instance(instance_error),
        StartError::Leadership(lost) => Some(of_leadership(lost)),
        StartError::Key(_)
        | StartError::Api(_)
        | StartError::Site(SiteError::Unclear(_))
        | StartError::Stopped => None,
    }
}

fn of_instance(error: &InstanceError) -> Option<ExitCause> {
    match error {
        InstanceError::Other { .. } | InstanceError::Lock(LockError::Held { .. }) => {
            Some(ExitCause::AlreadyRuns)
        }
        InstanceError::Unlisted { .. } => Some(ExitCause::Peer),
        InstanceError::Lock(LockError::Unusable { .. }) | InstanceError::Unseen { .. } => None,
    }
}

fn of_leadership(lost: &LeadershipLost) -> ExitCause {
    match lost {
        LeadershipLost::Follows { .. } => ExitCause::AlreadyRuns,
        LeadershipLost::Unlisted { .. } => ExitCause::Peer,
    }
}

fn of_end(ended: &Ended) -> ExitCause {
    match ended {
        Ended::Unwanted => ExitCause::Unwanted,
        Ended::Leadership(lost) => of_leadership(lost),
        Ended::Broken { .. } => ExitCause::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rookery_cds::{ErrorId, Refusal};
    use rookery_daemon::ProcessName;
    use rookery_vim_client::DialError;

    use super::*;

    fn check(error: impl Into<anyhow::Error>, expected: Option<u8>) {
        let error: anyhow::Error = error.into();
        let error = error.context("more about it");
        assert_eq!(cause_of(&error).map(ExitCause::code), expected, "{error:?}");
    }

    const UNIT: &str = include_str!("../../../../deploy/systemd/rookery-hatchery.service");

    /// The shell script in a line of the unit, as systemd runs it.
    fn script(key: &str) -> String {
        let line = UNIT.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix("=/bin/sh -c "));
        line.expect(key).trim_matches('\'').replace("$$", "$")
    }

    #[test]
    fn the_unit_waits_for_five_minutes_after_refused_credentials_and_for_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let slept = folder.path().join("slept");
        // Instead of sleeping it is written down.
        let tools = folder.path().join("bin");
        std::fs::create_dir(&tools).unwrap();
        let sleep = format!("#!/bin/sh\necho \"$1\" >{}\n", slept.display());
        std::fs::write(tools.join("sleep"), sleep).unwrap();
        std::fs::set_permissions(tools.join("sleep"), PermissionsExt::from_mode(0o755)).unwrap();
        let run = |key: &str, ended: &str| {
            let path = format!("{}:/usr/bin:/bin", tools.display());
            let variables = [("PATH", path.as_str()), ("EXIT_STATUS", ended)];
            let mut command = std::process::Command::new("/bin/sh");
            command.args(["-c", &script(key)]).env_clear().envs(variables);
            let status = command.env("RUNTIME_DIRECTORY", folder.path()).status().unwrap();
            assert!(status.success(), "{key}");
        };
        let waits_after = |ended: &str| {
            run("ExecStopPost", ended);
            run("ExecStartPre", "");
            let waited = std::fs::read_to_string(&slept).ok();
            std::fs::remove_file(&slept).ok();
            waited.map(|seconds| seconds.trim().to_owned())
        };
        run("ExecStartPre", "");
        assert!(!slept.exists(), "the first start waits for nobody");
        let refused = ExitCause::Credentials.code().to_string();
        assert_eq!(waits_after(&refused).as_deref(), Some("300"));
        for other in ["0", "1", "4", "5", "6", "70", "130", "KILL", ""] {
            assert_eq!(waits_after(other), None, "{other}");
        }
    }

    #[test]
    fn neither_the_unit_nor_the_container_gives_it_rights_that_it_does_not_need() {
        for line in ["User=rookery", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict"]
        {
            assert!(UNIT.lines().any(|own| own == line), "{line}");
        }
        assert!(UNIT.contains("\nRestart=always\n") && UNIT.contains("\nRestartPreventExitStatus=2\n"));
        let container = include_str!("../../../../deploy/container/Containerfile");
        let users: Vec<_> = container.lines().filter_map(|line| line.strip_prefix("USER ")).collect();
        assert_eq!(users, ["65532:65532"]);
    }

    #[test]
    fn each_cause_has_an_exit_code_of_its_own() {
        let endpoint = || "https://vc".to_owned();
        check(
            StartError::VCenter(CallError::Credentials { endpoint: endpoint(), user: "me".to_owned() }),
            Some(3),
        );
        let source = DialError::TimedOut { address: "vc:443".to_owned() };
        check(StartError::VCenter(CallError::Unreachable { endpoint: endpoint(), source }), Some(5));
        let what = || "sign in".to_owned();
        check(StartError::SignIn(CdsError::Unavailable { what: what(), status: 502 }), Some(5));
        let (hatchery, message) = ("nest".to_owned(), String::new());
        let refusal = Refusal { status: 403, id: ErrorId::FORBIDDEN, message, request_id: None, from: None };
        let source = Box::new(refusal);
        check(StartError::SignIn(CdsError::SignIn { protocol: "V1", hatchery, source }), Some(3));
        let (process, path) = (ProcessName::new("hatchery", "nest"), "/run/nest.lock".into());
        check(InstanceError::Lock(LockError::Held { process, path }), Some(4));
        check(Ended::Unwanted, Some(6));
        let since = std::time::Duration::from_secs(121);
        check(Ended::Leadership(LeadershipLost::Unlisted { since }), Some(5));
        check(Ended::Broken { task: "inventory" }, Some(70));
        check(StartError::Stopped, None);
        check(anyhow::anyhow!("something else"), None);
    }
}
