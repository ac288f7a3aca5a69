//! Timeouts: what happens to jobs and workers as time passes.

use jiff::Timestamp;

use crate::job::{Protocol, Status};
use crate::world::{World, later};
use crate::{load, workers};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An answer that was held back.
    Reply,
    /// The turn of a call.
    Turn,
    /// A job that nobody took.
    Waited,
    /// A job whose worker never came.
    Scheduled,
    /// A worker that says nothing.
    Silent,
    /// A disabled worker is forgotten.
    Deleted,
}

/// How often a dead worker gives its job of the first protocol back.
const RETRIES: u32 = 3;

/// Lets everything happen that is due until then, each at its time.
pub(crate) fn pass_until(world: &mut World, to: Timestamp) {
    while let Some((at, due, id)) = earliest(world).filter(|(at, ..)| *at <= to) {
        let id = id.to_owned();
        world.now = world.now.max(at);
        happen(world, due, &id);
    }
    world.now = world.now.max(to);
}

/// When something is due next.
pub(crate) fn next(world: &World) -> Option<Timestamp> {
    earliest(world).map(|(at, ..)| at)
}

/// When, what, and to whom.
fn earliest(world: &World) -> Option<(Timestamp, Due, &str)> {
    let times = &world.state.config.times;
    let replies = world.held.first_key_value().map(|((at, _), _)| (*at, Due::Reply, ""));
    let turns = world.pending.first_key_value().map(|((at, _), _)| (*at, Due::Turn, ""));
    let jobs = world.state.jobs.values().filter(|job| job.is_for(Protocol::V2));
    let jobs = jobs.filter_map(|job| match job.status {
        Status::Waiting => Some((later(job.queued, times.waiting), Due::Waited, job.id.as_str())),
        Status::Scheduling => {
            let since = job.scheduled.unwrap_or(job.queued);
            Some((later(since, times.scheduling), Due::Scheduled, job.id.as_str()))
        }
        Status::Building | Status::Success | Status::Fail | Status::Stopped => None,
    });
    let workers = world.state.workers.values().map(|worker| match worker.disabled_at {
        None => (later(worker.last_beat, times.silent_worker), Due::Silent, worker.id.as_str()),
        Some(since) => {
            let soon = later(since, times.deletion);
            let at = match worker.protocol {
                Protocol::V1 => soon.max(later(worker.last_beat, times.disabled_worker)),
                Protocol::V2 => soon,
            };
            (at, Due::Deleted, worker.id.as_str())
        }
    });
    replies.into_iter().chain(turns).chain(jobs).chain(workers).min()
}

fn happen(world: &mut World, due: Due, id: &str) {
    match due {
        Due::Reply => {
            if let Some(((_, id), reply)) = world.held.pop_first() {
                world.reply(id, reply);
            }
        }
        Due::Turn => load::serve_next(world),
        Due::Waited => world.end(id, Status::Fail, "no hatchery took the job in time"),
        Due::Scheduled => {
            if let Some(job) = world.state.jobs.get_mut(id) {
                job.hatchery.clear();
            }
            world.set_status(id, Status::Waiting);
        }
        Due::Silent => workers::set_status(world, id, workers::Status::Disabled),
        Due::Deleted => delete(world, id),
    }
}

/// A worker is no more. A job that it was building is started again, or stopped.
fn delete(world: &mut World, id: &str) {
    let Some(worker) = world.state.workers.remove(id) else { return };
    world.state.sessions.retain(|_, session| session.who != crate::auth::Who::Worker(id.to_owned()));
    world.tell_worker(&worker.name, None);
    let Some(job) = worker.job.and_then(|job| world.state.jobs.get_mut(&job)) else { return };
    if job.status != Status::Building || job.worker_id != id {
        return;
    }
    let job_id = job.id.clone();
    match worker.protocol {
        Protocol::V1 if job.retry < RETRIES => {
            job.retry += 1;
            job.booking = None;
            world.set_status(&job_id, Status::Waiting);
        }
        Protocol::V1 | Protocol::V2 => world.end(&job_id, Status::Stopped, "its worker is gone"),
    }
}
