//! Who leads, of several processes of one name: decided from vCenter's list of sessions. Pure: no clock, no I/O.
//!
//! ```text
//!                 leads, nobody else was ever there
//!            ┌──────────────────────────────────────┐
//!            │   leads                30 s later    ▼
//!   looks ───┴───────────► candidate ───────────► leader
//!     ▲                        │                    │
//!     └────────────────────────┴────────────────────┘
//!         follows, waits, or has another session
//! ```
//!
//! Login times never change, so all who look at the same list agree. A session that was silent for too long does not
//! count, but its process may only be paused: whoever leads instead ends that session first. Then vCenter itself refuses
//! whatever the old leader still sends, and its next session is behind that of the new one. Other servers refuse
//! nothing: there time alone keeps the two apart. A list lets its leader act for [`LIST_AGE`], and nobody else acts before that is over.

mod quiet;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::Hidden;

pub use quiet::Sightings;

/// A process that has not been heard of for longer than this, by vCenter's clock, does not count.
pub const SILENCE: SignedDuration = SignedDuration::from_mins(3);
/// For how long, since it was asked for, a list lets a leader act.
pub const LIST_AGE: Duration = Duration::from_secs(30);
/// How long a call may take from the question whether it may be sent until it is: connecting takes no longer.
pub const SENDING: Duration = Duration::from_secs(10);
/// Who was ever not alone acts only after having led for this long: by then nobody acts on a list from before.
pub const PROBATION: Duration = LIST_AGE;

/// A session of a process of our name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What tells its process from others of the same name.
    pub instance: String,
    /// The key of its session.
    pub key: Hidden,
    /// As whom it is logged in.
    pub user: String,
    pub address: Option<String>,
    /// Since when it is logged in, by vCenter's clock.
    pub login: Option<Timestamp>,
    /// When it was last heard of, by vCenter's clock. One that was killed is listed until its session has idled out.
    pub last_active: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
pub struct OwnSession<'a> {
    /// What tells this process from others of the same name.
    pub instance: &'a str,
    /// The key of its session.
    pub key: &'a str,
    /// When this process logged in for the first time, by vCenter's clock; not known before the first look.
    pub first_login: Option<Timestamp>,
    /// The keys of all sessions that this process has had. One may be listed until its logout has come through.
    pub held: &'a [String],
}

/// What a list of sessions says, and what is to be done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elected {
    pub verdict: Verdict,
    /// Sessions that no process uses any more, to be ended by us whoever leads: our own from before the current one, and
    /// those of our instance from before this process was started.
    pub left_behind: Vec<Candidate>,
    /// Sessions of leaders that are silent, to be ended by us before we lead.
    pub silent: Vec<Candidate>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This process is the first.
    Leads {
        /// Whether there is, or was, anybody else.
        contested: bool,
    },
    /// It would be, but for a session that may not be over.
    Waits {
        ahead: Box<Candidate>,
    },
    Follows {
        leader: Box<Candidate>,
    },
}

/// What a listed session is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Our own, before the current one.
    Former,
    /// Of an earlier process of our instance. The lock of the machine, or the promise of `--instance`, says that it is gone.
    Crashed,
    /// Of our instance, and nobody has ever used it: the answer to a login was lost, or is on its way.
    Unused,
    /// Anybody else's; also of another process that was given our instance later.
    Other,
}

/// Who leads: of the live sessions the first to log in, then the one with the smaller key. Nothing if our own session is
/// not listed: such a list is not one of all sessions. `quiet` are the sessions that nobody heard of by our own clock
/// either ([`Sightings`]).
pub fn elect(
    listed: &[Candidate],
    me: OwnSession<'_>,
    now: Timestamp,
    quiet: &BTreeSet<Hidden>,
) -> Option<Elected> {
    let own = listed.iter().find(|session| session.key.0 == me.key)?;
    let first_login = me.first_login.or(own.login);
    let mut left_behind = Vec::new();
    let mut others = Vec::new();
    let mut contested = false;
    for session in listed.iter().filter(|session| session.key != own.key) {
        let relation = relation(session, me, first_login);
        contested |= matches!(relation, Relation::Crashed | Relation::Other);
        match relation {
            // Whoever waits for the answer to its login would have to log in again.
            Relation::Unused if !quiet.contains(&session.key) => {}
            Relation::Former | Relation::Crashed | Relation::Unused => left_behind.push(session.clone()),
            Relation::Other => others.push(session),
        }
    }
    let ahead = others.into_iter().filter(|session| rank(session) < rank(own));
    let (live, silent): (Vec<_>, Vec<_>) = ahead.partition(|session| is_live(session, now));
    // If vCenter's clock was set, everybody looks silent.
    let doubtful = silent.iter().find(|session| !quiet.contains(&session.key));
    let verdict = match (live.into_iter().min_by_key(|session| rank(session)), doubtful) {
        (Some(leader), _) => Verdict::Follows { leader: Box::new(leader.clone()) },
        (None, Some(ahead)) => Verdict::Waits { ahead: Box::new((*ahead).clone()) },
        (None, None) => Verdict::Leads { contested },
    };
    let leads = matches!(verdict, Verdict::Leads { .. });
    let silent = silent.into_iter().filter(|_| leads).cloned().collect();
    Some(Elected { verdict, left_behind, silent })
}

fn relation(session: &Candidate, me: OwnSession<'_>, first_login: Option<Timestamp>) -> Relation {
    if me.held.contains(&session.key.0) {
        return Relation::Former;
    }
    let Some(login) = session.login.filter(|_| session.instance == me.instance) else {
        return Relation::Other;
    };
    if first_login.is_some_and(|first| login < first) {
        Relation::Crashed
    } else if session.last_active.is_some_and(|last| last <= login) {
        Relation::Unused
    } else {
        Relation::Other
    }
}

fn rank(session: &Candidate) -> (Timestamp, &Hidden) {
    (session.login.unwrap_or(Timestamp::MIN), &session.key)
}

/// Whether a session was heard of lately. One of which vCenter does not say so counts as live.
pub fn is_live(session: &Candidate, now: Timestamp) -> bool {
    session.last_active.is_none_or(|last| now.duration_since(last) <= SILENCE)
}

/// How far a process has come on its way to lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Candidacy {
    login: u64,
    since: Option<Duration>,
    /// Whether this process has ever seen anybody else, who may be gone from the list and still act.
    met: bool,
    leads: bool,
}

/// When somebody looked. Times are since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The login whose session it was made with.
    pub login: u64,
    /// When the list was asked for.
    pub asked: Duration,
    /// When it had been answered, and sessions ended. Whoever is not in it may have asked for a list until then.
    pub done: Duration,
}

/// What a look means to the process that looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Leads,
    /// It is the first, but may not act yet.
    Waits,
    Follows,
}

impl Candidacy {
    /// Takes in a look.
    pub fn look(&mut self, look: Look, elected: &Elected) -> Standing {
        if self.login != look.login {
            *self = Self { login: look.login, met: self.met, ..Self::default() };
        }
        let Verdict::Leads { contested } = elected.verdict else {
            (self.since, self.met, self.leads) = (None, true, false);
            let waits = matches!(elected.verdict, Verdict::Waits { .. });
            return if waits { Standing::Waits } else { Standing::Follows };
        };
        self.met |= contested;
        if !elected.silent.is_empty() {
            // Also while one cannot be ended: its process may only be paused.
            self.since = None;
        }
        let since = *self.since.get_or_insert(look.done);
        self.leads |= !self.met || look.asked.saturating_sub(since) >= PROBATION;
        if self.leads { Standing::Leads } else { Standing::Waits }
    }
}

/// Until when a leader may ask to send something, by a list that was asked for then.
pub fn lease_end(asked: Duration) -> Duration {
    asked + LIST_AGE.saturating_sub(SENDING)
}

#[cfg(test)]
mod tests;
