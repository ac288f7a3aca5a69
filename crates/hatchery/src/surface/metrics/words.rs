//! The words that labels are made of. Each set is closed: whatever is not in it counts as its last word.

use crate::intake::queue::Protocol;

pub(super) const PROTOCOLS: [&str; 2] = ["v1", "v2"];

pub(super) fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::V1 => "v1",
        Protocol::V2 => "v2",
    }
}

pub(super) const WAYS: [&str; 3] = ["warm", "resized", "fresh"];

pub(super) const STAGES: [&str; 6] = ["take", "claim", "clone", "start", "ready", "launch"];

pub(super) const BEATS: [&str; 2] = ["done", "failed"];

/// Why a worker got no warm machine: none was chosen (the first ones), or the chosen one could not be claimed.
pub(super) const MISSES: [&str; 14] = [
    "none",
    "busy",
    "not_ready",
    "half_claimed",
    "flavor",
    "disk",
    "held",
    "unknown",
    "changed",
    "gone",
    "unread",
    "name_taken",
    "failed",
    "other",
];

/// Why a machine is deleted.
pub(super) const DELETIONS: [&str; 16] = [
    "spawn_failed",
    "provision_failed",
    "registration_ended",
    "not_wanted",
    "disabled",
    "finished",
    "never_started",
    "never_registered",
    "orphaned_template",
    "expired",
    "excess",
    "stale",
    "too_old",
    "hold_ended",
    "replaced",
    "other",
];

/// What is left behind by work that was cut off.
pub(super) const LEAKS: [&str; 7] = [
    "never_started",
    "never_registered",
    "orphaned_template",
    "half_claimed",
    "worker_without_machine",
    "address",
    "other",
];

/// Why a job waits.
pub(super) const WAITING: [&str; 34] = [
    "capacity",
    "slow_cds",
    "address",
    "template",
    "back-off",
    "vcenter_busy",
    "reserved",
    "served",
    "model",
    "unknown",
    "draining",
    "not_waiting",
    "booked",
    "wrong_region",
    "no_region",
    "unsupported_requirement",
    "services",
    "memory",
    "no_model",
    "model_reference",
    "no_v2_session",
    "no_model_fits",
    "model_unreadable",
    "other_model",
    "model_type",
    "os_arch",
    "needs_registration",
    "spawn_errors",
    "group",
    "deprecated",
    "binary",
    "no_command",
    "unknown_flavor",
    "other",
];

/// Why nothing may be deleted.
pub(super) const STOPS: [&str; 8] =
    ["incomplete", "outdated", "skew", "skew_unknown", "no_listing", "old_listing", "lost", "other"];

/// What waits for a person.
pub(super) const BRAKED: [&str; 4] = ["machine", "worker", "lost", "other"];

/// The word of an action that is under way.
pub(super) fn work(action: &'static str) -> &'static str {
    match action {
        "give up" => "give_up",
        "take back" => "take_back",
        one => one,
    }
}

pub(super) const WORKS: [&str; 12] = [
    "spawn",
    "give_up",
    "make",
    "finish",
    "take_back",
    "register",
    "keep",
    "delete",
    "disable",
    "free",
    "adopt",
    "other",
];
