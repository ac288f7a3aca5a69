//! What fronts wrote into the notes of VMs, as far as this build knows their marks.

use jiff::Timestamp;

/// The hatchery whose machine it is.
pub(super) fn hatchery(notes: Option<&str>) -> Option<String> {
    #[cfg(feature = "hatchery")]
    let named = rookery_hatchery::mark::Mark::read(notes?).map(|mark| mark.hatchery_name);
    #[cfg(not(feature = "hatchery"))]
    let named = notes.and(None::<String>);
    named.filter(|name| !name.is_empty())
}

/// Until when somebody keeps it.
pub(super) fn held_until(notes: Option<&str>) -> Option<Timestamp> {
    #[cfg(feature = "hatchery")]
    let held = rookery_hatchery::mark::Mark::read(notes?)?.hold_until;
    #[cfg(not(feature = "hatchery"))]
    let held = notes.and(None);
    held
}
