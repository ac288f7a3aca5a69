//! Permission to change things, for a limited time.
//!
//! Whoever knows that this process is the one to act grants it, again and again; whoever sends a request that changes
//! something asks for it first. Time is counted since the machine started, so that a process that was paused, or whose
//! machine was suspended, wakes up without permission.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::Clock;

/// Permission to change things. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Lease(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    grant: watch::Sender<Grant>,
    asked: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grant {
    /// Nobody has to ask.
    Unlimited,
    None,
    /// For one login, until a time since boot.
    Until {
        login: u64,
        end: Duration,
    },
    /// It is never granted again.
    Revoked,
}

impl Lease {
    /// A lease that nobody has granted yet.
    pub fn new(clock: Clock) -> Self {
        Self::of(clock, Grant::None)
    }

    /// Permission without a limit, for a process that shares its work with nobody.
    pub fn unlimited() -> Self {
        Self::of(Clock::system(), Grant::Unlimited)
    }

    fn of(clock: Clock, grant: Grant) -> Self {
        Self(Arc::new(Shared { clock, grant: watch::Sender::new(grant), asked: Notify::new() }))
    }

    /// Grants it until a time since boot ([`Clock::since_boot`]), to requests of one login.
    pub fn grant(&self, login: u64, end: Duration) {
        self.change(Grant::Until { login, end });
    }

    /// Grants it for good: nobody can tell whether somebody else acts.
    pub fn lift(&self) {
        self.change(Grant::Unlimited);
    }

    /// Takes it back until the next grant.
    pub fn suspend(&self) {
        self.change(Grant::None);
    }

    /// Takes it back for good.
    pub fn revoke(&self) {
        self.change(Grant::Revoked);
    }

    /// Whether it was taken back for good.
    pub fn is_revoked(&self) -> bool {
        *self.0.grant.borrow() == Grant::Revoked
    }

    /// Whether a request of that login may be sent now; without one, a request to another server.
    pub fn is_held(&self, login: Option<u64>) -> bool {
        self.0.asked.notify_one();
        self.allows(*self.0.grant.borrow(), login)
    }

    /// Waits until it is held; `false` if it never will be.
    pub async fn held(&self, login: Option<u64>) -> bool {
        self.0.asked.notify_one();
        let mut grants = self.0.grant.subscribe();
        let settled = |grant: &Grant| *grant == Grant::Revoked || self.allows(*grant, login);
        // The sender lives as long as this.
        grants.wait_for(settled).await.is_ok_and(|grant| *grant != Grant::Revoked)
    }

    /// Waits until somebody asks whether it is held, or returns at once if somebody has since this was last called:
    /// whoever grants it can do so rarely while nobody needs it.
    pub async fn asked_for(&self) {
        self.0.asked.notified().await;
    }

    fn allows(&self, grant: Grant, login: Option<u64>) -> bool {
        match grant {
            Grant::Unlimited => true,
            Grant::None | Grant::Revoked => false,
            Grant::Until { login: granted, end } => {
                login.is_none_or(|login| login == granted) && self.0.clock.since_boot() < end
            }
        }
    }

    fn change(&self, to: Grant) {
        self.0.grant.send_if_modified(|grant| {
            let changes = *grant != Grant::Revoked;
            if changes {
                *grant = to;
            }
            changes
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    fn lease() -> (Clock, Lease) {
        let clock = Clock::simulated("2031-02-03T04:05:06Z".parse().unwrap());
        (clock.clone(), Lease::new(clock))
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_by_itself_and_serves_one_login() {
        let (clock, lease) = lease();
        assert!(!lease.is_held(None) && !lease.is_held(Some(1)));
        lease.grant(1, clock.since_boot() + Duration::from_secs(45));
        assert!(lease.is_held(None) && lease.is_held(Some(1)) && !lease.is_held(Some(2)));
        advance(Duration::from_secs(44)).await;
        assert!(lease.is_held(Some(1)));
        advance(Duration::from_secs(1)).await;
        assert!(!lease.is_held(Some(1)) && !lease.is_held(None));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_a_lease_hears_of_the_next_grant() {
        let (clock, lease) = lease();
        let patience = Duration::from_secs(5);
        assert!(timeout(patience, lease.held(Some(2))).await.is_err());
        let waiting = lease.clone();
        let granting = async {
            lease.grant(1, clock.since_boot() + Duration::from_mins(1));
            lease.grant(2, clock.since_boot() + Duration::from_mins(1));
        };
        assert_eq!(tokio::join!(timeout(patience, waiting.held(Some(2))), granting).0, Ok(true));
        lease.suspend();
        assert!(!lease.is_held(Some(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_grants_it_hears_once_that_it_is_needed() {
        let (_, lease) = lease();
        let patience = Duration::from_secs(5);
        assert!(timeout(patience, lease.asked_for()).await.is_err());
        lease.is_held(None);
        lease.is_held(Some(1));
        assert!(timeout(patience, lease.asked_for()).await.is_ok());
        assert!(timeout(patience, lease.asked_for()).await.is_err());
        let (held, asked) =
            tokio::join!(timeout(patience, lease.held(None)), timeout(patience, lease.asked_for()));
        assert!(held.is_err() && asked.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_revoked_is_not_granted_again() {
        let (clock, lease) = lease();
        lease.revoke();
        lease.grant(1, clock.since_boot() + Duration::from_mins(1));
        lease.lift();
        assert!(lease.is_revoked() && !lease.is_held(Some(1)) && !lease.held(None).await);
    }
}
