//! Workers and their states.

mod sign_in;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::Who;
use crate::io::{self, Reply};
use crate::job::{Protocol, Status as JobStatus};
use crate::refusal::{Answer, Refusal};
use crate::render::time;
use crate::route::Call;
use crate::world::World;
pub(crate) use sign_in::{sign_in_v1, sign_in_v2};

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// It has just come.
    Waiting,
    /// It runs its job.
    Building,
    /// It does nothing any more.
    Disabled,
}

/// A worker that has signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    pub id: String,
    /// Which protocol it speaks.
    pub protocol: Protocol,
    /// What it is called.
    pub name: String,
    /// Which hatchery started it.
    pub hatchery: String,
    /// The number or UUID of that hatchery.
    pub hatchery_id: String,
    /// Which job it came for; none if it came to register its model.
    pub job: Option<String>,
    /// The number of its model of the first protocol.
    pub model_id: Option<i64>,
    /// The name of its model.
    pub model_name: String,
    pub status: Status,
    /// When it last spoke.
    pub last_beat: Timestamp,
    /// Since when it does nothing.
    pub disabled_at: Option<Timestamp>,
    pub version: String,
    pub os: String,
    pub arch: String,
    /// The programs that it found.
    pub binaries: Vec<String>,
}

/// The worker that calls, if it speaks that protocol.
pub(crate) fn caller<'w>(
    world: &'w World,
    call: &Call<'_>,
    protocol: Protocol,
) -> Result<&'w Worker, Refusal> {
    let Who::Worker(id) = world.caller(call.request)? else {
        return Err(Refusal::FORBIDDEN.from("this is for workers"));
    };
    let worker = world.state.workers.get(&id).filter(|worker| worker.protocol == protocol);
    worker.ok_or_else(|| Refusal::FORBIDDEN.from("this is for workers"))
}

/// That worker, if the job is the one that it came for.
pub(crate) fn of_job<'w>(world: &'w World, worker: &str, job: &str) -> Result<&'w Worker, Refusal> {
    let worker = world.state.workers.get(worker).filter(|worker| worker.job.as_deref() == Some(job));
    worker.ok_or_else(|| Refusal::FORBIDDEN.from(format!("the worker is not for job {job}")))
}

/// Whether that worker runs the job now.
pub(crate) fn building(world: &World, worker: &str, job: &str) -> Result<(), Refusal> {
    of_job(world, worker, job)?;
    let builds = world
        .state
        .jobs
        .get(job)
        .is_some_and(|job| job.status == JobStatus::Building && job.worker_id == worker);
    if builds { Ok(()) } else { Err(Refusal::FORBIDDEN.from(format!("the worker does not run job {job}"))) }
}

/// A worker moves on.
pub(crate) fn set_status(world: &mut World, id: &str, status: Status) {
    let now = world.now;
    let Some(worker) = world.state.workers.get_mut(id) else { return };
    worker.status = status;
    if status == Status::Disabled {
        worker.disabled_at.get_or_insert(now);
    } else {
        worker.last_beat = now;
    }
    let name = worker.name.clone();
    world.tell_worker(&name, Some(status));
}

/// A worker of the first protocol has told how its job ended: it waits, and has no job any more.
pub(crate) fn finish_v1(world: &mut World, id: &str) {
    if let Some(worker) = world.state.workers.get_mut(id) {
        worker.job = None;
    }
    set_status(world, id, Status::Waiting);
}

/// A worker of the first protocol does nothing any more. What it was building has failed.
fn disable_v1(world: &mut World, id: &str) {
    let job = world.state.workers.get_mut(id).and_then(|worker| worker.job.take());
    set_status(world, id, Status::Disabled);
    let Some(job) = job else { return };
    let built = |row: &crate::job::Job| row.status == JobStatus::Building && row.worker_id == id;
    if world.state.jobs.get(&job).is_some_and(built) {
        world.end(&job, JobStatus::Fail, "its worker was disabled");
    }
}

/// `POST /auth/consumer/worker/signout`
pub(crate) fn sign_out_v1(world: &mut World, call: &Call<'_>) -> Answer {
    let id = caller(world, call, Protocol::V1)?.id.clone();
    disable_v1(world, &id);
    end_session(world, call);
    Ok(io::empty(204))
}

/// `POST /v2/queue/{region}/job/{id}/worker/signout`
pub(crate) fn sign_out_v2(world: &mut World, call: &Call<'_>, job: &str) -> Answer {
    let id = caller(world, call, Protocol::V2)?.id.clone();
    of_job(world, &id, job)?;
    set_status(world, &id, Status::Disabled);
    end_session(world, call);
    Ok(io::empty(204))
}

fn end_session(world: &mut World, call: &Call<'_>) {
    if let Some((session, _)) = world.session(call.request) {
        world.state.sessions.remove(&session);
    }
}

/// `POST /worker/refresh`
pub(crate) fn refresh_v1(world: &mut World, call: &Call<'_>) -> Answer {
    let id = caller(world, call, Protocol::V1)?.id.clone();
    beat(world, &id);
    Ok(io::empty(204))
}

/// `POST /v2/queue/{region}/job/{id}/worker/refresh`
pub(crate) fn refresh_v2(world: &mut World, call: &Call<'_>, job: &str) -> Answer {
    let id = caller(world, call, Protocol::V2)?.id.clone();
    of_job(world, &id, job)?;
    beat(world, &id);
    Ok(io::empty(204))
}

fn beat(world: &mut World, id: &str) {
    let now = world.now;
    if let Some(worker) = world.state.workers.get_mut(id) {
        worker.last_beat = now;
    }
}

/// `POST /worker/waiting`
pub(crate) fn waiting(world: &mut World, call: &Call<'_>) -> Answer {
    let worker = caller(world, call, Protocol::V1)?;
    if worker.status == Status::Disabled {
        return Err(Refusal::FORBIDDEN.from("the worker is disabled"));
    }
    if worker.status == Status::Building {
        let still = worker.job.as_ref().and_then(|job| world.state.jobs.get(job));
        if still.is_some_and(|job| job.status == JobStatus::Building) {
            return Err(Refusal::FORBIDDEN.from("the worker is building"));
        }
    }
    let id = worker.id.clone();
    set_status(world, &id, Status::Waiting);
    Ok(io::empty(204))
}

/// `GET /worker`
pub(crate) fn list_v1(world: &World, call: &Call<'_>) -> Answer {
    if let Who::Builtin(name) = world.caller(call.request)?
        && !world.state.services.contains_key(&name)
    {
        return Ok(Reply::json(200, &Value::Null));
    }
    let (_, service) = world.v1_hatchery(call.request, "Hatchery")?;
    let own = world
        .state
        .workers
        .values()
        .filter(|worker| worker.protocol == Protocol::V1 && worker.hatchery_id == service.id.to_string());
    Ok(Reply::json(200, &own.map(list_entry_v1).collect::<Vec<_>>()))
}

/// A disabled worker has no job any more, and whether it is up to date is told at its sign-in alone.
fn list_entry_v1(worker: &Worker) -> Value {
    let hatchery_id: Option<i64> = worker.hatchery_id.parse().ok();
    let job = worker.job.as_ref().filter(|_| worker.status != Status::Disabled);
    let job: Option<i64> = job.and_then(|job| job.parse().ok());
    json!({
        "id": worker.id, "name": worker.name, "lastbeat": time(worker.last_beat), "model_id": worker.model_id,
        "model_name": worker.model_name, "job_run_id": job, "status": worker.status,
        "hatchery_id": hatchery_id, "hatchery_name": worker.hatchery, "uptodate": false,
        "version": worker.version, "os": worker.os, "arch": worker.arch,
    })
}

/// `GET /v2/worker`: null if there is none, as captured.
pub(crate) fn list_v2(world: &World, call: &Call<'_>) -> Answer {
    let hatchery = world.v2_hatchery(call.request)?;
    let own = world
        .state
        .workers
        .values()
        .filter(|worker| worker.protocol == Protocol::V2 && worker.hatchery == hatchery.name);
    let own: Vec<_> = own.map(list_entry_v2).collect();
    Ok(Reply::json(200, &if own.is_empty() { Value::Null } else { own.into() }))
}

fn list_entry_v2(worker: &Worker) -> Value {
    json!({
        "id": worker.id, "name": worker.name, "last_beat": time(worker.last_beat),
        "model_name": worker.model_name, "run_job_id": worker.job, "status": worker.status,
        "hatchery_id": worker.hatchery_id, "hatchery_name": worker.hatchery, "version": worker.version,
        "os": worker.os, "arch": worker.arch,
    })
}

/// `POST /worker/{id}/disable`
pub(crate) fn disable(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let (_, service) = world.v1_hatchery(call.request, "Hatchery")?;
    let worker = world.state.workers.get(id).filter(|worker| worker.protocol == Protocol::V1);
    let worker = worker.ok_or_else(|| Refusal::NOT_FOUND.from(format!("there is no worker {id}")))?;
    if worker.hatchery_id != service.id.to_string() {
        return Err(Refusal::FORBIDDEN.from("the worker belongs to another hatchery"));
    }
    disable_v1(world, id);
    Ok(io::empty(200))
}

/// `POST /queue/workflows/{id}/step`, `POST /v2/queue/{region}/job/{id}/step`
pub(crate) fn step(world: &mut World, call: &Call<'_>, protocol: Protocol, id: &str) -> Answer {
    let worker = caller(world, call, protocol)?.id.clone();
    building(world, &worker, id)?;
    let step = call.body()?;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.steps.push(step);
    }
    Ok(io::empty(204))
}

/// `GET /sim/job/{id}/script`: what the job runs, without any JSON around it.
pub(crate) fn script(world: &World, call: &Call<'_>, id: &str) -> Answer {
    let Who::Worker(worker) = world.caller(call.request)? else { return Err(Refusal::FORBIDDEN) };
    building(world, &worker, id)?;
    let script = world.state.jobs.get(id).map(|job| job.asked.script.clone()).unwrap_or_default();
    Ok(Reply::new(200, "text/plain", script))
}

/// `POST /sim/job/{id}/log`: what the job printed, as it is.
pub(crate) fn log(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let Who::Worker(worker) = world.caller(call.request)? else { return Err(Refusal::FORBIDDEN) };
    building(world, &worker, id)?;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.log(&String::from_utf8_lossy(&call.request.body));
    }
    Ok(io::empty(204))
}
