//! Rules for guests.

use std::net::IpAddr;

use jiff::SignedDuration;

use super::{Action, GuestBehaviour, hits, names};
use crate::id::Id;
use crate::world::World;

/// How one guest behaves until it stops.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Plan {
    pub(crate) later: SignedDuration,
    pub(crate) no_tools: bool,
    pub(crate) no_operations: bool,
    pub(crate) no_address: bool,
    pub(crate) wrong_address: Option<IpAddr>,
    pub(crate) loses_tools: Option<SignedDuration>,
}

/// Decides how a guest that starts now behaves. The method of a rule means nothing here.
pub(crate) fn plan(world: &mut World, id: Id) -> Plan {
    let mut plan = Plan::default();
    if world.rules.active.is_empty() {
        return plan;
    }
    let about = names(world, &id.reference());
    for action in hits(world, None, &about, |action| matches!(action, Action::Guest(_))) {
        let Action::Guest(behaviour) = action else { continue };
        match behaviour {
            GuestBehaviour::SlowBoot { by } => plan.later += by.draw(&mut world.random),
            GuestBehaviour::NoTools => plan.no_tools = true,
            GuestBehaviour::NoOperations => plan.no_operations = true,
            GuestBehaviour::NoAddress => plan.no_address = true,
            GuestBehaviour::WrongAddress { ip } => plan.wrong_address = Some(ip),
            GuestBehaviour::LosesTools { after } => plan.loses_tools = Some(after.draw(&mut world.random)),
        }
    }
    plan
}
