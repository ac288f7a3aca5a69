//! What a machine is to one owner. Neither its name nor its mark tells it alone.
//!
//! ```text
//!            re-mark            rename          power on
//!   Pooled ──────────► HalfClaimed ────► Worker ────────► Worker, running
//!      ▲                    │
//!      └────── re-mark ─────┘   (off, and nobody is at it: the claim died half-way)
//! ```
//!
//! Older hatcheries rename first and never take `provisioning` back: a machine so marked under another name is a
//! worker.

use rookery_fleet::{OwnerId, Role};

use crate::machine::Machine;
use crate::mark::Mark;
use crate::names;

/// What a machine is to one owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Something to clone, whoever made it, or a VM marked as such: never to be deleted.
    Template,
    /// The owner's unfinished template; an orphan after a while.
    TemplateInMaking,
    /// The owner's, made ahead of time, waiting for a job.
    Pooled,
    /// The owner's, marked for a job but not renamed yet.
    HalfClaimed,
    /// The owner's, for a job.
    Worker,
    /// The owner's, registers a model.
    Registering,
    Foreign,
    /// Not told yet, or the owner's on a host that cannot be reached, in another place than the owner's are in, or perhaps a
    /// copy.
    Unknown,
}

pub fn standing(machine: &Machine, owner: &OwnerId) -> Standing {
    if machine.role == Role::Template {
        // One that has not got its name yet: the hatchery that made it died on the last step.
        let unfinished =
            machine.mark_of(owner).is_some_and(|mark| mark.model && is_in_making(&machine.name, mark))
                && !machine.is_outside;
        return if unfinished { Standing::TemplateInMaking } else { Standing::Template };
    }
    if machine.is_unknown() {
        return Standing::Unknown;
    }
    match machine.mark_of(owner) {
        Some(mark) if machine.reachable && !machine.is_outside => by_mark(machine, mark),
        Some(_) => Standing::Unknown,
        None if machine.possible_mark_of(owner).is_some() => Standing::Unknown,
        None => Standing::Foreign,
    }
}

/// What a machine of that mark is to its owner, whether it can be reached or not.
pub fn by_mark(machine: &Machine, mark: &Mark) -> Standing {
    if is_in_making(&machine.name, mark) {
        Standing::TemplateInMaking
    } else if mark.model {
        Standing::Template
    } else if names::is_pooled_name(&machine.name) {
        if mark.provisioning { Standing::Pooled } else { Standing::HalfClaimed }
    } else if mark.register_only || names::is_register_name(&machine.name) {
        Standing::Registering
    } else {
        Standing::Worker
    }
}

/// Whether the owner of that mark makes a template of a machine of that name. The ending alone would not do: a model may
/// be called `x-tmp`, and its template may be a VM while somebody mends it.
pub fn is_in_making(name: &str, mark: &Mark) -> bool {
    let model = mark.worker_model_path.rsplit('/').next().unwrap_or_default();
    !model.is_empty() && name.strip_suffix("-tmp") == Some(model)
}

#[cfg(test)]
mod tests;
