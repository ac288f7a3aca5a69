//! One filter: what it has reported, and what it has to report.

use std::collections::{BTreeMap, BTreeSet};

use rookery_vim::Writer;

use super::select::{Paths, Spec};
use crate::id::Id;
use crate::privileges;
use crate::properties::{self, Found, Frame};
use crate::store::{Entry, LogWhat};
use crate::world::World;

#[derive(Debug)]
pub(crate) struct Filter {
    pub(crate) id: Id,
    spec: Spec,
    /// What the client knows to be there.
    members: BTreeSet<Id>,
    /// Nothing was told yet.
    pub(super) fresh: bool,
}

/// One pending update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delta {
    Enter(Id),
    Modify(Id, Vec<String>),
    Leave(Id),
}

impl Delta {
    /// The object that must be there for this to be told.
    pub(super) fn shows(&self) -> Option<Id> {
        match self {
            Self::Enter(id) | Self::Modify(id, _) => Some(*id),
            Self::Leave(_) => None,
        }
    }
}

impl Filter {
    pub(crate) fn new(id: Id, spec: Spec) -> Self {
        Self { id, spec, members: BTreeSet::new(), fresh: true }
    }

    pub(super) fn start_over(&mut self) {
        self.members.clear();
        self.fresh = true;
    }

    pub(super) fn apply(&mut self, delta: &Delta) {
        match delta {
            Delta::Enter(id) => {
                self.members.insert(*id);
            }
            Delta::Leave(id) => {
                self.members.remove(id);
            }
            Delta::Modify(..) => {}
        }
    }

    /// The changes since a revision, and whether all objects were read again.
    pub(super) fn deltas(&self, world: &World, since: u64) -> (Vec<Delta>, bool) {
        let entries = if self.fresh { None } else { world.store.log.since(since) };
        let Some(entries) = entries else {
            return (self.everything(world), true);
        };
        let mut touched: BTreeMap<Id, Vec<&'static str>> = BTreeMap::new();
        let mut order = Vec::new();
        let mut structural = false;
        for Entry { id, what } in entries {
            let paths = touched.entry(*id).or_insert_with(|| {
                order.push(*id);
                Vec::new()
            });
            match what {
                LogWhat::Changed(path) => {
                    paths.push(path);
                    structural |= self.spec.follows(path);
                }
                LogWhat::Appeared | LogWhat::Vanished | LogWhat::Listed => structural = true,
            }
        }
        // Traversals may lead elsewhere once there is something new, or something less.
        let now: Option<BTreeSet<Id>> = (!self.spec.is_simple()).then(|| {
            if structural { self.spec.objects(world).into_iter().collect() } else { self.members.clone() }
        });
        if let Some(now) = &now {
            for id in now.symmetric_difference(&self.members) {
                if !touched.contains_key(id) {
                    order.push(*id);
                }
            }
        }
        let deltas = order.into_iter().filter_map(|id| {
            let is = now.as_ref().map_or_else(|| self.spec.contains(world, id), |now| now.contains(&id));
            match (self.members.contains(&id), is) {
                (false, true) => Some(Delta::Enter(id)),
                (true, false) => Some(Delta::Leave(id)),
                (true, true) => self.modified(id, touched.get(&id)?),
                (false, false) => None,
            }
        });
        (deltas.collect(), false)
    }

    fn modified(&self, id: Id, touched: &[&'static str]) -> Option<Delta> {
        let mut paths: Vec<String> = match self.spec.paths(id.kind) {
            // A whole property is told of: the first part of its path.
            Paths::All => touched.iter().map(|t| t.split('.').next().unwrap_or(t).to_owned()).collect(),
            Paths::These(paths) => paths
                .into_iter()
                .filter(|path| touched.iter().any(|t| overlap(t, path)))
                .map(str::to_owned)
                .collect(),
        };
        let mut seen = BTreeSet::new();
        paths.retain(|path| seen.insert(path.clone()));
        (!paths.is_empty()).then_some(Delta::Modify(id, paths))
    }

    /// Everything there is, and what is no more.
    fn everything(&self, world: &World) -> Vec<Delta> {
        let now = self.spec.objects(world);
        let left: BTreeSet<Id> = now.iter().copied().collect();
        let gone = self.members.iter().filter(|id| !left.contains(id)).copied().map(Delta::Leave);
        now.into_iter().map(Delta::Enter).chain(gone.collect::<Vec<_>>()).collect()
    }

    pub(super) fn write(&self, world: &World, delta: &Delta, out: &mut Writer) {
        let (kind, id) = match delta {
            Delta::Enter(id) => ("enter", *id),
            Delta::Modify(id, _) => ("modify", *id),
            Delta::Leave(id) => ("leave", *id),
        };
        out.open("objectSet", None);
        out.leaf("kind", None, kind);
        out.reference("obj", None, &id.reference());
        match delta {
            Delta::Enter(_) => match self.spec.paths(id.kind) {
                Paths::All => privileges::write_all(world, id, out, Frame::ChangeSet),
                Paths::These(paths) => changes(world, id, &paths, out),
            },
            Delta::Modify(_, paths) => changes(world, id, paths, out),
            Delta::Leave(_) => {}
        }
        out.close("objectSet");
    }
}

/// Properties, and after them those that may not be read.
fn changes(world: &World, id: Id, paths: &[impl AsRef<str>], out: &mut Writer) {
    let mut missing = Writer::new();
    for path in paths.iter().map(AsRef::as_ref) {
        match privileges::readable(world, id, path) {
            Ok(()) => change(world, id, path, out),
            Err(refusal) => privileges::write_missing(&mut missing, path, &refusal),
        }
    }
    out.raw(&missing.into_string());
}

fn change(world: &World, id: Id, path: &str, out: &mut Writer) {
    let mut value = Writer::new();
    let found = properties::property(world, id, path, &mut value, "val");
    if found == Found::Invalid {
        return;
    }
    Frame::ChangeSet.open(out, path);
    out.raw(&value.into_string());
    out.close("changeSet");
}

/// Whether a change of one path may show in the other.
fn overlap(changed: &str, watched: &str) -> bool {
    let (short, long) = if changed.len() < watched.len() { (changed, watched) } else { (watched, changed) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
