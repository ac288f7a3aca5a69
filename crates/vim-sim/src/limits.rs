//! Limits on clients: how fast they may ask, how many may be there, and for how long.

use jiff::{SignedDuration, Timestamp};
use rookery_sim::RequestId;

use crate::io::Reply;
use crate::methods;
use crate::refusal::Refusal;
use crate::settings::{Exceeded, Limits};
use crate::world::{Timer, World};

/// How much of the allowance a burst may use.
const BURST: SignedDuration = SignedDuration::from_secs(1);

/// How much of the allowance of requests is used: the time at which all of it is there again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace {
    full_at: Option<Timestamp>,
}

/// What a request leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowance {
    Now,
    After(SignedDuration),
    Never,
}

impl Pace {
    fn take(&mut self, limits: &Limits, now: Timestamp) -> Allowance {
        let Some(rate) = limits.requests_per_second.filter(|rate| *rate > 0) else { return Allowance::Now };
        let each = SignedDuration::from_nanos(1_000_000_000 / i64::from(rate));
        let full_at = self.full_at.unwrap_or(now).max(now).saturating_add(each).unwrap_or(now);
        let over = full_at.duration_since(now) - BURST;
        if over > SignedDuration::ZERO && limits.when_exceeded == Exceeded::Refuse {
            return Allowance::Never;
        }
        self.full_at = Some(full_at);
        if over > SignedDuration::ZERO { Allowance::After(over) } else { Allowance::Now }
    }
}

/// Counts a request; an answer if it comes too early.
pub(crate) fn pace(world: &mut World, id: RequestId) -> Option<Reply> {
    match world.pace.take(&world.settings.limits, world.now) {
        Allowance::Now => None,
        Allowance::After(delay) => {
            world.traffic.treat(id, |treatment| treatment.delay += delay);
            None
        }
        Allowance::Never => Some(Reply::plain(503, "there are too many requests")),
    }
}

/// Whether one more may log in.
pub(crate) fn check_login(world: &World) -> Result<(), Refusal> {
    let full = world.settings.limits.sessions.is_some_and(|most| world.sessions.all().count() >= most);
    if full {
        return Err(Refusal::new(
            "SystemError",
            "A general system error occurred: The maximum number of sessions has been exceeded.",
        )
        .with("reason", "Maximum number of sessions exceeded"));
    }
    Ok(())
}

/// Schedules the expiry of a new session.
pub(crate) fn watch_session(world: &mut World, session: u32) {
    if let Some(end) = end_of(world, session) {
        world.at(end, Timer::Session(session));
    }
}

/// Schedules the expiry of all sessions anew, since the limits have changed.
pub(crate) fn watch_sessions(world: &mut World) {
    world.forget_timers(|timer| matches!(timer, Timer::Session(_)));
    for session in world.sessions.ids() {
        watch_session(world, session);
    }
}

/// The time has come at which a session would have ended if nobody had used it since.
pub(crate) fn review_session(world: &mut World, session: u32) {
    // Who waits for updates is not idle.
    if world.collectors.waits(session)
        && let Some(session) = world.sessions.get_mut(session)
    {
        session.last_active = world.now;
    }
    match end_of(world, session) {
        Some(end) if end <= world.now => methods::end_session(world, session),
        Some(end) => world.at(end, Timer::Session(session)),
        None => {}
    }
}

fn end_of(world: &World, session: u32) -> Option<Timestamp> {
    let limits = &world.settings.limits;
    let session = world.sessions.get(session)?;
    let after =
        |since: Timestamp, time: Option<SignedDuration>| time.and_then(|t| since.saturating_add(t).ok());
    let ends =
        [after(session.last_active, limits.idle_session), after(session.login_time, limits.session_age)];
    ends.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_one_second_passes_and_then_one_request_at_a_time() {
        let start: Timestamp = "2031-02-03T04:05:06Z".parse().unwrap();
        let at = |millis: i64| start.saturating_add(SignedDuration::from_millis(millis)).unwrap();
        let after = |millis: i64| Allowance::After(SignedDuration::from_millis(millis));
        for (when_exceeded, expected) in [
            (
                Exceeded::Refuse,
                [Allowance::Now, Allowance::Now, Allowance::Never, Allowance::Never, Allowance::Now],
            ),
            (Exceeded::Delay, [Allowance::Now, Allowance::Now, after(500), after(1000), after(1000)]),
        ] {
            let limits = Limits { requests_per_second: Some(2), when_exceeded, ..Limits::default() };
            let mut pace = Pace::default();
            let got = [0, 0, 0, 0, 500].map(|millis| pace.take(&limits, at(millis)));
            assert_eq!(got, expected, "{when_exceeded:?}");
        }
    }
}
