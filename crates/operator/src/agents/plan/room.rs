//! Where the next VM goes, and whether there is room for it.

use std::collections::BTreeMap;

use rookery_fleet::capacity::{Ledger, Limits, PoolRoom, admit};
use rookery_fleet::flavor::Flavors;

use super::WaitReason;
use super::counts::number;
use crate::agents::desired::Desired;
use crate::agents::observe::{Observed, PlaceName, Seen};

/// What is left, and what is taken while a plan is made.
pub(super) struct Room {
    used: u32,
    places: BTreeMap<PlaceName, Place>,
}

#[derive(Default)]
struct Place {
    vms: u32,
    /// What no running VM shows yet.
    ledger: Ledger,
    room: Option<PoolRoom>,
}

impl Room {
    pub(super) fn of(seen: &Observed, want: &Desired) -> Self {
        let named = |name: &PlaceName| {
            (name.clone(), Place { room: seen.rooms.get(name).copied(), ..Place::default() })
        };
        let mut places: BTreeMap<_, _> = want.places.iter().map(named).collect();
        for request in seen.requests.values() {
            // One without a place takes room in the one that it will get, and nobody knows yet which.
            let place = request.stored.place.as_ref().and_then(|place| places.get_mut(place));
            let Some(place) = place else { continue };
            place.vms += 1;
            if !matches!(request.seen, Seen::Present(_)) {
                place.ledger.take(&want.footprint);
            }
        }
        Self { used: number(seen.requests.len()), places }
    }

    /// Takes room for one more, where fewest are; or says why there is none.
    pub(super) fn take(&mut self, want: &Desired) -> Result<PlaceName, WaitReason> {
        if let Some(max) = want.max_vms.filter(|max| self.used >= *max) {
            return Err(WaitReason::TooManyVms { used: self.used, max });
        }
        let limits = Limits::default();
        let mut short = None;
        let mut best: Option<(&PlaceName, &mut Place)> = None;
        for (name, place) in &mut self.places {
            let room = place.room.as_ref();
            let fits = admit(&place.ledger, &limits, room, &want.footprint, None, &Flavors::default());
            match fits {
                Err(shortage) => {
                    short = short.or(Some(shortage));
                }
                Ok(()) if best.as_ref().is_none_or(|(_, best)| place.vms < best.vms) => {
                    best = Some((name, place));
                }
                Ok(()) => {}
            }
        }
        match (best, short) {
            (Some((name, place)), _) => {
                place.vms += 1;
                place.ledger.take(&want.footprint);
                self.used += 1;
                Ok(name.clone())
            }
            (None, Some(shortage)) => Err(WaitReason::NoRoom { shortage }),
            (None, None) => Err(WaitReason::InventoryIncomplete),
        }
    }
}
