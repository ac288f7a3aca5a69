//! Who leads, of several hatcheries of one name: decided from vCenter's list of sessions. Pure: no clock, no I/O.
//!
//! ```text
//!                 leads, nobody else was there
//!            ┌──────────────────────────────────────┐
//!            │   leads                30 s later    ▼
//!   looks ───┴───────────► candidate ───────────► leader
//!     ▲                        │                    │
//!     └────────────────────────┴────────────────────┘
//!             follows, or has another session
//! ```
//!
//! Login times never change, so all who look at the same list agree. A session that was silent for too long does not
//! count, but its process may only be paused: whoever leads instead ends that session first. Then vCenter itself refuses
//! whatever the old leader still sends, and its next session is behind that of the new one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::Hidden;

/// A hatchery that has not been heard of for longer than this does not count.
pub const SILENCE: SignedDuration = SignedDuration::from_mins(3);
/// Who was not alone acts only after having led for this long.
pub const PROBATION: Duration = Duration::from_secs(30);
/// For how long a list lets a leader act. Whoever comes before a live session that was there first, because both logged in
/// at the same moment or vCenter's clock was set back, waits for so long: until then that one may believe that it leads.
pub const LIST_AGE: Duration = Duration::from_secs(60);

/// A session of a hatchery of our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What tells its process from others of the same name.
    pub instance: String,
    /// The key of its session.
    pub key: Hidden,
    /// As whom it is logged in.
    pub user: String,
    /// Where it comes from.
    pub address: Option<String>,
    /// Since when it is logged in, by vCenter's clock.
    pub login: Option<Timestamp>,
    /// When it was last heard of, by vCenter's clock. One that was killed is listed until its session has idled out.
    pub last_active: Option<Timestamp>,
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Me<'a> {
    /// What tells this process from others of the same name.
    pub instance: &'a str,
    /// The key of its session.
    pub key: &'a str,
    /// When this process logged in for the first time, by vCenter's clock; not known before the first look.
    pub first_login: Option<Timestamp>,
    /// The keys of all sessions that this process has had. One may be listed until its logout has come through.
    pub held: &'a [String],
}

/// What a list of sessions says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This process is the first.
    Leads {
        /// Sessions to end before it acts: of leaders that are silent, of its own instance before it was started, and its
        /// own that it has no use for any more.
        end: Vec<Hidden>,
        /// Whether there is, or was, anybody else.
        contested: bool,
        /// Whether somebody else is live, who comes after us.
        rivals: bool,
    },
    /// Somebody else is.
    Follows {
        /// Who that is.
        leader: Box<Candidate>,
    },
}

/// Who leads: of the live sessions the first to log in, then the one with the smaller key. Nothing if our own session is
/// not listed: such a list is not one of all sessions.
pub fn elect(listed: &[Candidate], me: Me<'_>, now: Timestamp) -> Option<Verdict> {
    let own = listed.iter().find(|session| session.key.0 == me.key)?;
    let first_login = me.first_login.or(own.login);
    let others = listed.iter().filter(|session| session.key != own.key);
    let (former, others): (Vec<_>, Vec<_>) = others.partition(|session| me.held.contains(&session.key.0));
    let (left_behind, others): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|session| session.instance == me.instance && is_left_behind(session, first_login));
    let ahead = others.iter().copied().filter(|session| rank(session) < rank(own));
    let (live, silent): (Vec<_>, Vec<_>) = ahead.partition(|session| is_live(session, now));
    if let Some(leader) = live.into_iter().min_by_key(|session| rank(session)) {
        return Some(Verdict::Follows { leader: Box::new(leader.clone()) });
    }
    let contested = !others.is_empty() || !left_behind.is_empty();
    let rivals = others.iter().any(|session| is_live(session, now));
    let end =
        former.into_iter().chain(left_behind).chain(silent).map(|session| session.key.clone()).collect();
    Some(Verdict::Leads { end, contested, rivals })
}

fn rank(session: &Candidate) -> (Timestamp, &Hidden) {
    (session.login.unwrap_or(Timestamp::MIN), &session.key)
}

/// Whether a session was heard of lately. One of which vCenter does not say so counts as live.
pub fn is_live(session: &Candidate, now: Timestamp) -> bool {
    session.last_active.is_none_or(|last| now.duration_since(last) <= SILENCE)
}

/// Whether a session of our own instance is of an earlier process, or was never used because the answer to its login was
/// lost. Otherwise another process was given the same instance, and is one like any other.
fn is_left_behind(session: &Candidate, first_login: Option<Timestamp>) -> bool {
    let Some(login) = session.login else { return false };
    let never_used = session.last_active.is_some_and(|last| last <= login);
    never_used || first_login.is_some_and(|first| login < first)
}

/// How far a process has come on its way to lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidacy {
    login: u64,
    since: Option<Duration>,
    probation: Duration,
    leads: bool,
}

/// What a look means to the process that looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It may act.
    Leads,
    /// It is the first, but may not act yet.
    Waits,
    /// It may not act.
    Follows,
}

impl Candidacy {
    /// Takes in a look with the session of that login, asked for at that time since boot.
    pub fn look(&mut self, login: u64, asked: Duration, verdict: &Verdict) -> Standing {
        if self.login != login {
            // Who is there at our first look was there before us.
            let rivals = matches!(verdict, Verdict::Leads { rivals: true, .. });
            *self = Self { login, probation: if rivals { LIST_AGE } else { PROBATION }, ..Self::default() };
        }
        let Verdict::Leads { contested, .. } = verdict else {
            (self.since, self.leads) = (None, false);
            return Standing::Follows;
        };
        if *contested || self.since.is_some() {
            let since = *self.since.get_or_insert(asked);
            self.leads |= asked.saturating_sub(since) >= self.probation;
        } else {
            self.leads = true;
        }
        if self.leads { Standing::Leads } else { Standing::Waits }
    }
}

#[cfg(test)]
mod tests;
