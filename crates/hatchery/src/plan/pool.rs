//! The pools of warm machines in the core's terms: which pool a machine is of, and what it is to a job.

use std::sync::Arc;

use rookery_fleet::OwnerId;
use rookery_fleet::claim::{Candidacy, Pooled};
use rookery_fleet::origin::Origin;
use rookery_fleet::warm::{Member, Membership, PoolKey};

use crate::machine::Machine;
use crate::mark::Mark;
use crate::names::{self, ModelKind};
use crate::standing::{Standing, standing};

/// What tells warm machines of one kind from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WarmKind {
    pub(super) kind: ModelKind,
    /// V1: the path of the model; V2: the template.
    pub(super) model: String,
    /// The size by name, in lower case; empty: the template's.
    pub(super) flavor: String,
}

/// No name of a model or flavor has it.
const SEPARATOR: char = '\n';

impl WarmKind {
    pub(super) fn new(kind: ModelKind, model: &str, flavor: &str) -> Self {
        Self { kind, model: model.to_owned(), flavor: flavor.to_lowercase() }
    }

    /// The kind of a machine of the pool.
    pub(super) fn of_machine(machine: &Machine, mark: &Mark) -> Option<Self> {
        let kind = names::kind_of(&machine.name)?;
        Some(Self::new(kind, model_of(mark, kind), &mark.flavor))
    }

    pub(super) fn key(&self) -> PoolKey {
        let kind: Arc<str> = format!("{}{SEPARATOR}{}", self.model, self.flavor).into();
        PoolKey { family: self.kind.family(), kind }
    }

    /// The kind that a key was made of.
    pub(super) fn of(key: &PoolKey) -> Self {
        let kind = names::kind_of(key.family).unwrap_or(ModelKind::V2);
        let (model, flavor) = key.kind.split_once(SEPARATOR).unwrap_or((&key.kind, ""));
        Self::new(kind, model, flavor)
    }
}

/// What a machine is to the pools of its owner.
pub(super) fn membership(machine: &Machine, owner: &OwnerId) -> Membership {
    if machine.is_set_apart() {
        let mark = machine.any_mark().filter(|_| machine.recognised.ownership.marked_by() == Some(owner));
        let kind = mark.and_then(|mark| WarmKind::of_machine(machine, mark));
        return kind.map_or(Membership::None, |kind| Membership::SetApart(kind.key()));
    }
    let standing = standing(machine, owner);
    let member = || {
        let mark = machine.mark_of(owner)?;
        Some(Member {
            key: WarmKind::of_machine(machine, mark).map(|kind| kind.key()),
            created: machine.created.or(mark.created),
            origin: mark.origin(),
        })
    };
    match standing {
        Standing::Unknown => {
            names::kind_of(&machine.name).map_or(Membership::None, |kind| Membership::Unknown(kind.family()))
        }
        Standing::Pooled => member().map_or(Membership::None, Membership::Pooled),
        Standing::HalfClaimed => member().map_or(Membership::None, Membership::HalfClaimed),
        Standing::Template
        | Standing::TemplateInMaking
        | Standing::Worker
        | Standing::Registering
        | Standing::Foreign => Membership::None,
    }
}

/// What a machine is to a job that runs on that model, which clones would be made from like this.
pub(super) fn candidacy<'v>(
    machine: &'v Machine,
    owner: &OwnerId,
    (kind, model): (ModelKind, &str),
    origin: &Origin,
) -> Candidacy<'v> {
    if names::kind_of(&machine.name) != Some(kind) {
        return Candidacy::Irrelevant;
    }
    let standing = standing(machine, owner);
    if standing == Standing::Unknown {
        return if machine.is_set_apart() { Candidacy::Irrelevant } else { Candidacy::Unknown };
    }
    let Some(mark) = machine.mark_of(owner).filter(|mark| model_of(mark, kind) == model) else {
        return Candidacy::Irrelevant;
    };
    match standing {
        // The flag alone tells nothing: older hatcheries leave it set.
        Standing::Pooled if mark.job_id.is_empty() => Candidacy::Pooled(Pooled {
            flavor: &mark.flavor,
            created: machine.created.or(mark.created),
            is_stale: origin.is_stale(&mark.origin()),
        }),
        Standing::Pooled | Standing::HalfClaimed => Candidacy::HalfClaimed,
        Standing::Template
        | Standing::TemplateInMaking
        | Standing::Worker
        | Standing::Registering
        | Standing::Foreign
        | Standing::Unknown => Candidacy::Irrelevant,
    }
}

/// The model that a mark names for that kind.
fn model_of(mark: &Mark, kind: ModelKind) -> &str {
    match kind {
        ModelKind::V1 => &mark.worker_model_path,
        ModelKind::V2 => &mark.vmware_model_path,
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::Role;

    use super::*;
    use crate::samples::{Notes, OWNER, marked, remark, vm, warm};

    /// What a machine is to a job of the template `deb`, and to the pools.
    fn check(machine: &Machine, to_a_job: &str, to_the_pools: &str) {
        let candidacy = match candidacy(machine, &OWNER, (ModelKind::V2, "deb"), &Origin::default()) {
            Candidacy::Irrelevant => "irrelevant",
            Candidacy::Unknown => "unknown",
            Candidacy::HalfClaimed => "half claimed",
            Candidacy::Pooled(_) => "pooled",
        };
        let membership = match membership(machine, &OWNER) {
            Membership::None => "none",
            Membership::Unknown(_) => "unknown",
            Membership::Pooled(_) => "pooled",
            Membership::HalfClaimed(_) => "half claimed",
            Membership::SetApart(_) => "set apart",
        };
        assert_eq!((candidacy, membership), (to_a_job, to_the_pools), "{machine:?}");
    }

    #[test]
    fn name_and_mark_tell_what_a_machine_is_to_a_job_and_to_the_pools() {
        let pooled = || warm("provision-v2-a", "deb", "");
        check(&pooled(), "pooled", "pooled");
        check(&warm("provision-v2-a", "suse", ""), "irrelevant", "pooled");
        check(&warm("provision-v1-a", "deb", ""), "irrelevant", "pooled");
        check(&warm("brave-curie", "deb", ""), "irrelevant", "none");
        check(&vm("provision-v2-a"), "irrelevant", "none");
        check(&Machine { role: Role::Template, ..pooled() }, "irrelevant", "none");
        check(&Machine { role: Role::Unknown, ..pooled() }, "unknown", "unknown");
        check(&Machine { reachable: false, ..pooled() }, "unknown", "unknown");
        let unknown = Machine { recognised: Notes::Unknown.on("provision-v2-a"), ..pooled() };
        check(&unknown, "unknown", "unknown");
        check(&Machine { name: "brave-curie".to_owned(), ..unknown }, "irrelevant", "none");
        check(&Machine { is_outside: true, ..pooled() }, "irrelevant", "set apart");
        let half = marked("provision-v2-a", |mark| mark.vmware_model_path = "deb".to_owned());
        check(&half, "half claimed", "half claimed");
        // The flag alone tells nothing: older hatcheries leave it set.
        let claimed = remark(pooled(), |mark| mark.job_id = "7".to_owned());
        check(&claimed, "half claimed", "pooled");
        let theirs = remark(pooled(), |mark| mark.hatchery_name = "theirs".to_owned());
        check(&theirs, "irrelevant", "none");
    }

    #[test]
    fn a_key_tells_the_kind_that_it_was_made_of() {
        for kind in [
            WarmKind::new(ModelKind::V1, "group/deb", ""),
            WarmKind::new(ModelKind::V2, "deb", "Large"),
            WarmKind::new(ModelKind::V2, "", ""),
        ] {
            assert_eq!(WarmKind::of(&kind.key()), kind);
        }
        assert_ne!(
            WarmKind::new(ModelKind::V1, "deb", "").key(),
            WarmKind::new(ModelKind::V2, "deb", "").key()
        );
    }
}
