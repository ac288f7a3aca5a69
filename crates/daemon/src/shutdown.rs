//! The end of a process in its order: it takes nothing new, lets what is under way finish, stops its tasks and logs out
//! of its servers. Each step has a deadline. Whoever started the process reads from its exit code what to do next.

use std::time::Duration;

use tokio::time::timeout;
use tracing::warn;

use crate::Supervisor;

/// What became of the work that was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remaining {
    /// All of it has finished.
    Finished,
    /// Some was given up, and has undone what it began.
    GivenUp,
    /// Some is still under way.
    UnderWay,
}

/// Lets work finish for a while, then gives it up and lets it undo what it began for another while.
pub async fn wind_down<F: Future>(
    finished: impl Fn() -> F,
    patience: Duration,
    give_up: impl FnOnce(),
    grace: Duration,
) -> Remaining {
    if timeout(patience, finished()).await.is_ok() {
        return Remaining::Finished;
    }
    give_up();
    if timeout(grace, finished()).await.is_ok() { Remaining::GivenUp } else { Remaining::UnderWay }
}

/// Stops all tasks and then logs out, each within the deadline.
pub async fn end(supervisor: &Supervisor, leave: impl Future<Output = ()>, deadline: Duration) {
    if let Err(unfinished) = supervisor.shutdown(deadline).await {
        warn!(tasks = ?unfinished.names, "some tasks did not end in time; the next start resumes their work");
    }
    timeout(deadline, leave).await.ok();
}

/// Why a process ended, as far as that matters to whoever may start it again: at once, later or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCause {
    /// A server refused the credentials. Trying again soon may lock the account.
    Credentials,
    /// Another process of this name runs.
    AlreadyRuns,
    /// A server could not be reached, or had trouble of its own.
    Peer,
    /// A server does not want this process any more.
    Unwanted,
    /// A part of the program has failed.
    Broken,
}

impl ExitCause {
    /// The exit code, as docs/cli.md lists it.
    pub fn code(self) -> u8 {
        match self {
            Self::Credentials => 3,
            Self::AlreadyRuns => 4,
            Self::Peer => 5,
            Self::Unwanted => 6,
            // `EX_SOFTWARE` of sysexits.h.
            Self::Broken => 70,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;

    use tokio::time::{Instant, sleep_until};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);
    const GRACE: Duration = Duration::from_secs(10);

    /// Work that ends by itself after a time, or so long after it was given up.
    async fn check(by_itself: u64, undone: u64, expected: Remaining) {
        let end = Cell::new(Instant::now() + Duration::from_secs(by_itself));
        let give_up = || end.set(Instant::now() + Duration::from_secs(undone));
        assert_eq!(wind_down(|| sleep_until(end.get()), PATIENCE, give_up, GRACE).await, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn work_gets_time_to_finish_and_then_time_to_be_given_up() {
        check(19, 0, Remaining::Finished).await;
        check(21, 9, Remaining::GivenUp).await;
        check(21, 11, Remaining::UnderWay).await;
    }

    #[tokio::test(start_paused = true)]
    async fn neither_a_stuck_task_nor_a_server_that_is_silent_holds_up_the_end() {
        let (supervisor, begun) = (Supervisor::new(), Instant::now());
        supervisor.spawn("stuck", pending());
        end(&supervisor, pending(), GRACE).await;
        assert!(begun.elapsed() < GRACE * 3);
    }
}
