//! Giving up starts because the process is about to end.

use rookery_cds::JobId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Tells starts that they are given up. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Halt {
    halted: CancellationToken,
    broken: CancellationToken,
    starts: TaskTracker,
}

impl Halt {
    /// Gives up starts and has all their jobs given back.
    pub fn give_up(&self) {
        self.halted.cancel();
    }

    /// Gives up starts because a part of the process has failed. Only bookings are ended then: each release counts against
    /// a V2 job, and CDS queues it again by itself.
    pub fn break_off(&self) {
        self.broken.cancel();
        self.halted.cancel();
    }

    /// Waits until no start is under way. None is begun any more by then.
    pub async fn landed(&self) {
        self.starts.close();
        self.starts.wait().await;
    }

    /// A start is under way for as long as this lives.
    pub(super) fn start(&self) -> TaskTrackerToken {
        self.starts.token()
    }

    /// Comes when starts are given up.
    pub(super) async fn halted(&self) {
        self.halted.cancelled().await;
    }

    /// Whether this job is given back if its start fails.
    pub(super) fn gives_back(&self, job: &JobId) -> bool {
        match job {
            JobId::V1(_) => true,
            JobId::V2(_) => !self.broken.is_cancelled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_panic_only_bookings_are_ended() {
        let v1: JobId = "7".parse().expect("a job");
        let v2: JobId = "2c1fe3c5-4f0e-4b2a-9a43-1d5f2ce0a0b7".parse().expect("a job");
        let of = |halt: &Halt| [&v1, &v2].map(|job| halt.gives_back(job));
        let halt = Halt::default();
        assert_eq!(of(&halt), [true, true]);
        halt.give_up();
        assert_eq!(of(&halt), [true, true]);
        halt.break_off();
        assert_eq!(of(&halt), [true, false]);
    }
}
