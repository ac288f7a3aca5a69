//! The vCenter starts again.

use crate::files;
use crate::io::{self, Effect};
use crate::span::Span;
use crate::task;
use crate::world::{Timer, World};

pub(super) fn restart(world: &mut World, down: Span) {
    // Waiting clients are cut off, not told that their session has ended.
    for session in world.sessions.ids() {
        for request in world.collectors.remove_session(session) {
            world.reply(request, io::cut());
        }
        world.sessions.end(session);
    }
    world.views.clear();
    world.events.collectors.clear();
    world.tasks.collectors.clear();
    files::cut_uploads(world);
    world.cut_delayed();
    task::lose_unfinished(world);
    world.effect(Effect::CutConnections);
    let down = down.draw(&mut world.random);
    let up = world.now.saturating_add(down).unwrap_or(world.now);
    world.up_at = up;
    world.at(up, Timer::Wake);
}
