//! One hatchery of a name acts: vCenter's list of sessions elects it, and a lease lets it act for as long as it leads.
//!
//! The rules are in [`rookery_fleet_vsphere::election`]; this asks, ends sessions of others, and tells the lease.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use rookery_daemon::lock::Policy;
use rookery_daemon::probes::Probes;
use rookery_daemon::telemetry::chain;
use rookery_daemon::{Clock, Lease};
use rookery_fleet_vsphere::SessionsError as ListError;
use rookery_fleet_vsphere::election::{
    Candidacy, Candidate, Elected, Look, OwnSession, Sightings, Standing, Verdict, elect, lease_end,
};
use rookery_fleet_vsphere::sessions::{self, Listing, Product};
use rookery_vim_client::Client;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::surface::report::Published;

use super::StartError;
use super::instance::InstanceError;

/// What tells hatcheries from other programs in vCenter's list of sessions. The Go hatchery does not name itself.
pub const PRODUCT: Product =
    Product { agent: "rookery-hatchery/", nameless: &["Go-http-client/", "govmomi"] };

/// How often those look who wait for their turn or have something to do.
const LOOK: Duration = Duration::from_secs(10);
/// How often a leader looks that has nothing to do. Others must not take it for silent by then ([`Sightings`]).
const IDLE_LOOK: Duration = Duration::from_secs(40);
/// How long a look may take, and how long ending sessions after it.
const LOOK_TIME: Duration = Duration::from_secs(15);
/// Whoever could not look for this long ends: others may believe by now that it is gone.
const BLIND: Duration = Duration::from_mins(2);

/// Why a hatchery may not act any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeadershipLost {
    #[error(
        "another hatchery of this name leads: instance {} at {}",
        leader.instance,
        leader.address.as_deref().unwrap_or("an unknown address")
    )]
    Follows { leader: Box<Candidate> },
    #[error(
        "vCenter's sessions could not be listed for {} s, so another hatchery of this name may lead",
        since.as_secs()
    )]
    Unlisted { since: Duration },
}

/// Set once leadership is lost.
pub(super) type Lost = Arc<OnceLock<LeadershipLost>>;

/// How a hatchery came to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Won {
    Elected,
    /// The sessions are not shown to its user, so nobody keeps another one out.
    Unseen,
}

/// A hatchery's part in the election of its name.
#[derive(Debug)]
pub(super) struct Election {
    client: Client,
    lease: Lease,
    clock: Clock,
    name: String,
    instance: String,
    candidacy: Candidacy,
    sightings: Sightings,
    first_login: Option<Timestamp>,
    /// The login that the last look was made with.
    login: u64,
    /// When the last look that succeeded was asked for, since boot.
    looked: Duration,
    has_looked: bool,
    warned_of_go: bool,
    /// Why a session could not be ended, as it was told.
    told_of_end: Option<String>,
}

impl Election {
    pub(super) fn new(client: Client, lease: Lease, clock: Clock, name: &str, instance: &str) -> Self {
        let looked = clock.since_boot();
        Self {
            client,
            lease,
            clock,
            name: name.to_owned(),
            instance: sessions::listed_instance(instance),
            candidacy: Candidacy::default(),
            sightings: Sightings::default(),
            first_login: None,
            login: 0,
            looked,
            has_looked: false,
            warned_of_go: false,
            told_of_end: None,
        }
    }

    /// Waits until this hatchery leads, or may not know who does.
    pub(super) async fn win(
        &mut self,
        policy: Policy,
        pages: &Probes<Published>,
        stop: &CancellationToken,
    ) -> Result<Won, StartError> {
        let (mut told, mut was_hidden) = (None, false);
        loop {
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(StartError::Stopped),
                looked = self.look() => looked,
            };
            let is_hidden = matches!(looked, Err(ListError::Hidden)) && !self.has_looked;
            // Once may be a vCenter that is starting, and without the list nobody is elected any more.
            let stays_hidden = std::mem::replace(&mut was_hidden, is_hidden) && is_hidden;
            // The reason of the last look is none any more.
            pages.waits(Some(why_not(&looked)));
            match looked {
                Ok((Standing::Leads, _)) => return Ok(Won::Elected),
                Ok((_, Verdict::Follows { leader })) => {
                    self.stand_behind(*leader, policy, &mut told)?;
                }
                Ok((_, Verdict::Waits { ahead })) => {
                    info!(before = %ahead.instance, "waiting behind a silent hatchery of this name; looking again");
                }
                Ok((_, Verdict::Leads { .. })) => {
                    info!("first in line; leading as soon as another look confirms it");
                }
                Err(_) if stays_hidden => return self.unseen(policy),
                Err(error) if self.is_blind() => {
                    return Err(
                        InstanceError::Unlisted { name: self.name.clone(), source: Box::new(error) }.into()
                    );
                }
                Err(error) => {
                    warn!(error = %chain(&error), "vCenter's sessions cannot be listed; trying again");
                }
            }
            stop.run_until_cancelled(sleep(LOOK)).await.ok_or(StartError::Stopped)?;
        }
    }

    fn stand_behind(
        &self,
        leader: Candidate,
        policy: Policy,
        told: &mut Option<String>,
    ) -> Result<(), InstanceError> {
        if policy == Policy::Refuse {
            return Err(InstanceError::Other { name: self.name.clone(), other: Box::new(leader) });
        }
        if told.as_ref() != Some(&leader.instance) {
            info!(leader = %leader.instance, "standing by: another hatchery of this name leads");
            *told = Some(leader.instance);
        }
        Ok(())
    }

    /// Without the list nobody is elected: one that was told to stand by cannot.
    fn unseen(&self, policy: Policy) -> Result<Won, StartError> {
        let name = self.name.clone();
        match policy {
            Policy::Standby => {
                Err(InstanceError::Unseen { name, source: Box::new(ListError::Hidden) }.into())
            }
            Policy::Refuse => {
                warn!(
                    error = %chain(&ListError::Hidden),
                    "cannot see whether another hatchery of this name runs: make sure that there is none"
                );
                self.lease.lift();
                Ok(Won::Unseen)
            }
        }
    }

    /// Looks again and again, and ends when this hatchery may not act any more; `over` is cancelled then.
    pub(super) async fn keep(mut self, lost: Lost, over: CancellationToken, stop: CancellationToken) {
        let (mut asked, mut leads) = (Instant::now(), true);
        loop {
            let needed = async {
                sleep_until(asked + LOOK).await;
                // A lease that nobody needs may end; whoever asks for it then gets it by the next look.
                if leads {
                    self.lease.asked_for().await;
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = self.client.logs_in_again(self.login) => {}
                () = needed => {}
                () = sleep_until(asked + IDLE_LOOK) => {}
            }
            // That is when the lease begins, however long the answer takes.
            asked = Instant::now();
            let looked = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                looked = self.look() => looked,
            };
            leads = matches!(looked, Ok((Standing::Leads, _)));
            let why = match looked {
                Ok((_, Verdict::Follows { leader })) => LeadershipLost::Follows { leader },
                Ok((_, Verdict::Leads { .. } | Verdict::Waits { .. })) => continue,
                Err(error) if self.is_blind() => {
                    error!(error = %chain(&error), "vCenter's sessions could not be listed for too long");
                    LeadershipLost::Unlisted { since: self.clock.since_boot().saturating_sub(self.looked) }
                }
                Err(error) => {
                    warn!(error = %chain(&error), "vCenter's sessions cannot be listed; trying again");
                    continue;
                }
            };
            self.lease.revoke();
            error!(why = %why, "this hatchery does not lead any more");
            lost.set(why).ok();
            over.cancel();
            // A task that ends by itself is one that has broken.
            return stop.cancelled().await;
        }
    }

    fn is_blind(&self) -> bool {
        self.clock.since_boot().saturating_sub(self.looked) > BLIND
    }

    /// One look, and what follows from it for the lease. Sessions that stand in the way are ended before it counts.
    async fn look(&mut self) -> Result<(Standing, Verdict), ListError> {
        let asked = self.clock.since_boot();
        // Whoever slept through this may have been replaced, and what it remembers is old: a list does not bring it back.
        if self.has_looked && self.is_blind() {
            return Err(ListError::Overdue);
        }
        let listed = timeout(LOOK_TIME, sessions::list(&self.client, &PRODUCT, &self.name)).await;
        let listed = listed.unwrap_or(Err(ListError::TimedOut(LOOK_TIME)));
        let current = self.client.login().map_or(self.login, |(login, _)| login);
        self.login = listed.as_ref().map_or(current, |listing| listing.login);
        let listing = listed?;
        let elected = self.elect(&listing, asked)?;
        (self.looked, self.has_looked) = (asked, true);
        self.warn_of_go(&listing);
        self.clear(&elected).await;
        let look = Look { login: listing.login, asked, done: self.clock.since_boot() };
        let standing = self.candidacy.look(look, &elected);
        match standing {
            Standing::Leads => self.lease.grant(listing.login, lease_end(asked)),
            Standing::Waits | Standing::Follows => self.lease.suspend(),
        }
        Ok((standing, elected.verdict))
    }

    fn elect(&mut self, listing: &Listing, asked: Duration) -> Result<Elected, ListError> {
        let quiet = self.sightings.look(&listing.candidates, asked, self.clock.since_boot());
        let own = listing.candidates.iter().find(|session| session.key == listing.key);
        self.first_login = self.first_login.or(own.and_then(|session| session.login));
        let (instance, key, held) = (&self.instance, &listing.key.0, self.client.held_session_keys());
        let me = OwnSession { instance, key, first_login: self.first_login, held: &held };
        elect(&listing.candidates, me, listing.now, &quiet).ok_or(ListError::Incomplete)
    }

    /// Ends sessions that no process uses any more, and those of silent leaders. Who cannot end these stands by.
    async fn clear(&mut self, elected: &Elected) {
        let left_behind = self.end(&elected.left_behind).await;
        let silent = self.end(&elected.silent).await;
        let why = left_behind.and(silent).err().map(|error| chain(&error));
        if let Some(error) = why.as_ref().filter(|_| why != self.told_of_end) {
            warn!(error, "an earlier session of this name stays until vCenter ends it");
        }
        self.told_of_end = why;
    }

    async fn end(&self, sessions: &[Candidate]) -> Result<(), ListError> {
        let ended = async {
            for session in sessions {
                info!(instance = %session.instance, "ending an earlier session of this name");
                sessions::end(&self.client, &session.key).await?;
            }
            Ok(())
        };
        timeout(LOOK_TIME, ended).await.unwrap_or(Err(ListError::EndTimedOut(LOOK_TIME)))
    }

    /// A Go hatchery does not tell its name, and does not look for others.
    fn warn_of_go(&mut self, listing: &Listing) {
        let Some(first) = listing.nameless.first() else {
            self.warned_of_go = false;
            return;
        };
        if !std::mem::replace(&mut self.warned_of_go, true) {
            let address = first.address.as_deref().unwrap_or("unknown");
            warn!(
                address,
                user_agent = first.user_agent,
                sessions = listing.nameless.len(),
                "a Go program uses vCenter as our user: if it is a Go hatchery of this name, stop it"
            );
        }
    }
}

/// Why it does not act yet, for its pages.
fn why_not(looked: &Result<(Standing, Verdict), ListError>) -> String {
    let at = |other: &Candidate| {
        let address = other.address.as_deref().unwrap_or("an unknown address");
        format!("instance {} at {address}", other.instance)
    };
    match looked {
        Ok((_, Verdict::Follows { leader })) => format!("stands by: {} leads", at(leader)),
        Ok((_, Verdict::Waits { ahead })) => {
            format!("is first in line but for {}, which is silent: it looks again", at(ahead))
        }
        Ok((_, Verdict::Leads { .. })) => {
            "is first in line: it leads once another look confirms it".to_owned()
        }
        Err(_) => "cannot list the sessions of vCenter, which tell whether another one leads: it tries again"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim::Hidden;

    use super::*;

    // Pages told the reason of an earlier look: that a leader leads who had stopped.
    #[test]
    fn each_look_has_a_reason_of_its_own() {
        let other = |instance: &str| {
            Box::new(Candidate {
                instance: instance.to_owned(),
                key: Hidden(String::new()),
                user: String::new(),
                address: Some("192.0.2.1".to_owned()),
                login: None,
                last_active: None,
            })
        };
        for (looked, expected) in [
            (
                Ok((Standing::Follows, Verdict::Follows { leader: other("a") })),
                "stands by: instance a at 192.0.2.1 leads",
            ),
            (
                Ok((Standing::Waits, Verdict::Waits { ahead: other("b") })),
                "is first in line but for instance b at 192.0.2.1, which is silent: it looks again",
            ),
            (Err(ListError::Overdue), "cannot list the sessions of vCenter"),
        ] {
            let told = why_not(&looked);
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
