//! What happens by itself as time passes.

use jiff::Timestamp;

use crate::job::{Protocol, Status};
use crate::workers;
use crate::world::{World, later};

/// Something that is due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// An answer that was held back.
    Reply,
    /// A job that nobody took.
    Waited(String),
    /// A job whose worker never came.
    Scheduled(String),
    /// A worker that says nothing.
    Silent(String),
    /// A disabled worker is forgotten.
    Deleted(String),
}

/// How often a dead worker gives its job of the first protocol back.
const RETRIES: u32 = 3;

/// Lets everything happen that is due until then, each at its time.
pub(crate) fn pass_until(world: &mut World, to: Timestamp) {
    while let Some((at, due)) = earliest(world).filter(|(at, _)| *at <= to) {
        world.now = world.now.max(at);
        happen(world, due);
    }
    world.now = world.now.max(to);
}

/// When something is due next.
pub(crate) fn next(world: &World) -> Option<Timestamp> {
    earliest(world).map(|(at, _)| at)
}

fn earliest(world: &World) -> Option<(Timestamp, Due)> {
    let times = &world.state.config.times;
    let replies = world.held.first_key_value().map(|((at, _), _)| (*at, Due::Reply));
    let jobs = world.state.jobs.values().filter(|job| job.is_for(Protocol::V2));
    let jobs = jobs.filter_map(|job| match job.status {
        Status::Waiting => Some((later(job.queued, times.waiting), Due::Waited(job.id.clone()))),
        Status::Scheduling => {
            let since = job.scheduled.unwrap_or(job.queued);
            Some((later(since, times.scheduling), Due::Scheduled(job.id.clone())))
        }
        Status::Building | Status::Success | Status::Fail | Status::Stopped => None,
    });
    let workers = world.state.workers.values().map(|worker| match worker.disabled_at {
        None => (later(worker.last_beat, times.silent_worker), Due::Silent(worker.id.clone())),
        Some(since) => {
            let soon = later(since, times.deletion);
            let at = match worker.protocol {
                Protocol::V1 => soon.max(later(worker.last_beat, times.disabled_worker)),
                Protocol::V2 => soon,
            };
            (at, Due::Deleted(worker.id.clone()))
        }
    });
    replies.into_iter().chain(jobs).chain(workers).min()
}

fn happen(world: &mut World, due: Due) {
    match due {
        Due::Reply => {
            if let Some(((_, id), reply)) = world.held.pop_first() {
                world.reply(id, reply);
            }
        }
        Due::Waited(job) => world.end(&job, Status::Fail, "no hatchery took the job in time"),
        Due::Scheduled(job) => {
            if let Some(job) = world.state.jobs.get_mut(&job) {
                job.hatchery.clear();
            }
            world.set_status(&job, Status::Waiting);
        }
        Due::Silent(worker) => workers::set_status(world, &worker, workers::Status::Disabled),
        Due::Deleted(worker) => delete(world, &worker),
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
