//! Hosts.

use rookery_vim::Node;
use rookery_vim::methods::{DisconnectHostTask, Method as _, ReconnectHostTask};

use super::{Dispatch, order, this_of};
use crate::id::Kind;
use crate::machine::Work;
use crate::soap::{Call, answer};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        DisconnectHostTask::NAME => answer::<DisconnectHostTask>(node, |_| {
            let host = this_of(world, call, Kind::HostSystem)?;
            Ok(order::<DisconnectHostTask>(world, call, host, Work::Disconnect { host }))
        }),
        ReconnectHostTask::NAME => answer::<ReconnectHostTask>(node, |_| {
            let host = this_of(world, call, Kind::HostSystem)?;
            Ok(order::<ReconnectHostTask>(world, call, host, Work::Reconnect { host }))
        }),
        _ => return Dispatch::Unknown(node),
    })
}
