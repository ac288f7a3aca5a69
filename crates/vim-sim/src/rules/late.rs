//! Changes that are told later than they happen.

use std::collections::VecDeque;

use jiff::Timestamp;
use rookery_sim::glob;

use super::{Action, names};
use crate::id::{Id, Kind};
use crate::world::{Timer, World};

/// What is held back.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// When to tell which change.
    changes: VecDeque<(Timestamp, Id, &'static str)>,
    /// The revision up to which changes were looked at.
    looked: u64,
}

/// Holds back what has changed since the last time, and tells what is due.
pub(crate) fn hold_back(world: &mut World) {
    let rules = world.rules.active.iter().map(|active| &active.rule);
    let late: Vec<_> = rules
        .filter_map(|rule| {
            let Action::Late { property, by } = &rule.action else { return None };
            Some((rule.target.clone(), property.clone(), *by))
        })
        .collect();
    if !late.is_empty() {
        let changes = world.store.log.changes_since(world.rules.late.looked);
        for (id, path) in changes.into_iter().filter(|(id, _)| id.kind == Kind::VirtualMachine) {
            let about = names(world, &id.reference());
            let is_meant =
                |target: &str| target == "*" || about.iter().any(|name| glob::matches(target, name));
            let rule =
                late.iter().find(|(target, property, _)| is_meant(target) && glob::matches(property, path));
            let Some((_, _, by)) = rule else { continue };
            let by = by.draw(&mut world.random);
            let when = world.now.saturating_add(by).unwrap_or(world.now);
            if when > world.now && world.store.log.withhold(world.rules.late.looked, id, path) {
                world.rules.late.changes.push_back((when, id, path));
                world.at(when, Timer::Wake);
            }
        }
    }
    let now = world.now;
    let changes = std::mem::take(&mut world.rules.late.changes);
    let (due, later): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(at, ..)| *at <= now);
    world.rules.late.changes = later.into();
    for (_, id, path) in due {
        world.store.log.touch(id, path);
    }
    world.rules.late.looked = world.store.log.revision();
}
