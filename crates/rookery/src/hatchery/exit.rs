//! The exit codes of `hatchery run`: whoever supervises the process restarts it at once, later or not at all, by cause.

use rookery_cds::CdsError;
use rookery_fleet_vsphere::SiteError;
use rookery_hatchery::run::{CompanyError, Ended, StartError};
use rookery_vim_client::CallError;

use crate::failure::BROKEN;

/// Why the hatchery ended, as far as that matters to whoever may start it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// vCenter refused the user or the password, or CDS a token. Trying again soon may lock the account.
    Credentials,
    /// Another hatchery of this name runs.
    Company,
    /// vCenter or CDS could not be reached, or had trouble of its own.
    Peer,
    /// CDS does not take the heartbeats any more.
    Unwanted,
    /// A part of the program has failed.
    Broken,
}

impl Cause {
    /// The exit code, as docs/cli.md lists it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Credentials => 3,
            Self::Company => 4,
            Self::Peer => 5,
            Self::Unwanted => 6,
            Self::Broken => BROKEN,
        }
    }

    /// The cause of an error; none if it is one that every command may end with.
    pub(super) fn of(error: &anyhow::Error) -> Option<Self> {
        error.chain().find_map(|cause| {
            let of_start = cause.downcast_ref().and_then(Self::of_start);
            let of_company = cause.downcast_ref().and_then(Self::of_company);
            of_start.or(of_company).or_else(|| cause.downcast_ref().map(Self::of_end))
        })
    }

    fn of_start(error: &StartError) -> Option<Self> {
        match error {
            StartError::VCenter(CallError::Credentials { .. })
            | StartError::SignIn(CdsError::SignIn { .. }) => Some(Self::Credentials),
            StartError::VCenter(_) | StartError::SignIn(_) | StartError::Site(SiteError::Call(_)) => {
                Some(Self::Peer)
            }
            StartError::Company(company) => Self::of_company(company),
            StartError::Key(_)
            | StartError::Api(_)
            | StartError::Site(SiteError::Unclear(_))
            | StartError::Stopped => None,
        }
    }

    fn of_company(error: &CompanyError) -> Option<Self> {
        match error {
            CompanyError::Other { .. } | CompanyError::Locked { .. } => Some(Self::Company),
            CompanyError::Lock { .. } => None,
        }
    }

    fn of_end(ended: &Ended) -> Self {
        match ended {
            Ended::Unwanted => Self::Unwanted,
            Ended::Broken { .. } => Self::Broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use rookery_cds::{ErrorId, Refusal};
    use rookery_vim_client::DialError;

    use super::*;

    fn check(error: impl Into<anyhow::Error>, expected: Option<u8>) {
        let error: anyhow::Error = error.into();
        let error = error.context("more about it");
        assert_eq!(Cause::of(&error).map(Cause::code), expected, "{error:?}");
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
        let refusal = Refusal { status: 403, id: ErrorId::Forbidden, message, request_id: None, from: None };
        let source = Box::new(refusal);
        check(StartError::SignIn(CdsError::SignIn { protocol: "V1", hatchery, source }), Some(3));
        let (name, path) = ("nest".to_owned(), "/run/nest.lock".into());
        check(CompanyError::Locked { name, path }, Some(4));
        check(Ended::Unwanted, Some(6));
        check(Ended::Broken { task: "inventory" }, Some(70));
        check(StartError::Stopped, None);
        check(anyhow::anyhow!("something else"), None);
    }
}
