//! The pools of warm machines in the core's terms: which pool a machine is of, and what it is to a job.

use std::sync::Arc;

use rookery_fleet::OwnerId;
use rookery_fleet::claim::{Candidacy, Pooled};
use rookery_fleet::origin::Origin;
use rookery_fleet::warm::{Member, Membership, PoolKey};

use crate::machine::Machine;
use crate::mark::Mark;
use crate::names::{self, Line};
use crate::standing::{Standing, standing};

/// What tells warm machines of one kind from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) line: Line,
    /// V1: the path of the model; V2: the template.
    pub(super) model: String,
    /// The size by name, in lower case; empty: the template's.
    pub(super) flavor: String,
}

/// No name of a model or flavor has it.
const SEPARATOR: char = '\n';

impl Kind {
    pub(super) fn new(line: Line, model: &str, flavor: &str) -> Self {
        Self { line, model: model.to_owned(), flavor: flavor.to_lowercase() }
    }

    /// The kind of a machine of the pool.
    pub(super) fn of_machine(machine: &Machine, mark: &Mark) -> Option<Self> {
        let line = names::line_of(&machine.name)?;
        Some(Self::new(line, model_of(mark, line), &mark.flavor))
    }

    pub(super) fn key(&self) -> PoolKey {
        let kind: Arc<str> = format!("{}{SEPARATOR}{}", self.model, self.flavor).into();
        PoolKey { family: self.line.family(), kind }
    }

    /// The kind that a key was made of.
    pub(super) fn of(key: &PoolKey) -> Self {
        let line = names::line_of(key.family).unwrap_or(Line::V2);
        let (model, flavor) = key.kind.split_once(SEPARATOR).unwrap_or((&key.kind, ""));
        Self::new(line, model, flavor)
    }
}

/// What a machine is to the pools of its owner.
pub(super) fn membership(machine: &Machine, owner: &OwnerId) -> Membership {
    if machine.is_set_apart() {
        let mark = machine.any_mark().filter(|_| machine.recognised.ownership.marked_by() == Some(owner));
        let kind = mark.and_then(|mark| Kind::of_machine(machine, mark));
        return kind.map_or(Membership::None, |kind| Membership::SetApart(kind.key()));
    }
    let standing = standing(machine, owner);
    let member = || {
        let mark = machine.mark_of(owner)?;
        Some(Member {
            key: Kind::of_machine(machine, mark).map(|kind| kind.key()),
            created: machine.created.or(mark.created),
            origin: mark.origin(),
        })
    };
    match standing {
        Standing::Unknown => {
            names::line_of(&machine.name).map_or(Membership::None, |line| Membership::Unknown(line.family()))
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
    (line, model): (Line, &str),
    origin: &Origin,
) -> Candidacy<'v> {
    if names::line_of(&machine.name) != Some(line) {
        return Candidacy::Irrelevant;
    }
    let standing = standing(machine, owner);
    if standing == Standing::Unknown {
        return if machine.is_set_apart() { Candidacy::Irrelevant } else { Candidacy::Unknown };
    }
    let Some(mark) = machine.mark_of(owner).filter(|mark| model_of(mark, line) == model) else {
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

/// The model that a mark names for that line.
fn model_of(mark: &Mark, line: Line) -> &str {
    match line {
        Line::V1 => &mark.worker_model_path,
        Line::V2 => &mark.vmware_model_path,
    }
}
