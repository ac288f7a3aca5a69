//! A server with limited capacity: calls wait in one queue, and each takes its time. A client that waits too long gives
//! up; the server does not notice, and does what was asked when its turn comes.

use jiff::{SignedDuration, Timestamp};
use rookery_sim::{Request, RequestId};
use serde::{Deserialize, Serialize};

use crate::auth::Who;
use crate::io;
use crate::workers;
use crate::world::World;

/// The capacity of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Capacity {
    /// How long one call takes it, during which all others wait.
    pub service_milliseconds: u32,
    /// How long a worker waits for its session and for its job before it gives up and signs out.
    #[serde(default = "ten_seconds")]
    pub worker_patience_milliseconds: u32,
}

fn ten_seconds() -> u32 {
    10_000
}

/// A call whose turn has not come.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    request: Request,
    /// Whether the caller will have given up by then.
    given_up: bool,
}

/// Puts a call at the end of the queue.
pub(crate) fn enqueue(world: &mut World, capacity: Capacity, id: RequestId, request: Request) {
    let patience = after(world.now, capacity.worker_patience_milliseconds);
    let done = after(world.free_at.max(world.now), capacity.service_milliseconds);
    world.free_at = done;
    let given_up = is_impatient(&request) && done > patience;
    if given_up {
        world.held.insert((patience, id), io::cut());
    }
    world.pending.insert((done, id), Pending { request, given_up });
}

/// The turn of the first call has come.
pub(crate) fn serve_next(world: &mut World) {
    let Some(((_, id), Pending { request, given_up })) = world.pending.pop_first() else { return };
    if !given_up {
        return world.answer(id, &request);
    }
    let worker = match world.caller(&request) {
        Ok(Who::Worker(worker)) => Some(worker),
        Ok(Who::Builtin(_) | Who::Hatchery(_)) | Err(_) => None,
    };
    let request_id = world.state.random.uuid();
    crate::route::answer(world, &request, &request_id);
    // It has signed out meanwhile. A job of the second protocol that it was given so is stopped, and not queued again.
    if let Some(worker) = worker {
        workers::set_status(world, &worker, workers::Status::Disabled);
    }
}

/// Drops all waiting calls: connections have ended.
pub(crate) fn clear(world: &mut World) {
    for ((_, id), pending) in std::mem::take(&mut world.pending) {
        if !pending.given_up {
            world.reply(id, io::cut());
        }
    }
    world.free_at = world.now;
}

/// Whether a worker waits for this, and not for ever: it wants to be let in, or to be given its job.
fn is_impatient(request: &Request) -> bool {
    let path = request.path.as_str();
    path.ends_with("/worker/signin") || (path.ends_with("/take") && !path.ends_with("/hatchery/take"))
}

fn after(at: Timestamp, milliseconds: u32) -> Timestamp {
    at.saturating_add(SignedDuration::from_millis(milliseconds.into())).unwrap_or(at)
}
