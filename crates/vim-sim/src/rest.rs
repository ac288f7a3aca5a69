//! The REST interface.

use crate::io::{Reply, Request};
use crate::world::World;

pub(crate) fn serve(_world: &mut World, _request: &Request) -> Reply {
    Reply::plain(404, "there is nothing here")
}
