//! Whether vCenter can begin a clone or a start in time. A job that is taken has 570 seconds; one that spent them in a queue
//! would be given back, and tried again behind a longer one.

use std::time::Duration;

use rookery_vim_client::Load;

use super::{Action, Pass, Spawn, WaitReason, WorkerPlacement};
use crate::plan::running::RunningAction;

/// How long a start may take in all. CDS gives a V2 job to somebody else after ten minutes.
pub(crate) const START: Duration = Duration::from_secs(9 * 60 + 30);
/// What a start needs after its clone, as a rule: a boot, an address, a launch.
const BOOT: Duration = Duration::from_mins(3);

/// How many orders are before one more, if they keep it from beginning in time. `coming` starts have been taken and may not
/// have ordered yet; `planned` ones are about to be.
fn too_many_ahead(load: &Load, coming: usize, planned: usize) -> Option<usize> {
    let ahead = load.gates.iter().map(|gate| {
        let ahead = gate.demand.max(coming) + gate.others + planned;
        let begins_in_time = ahead < gate.ceiling
            || match load.median {
                // Nothing is known: as many may wait as may run.
                None => ahead < gate.ceiling.saturating_mul(2),
                Some(median) => turn_after(ahead, median, gate.ceiling) <= patience(median),
            };
        (!begins_in_time).then_some(ahead)
    });
    ahead.max().flatten()
}

/// When the turn comes of one that has so many before it.
fn turn_after(ahead: usize, median: Duration, ceiling: usize) -> Duration {
    let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
    median.saturating_mul(ahead) / u32::try_from(ceiling.max(1)).unwrap_or(u32::MAX)
}

/// How long a start may wait for its turn.
fn patience(median: Duration) -> Duration {
    START.saturating_sub(BOOT).saturating_sub(median)
}

impl Pass<'_> {
    /// Whether the clone or the start of one more job can begin in time.
    pub(super) fn begins_in_time(&self) -> Result<(), WaitReason> {
        // Those whose machine is not known yet are cloned, or about to be.
        let is_coming =
            |action: &&RunningAction| matches!(action.action, Action::Spawn(_)) && action.machine.is_none();
        let coming = self.seen.running.iter().filter(is_coming).count();
        let planned = self.plan.actions.iter().filter(|action| matches!(action, Action::Spawn(_))).count();
        let is_clone = |placed: &Spawn| matches!(placed.path, WorkerPlacement::Clone { .. });
        let placed =
            self.plan.placed.iter().filter(|(_, placed)| placed.as_ref().is_ok_and(is_clone)).count();
        let ahead = too_many_ahead(self.seen.load, coming, planned + placed);
        ahead.map_or(Ok(()), |ahead| Err(WaitReason::Busy { ahead }))
    }
}

#[cfg(test)]
mod tests {
    use rookery_vim_client::Gate;

    use super::*;

    fn load(median: Option<u64>, gates: &[(usize, usize, usize)]) -> Load {
        let gate = |(ceiling, demand, others): &(usize, usize, usize)| Gate {
            ceiling: *ceiling,
            demand: *demand,
            others: *others,
        };
        Load { gates: gates.iter().map(gate).collect(), median: median.map(Duration::from_secs) }
    }

    #[test]
    fn a_start_is_taken_only_if_its_turn_comes_in_time() {
        for (median, gates, coming, planned, expected) in [
            // Nobody is asked about the load of nothing.
            (None, &[][..], 9, 9, None),
            // Nothing was measured: as many may wait as may run.
            (None, &[(4, 0, 0)], 0, 0, None),
            (None, &[(4, 7, 0)], 0, 0, None),
            (None, &[(4, 8, 0)], 0, 0, Some(8)),
            (None, &[(4, 6, 2)], 0, 0, Some(8)),
            (None, &[(4, 6, 1)], 0, 1, Some(8)),
            // Starts that have not ordered yet count, and those that have are not counted twice.
            (None, &[(4, 3, 0)], 8, 0, Some(8)),
            (None, &[(4, 8, 0)], 3, 0, Some(8)),
            // A place is free: however long others take.
            (Some(3600), &[(4, 3, 0)], 3, 0, None),
            (Some(3600), &[(4, 3, 0)], 3, 1, Some(4)),
            // 570 s, less 180 s for the guest, less what a clone takes itself.
            (Some(60), &[(4, 22, 0)], 0, 0, None),
            (Some(60), &[(4, 23, 0)], 0, 0, Some(23)),
            (Some(60), &[(8, 44, 0)], 0, 0, None),
            (Some(60), &[(8, 45, 0)], 0, 0, Some(45)),
            (Some(1), &[(4, 1556, 0)], 0, 0, None),
            (Some(1), &[(4, 1557, 0)], 0, 0, Some(1557)),
            // Every ceiling has to be kept to, and the worst is told.
            (Some(60), &[(32, 23, 0), (4, 23, 0)], 0, 0, Some(23)),
            (Some(60), &[(4, 30, 0), (4, 23, 0)], 0, 0, Some(30)),
        ] {
            let found = too_many_ahead(&load(median, gates), coming, planned);
            assert_eq!(found, expected, "{median:?} {gates:?} {coming} {planned}");
        }
    }
}
