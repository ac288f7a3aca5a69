//! Workers: what they show to get in, and what they do then.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::{Who, granted, may_run};
use crate::config::SHARED;
use crate::io::Reply;
use crate::job::{Protocol, Status as JobStatus};
use crate::refusal::Refusal;
use crate::render::time;
use crate::route::Call;
use crate::token;
use crate::world::World;

type Answer = Result<Reply, Refusal>;

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
    /// Its identifier.
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
    /// What it does.
    pub status: Status,
    /// When it last spoke.
    pub last_beat: Timestamp,
    /// Since when it does nothing.
    pub disabled_at: Option<Timestamp>,
    /// Its version.
    pub version: String,
    /// Its system.
    pub os: String,
    /// Its processor.
    pub arch: String,
    /// The programs that it found.
    pub binaries: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Form {
    binary_capabilities: Option<Vec<String>>,
    version: String,
    #[serde(rename = "OS")]
    os: String,
    arch: String,
}

#[derive(Deserialize)]
struct Claims {
    #[serde(default, rename = "worker_model")]
    name: String,
    #[serde(default)]
    model: Option<ModelClaim>,
    #[serde(default)]
    model_name: String,
    #[serde(default)]
    job_id: i64,
    #[serde(default)]
    run_job_id: String,
    #[serde(default)]
    register_only: bool,
    hatchery_name: String,
}

#[derive(Deserialize)]
struct ModelClaim {
    #[serde(default)]
    id: i64,
}

fn claims_of(claims: &Value) -> Result<Claims, Refusal> {
    Claims::deserialize(&claims["Worker"])
        .map_err(|error| Refusal::UNAUTHORIZED.from(format!("unusable claim Worker: {error}")))
}

fn unauthorized(error: &token::BadToken) -> Refusal {
    Refusal::UNAUTHORIZED.from(format!("unauthorized worker jwt token: {error}"))
}

/// What the token says, if the hatchery that it names really signed it.
fn show_token(
    world: &World,
    call: &Call<'_>,
    key_of: impl Fn(&str) -> Option<String>,
) -> Result<Claims, Refusal> {
    let given = call.request.bearer().ok_or(Refusal::UNAUTHORIZED)?;
    let hatchery = claims_of(&token::unverified(given).map_err(|error| unauthorized(&error))?)?.hatchery_name;
    let key = key_of(&hatchery).and_then(|key| token::public_key(&key));
    let key = key.ok_or_else(|| Refusal::UNAUTHORIZED.from(format!("there is no hatchery {hatchery}")))?;
    let claims = claims_of(&token::verify(given, &key, world.now).map_err(|error| unauthorized(&error))?)?;
    if claims.name.is_empty() {
        return Err(Refusal::UNAUTHORIZED.from("the worker has no name"));
    }
    Ok(claims)
}

/// `POST /auth/consumer/worker/signin`
pub(crate) fn sign_in_v1(world: &mut World, call: &Call<'_>) -> Answer {
    let form: Form = call.body::<Option<Form>>()?.unwrap_or_default();
    let row = |name: &str| world.state.services.iter().find(|(_, s)| s.kind == "hatchery" && s.name == name);
    let claims = show_token(world, call, |name| row(name).map(|(_, service)| service.public_key.clone()))?;
    let (consumer, service) = row(&claims.hatchery_name).ok_or(Refusal::UNAUTHORIZED)?;
    let consumer = world.builtin(consumer).filter(|c| !c.disabled).ok_or(Refusal::UNAUTHORIZED)?;
    let model_id = claims.model.as_ref().map(|model| model.id).filter(|id| *id != 0);
    if claims.register_only && (claims.job_id > 0 || model_id.is_none()) {
        return Err(Refusal::UNAUTHORIZED.from("a worker that registers has a model and no job"));
    }
    if !claims.register_only && claims.job_id == 0 {
        return Err(Refusal::UNAUTHORIZED.from("a worker that does not register has a job"));
    }
    let model = match model_id {
        None => None,
        Some(id) => {
            let model = world.state.models.iter().find(|row| row.id == id);
            Some(model.ok_or_else(|| Refusal::UNAUTHORIZED.from(format!("there is no model {id}")))?)
        }
    };
    if let Some(model) = model {
        let own = consumer.groups.contains(&model.model.group);
        let shared = model.model.group == SHARED && !model.model.restricted;
        if !own && !shared && !consumer.maintainer {
            return Err(Refusal::UNAUTHORIZED.from("the model is not for the hatchery's groups"));
        }
    }
    let job = (!claims.register_only).then(|| claims.job_id.to_string());
    if let Some(id) = &job {
        let job = world.state.jobs.get(id).filter(|job| job.is_for(Protocol::V1) && !job.status.is_final());
        let job = job.ok_or_else(|| Refusal::FORBIDDEN.from(format!("can't load job {id}")))?;
        let groups = &job.asked.exec_groups;
        let group_fits = model.is_none_or(|model| groups.contains(&model.model.group));
        if !may_run(consumer, groups) || !group_fits {
            return Err(Refusal::UNAUTHORIZED.from("the job's exec groups are others"));
        }
        let region = job.asked.region.as_deref();
        if consumer.service_region.as_deref().is_some_and(|pin| region.is_some_and(|region| region != pin)) {
            return Err(Refusal::UNAUTHORIZED.from("the job is for another region"));
        }
    }
    let worker = Worker {
        id: String::new(),
        protocol: Protocol::V1,
        name: claims.name,
        hatchery: service.name.clone(),
        hatchery_id: service.id.to_string(),
        job,
        model_id,
        model_name: model.map(|model| model.model.name.clone()).unwrap_or_default(),
        status: Status::Waiting,
        last_beat: world.now,
        disabled_at: None,
        version: form.version,
        os: form.os,
        arch: form.arch,
        binaries: form.binary_capabilities.unwrap_or_default(),
    };
    if let Some(id) = model_id {
        world.registered(id, &worker);
    }
    let (worker, session) = admit(world, worker);
    let mut answer = list_entry_v1(world, &worker);
    answer["uptodate"] = (worker.version == world.state.config.version).into();
    Ok(Reply::json(200, &answer).with("x-cds-jwt", session))
}

/// `POST /v2/queue/{region}/job/{id}/worker/signin`
pub(crate) fn sign_in_v2(world: &mut World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    let form: Form = call.body::<Option<Form>>()?.unwrap_or_default();
    let hatcheries = &world.state.hatcheries;
    let claims = show_token(world, call, |name| hatcheries.get(name).map(|row| row.public_key.clone()))?;
    let consumer = world.hatchery_consumer(&claims.hatchery_name).filter(|consumer| !consumer.disabled);
    granted(consumer.ok_or(Refusal::UNAUTHORIZED)?, region)?;
    let job = world.state.jobs.get(id).filter(|job| job.is_for(Protocol::V2)).ok_or(Refusal::NOT_FOUND)?;
    let fits = job.status == JobStatus::Scheduling
        && job.hatchery == claims.hatchery_name
        && claims.run_job_id == id
        && job.asked.region.as_deref() == Some(region);
    if !fits {
        let why = format!(
            "unable to register worker {}: job {id} is {} by {:?}",
            claims.name, job.status, job.hatchery
        );
        return Err(Refusal::FORBIDDEN.from(why));
    }
    let hatchery_id = hatcheries.get(&claims.hatchery_name).map(|row| row.id.clone()).unwrap_or_default();
    let worker = Worker {
        id: String::new(),
        protocol: Protocol::V2,
        name: claims.name,
        hatchery: claims.hatchery_name,
        hatchery_id,
        job: Some(id.to_owned()),
        model_id: None,
        model_name: claims.model_name,
        status: Status::Waiting,
        last_beat: world.now,
        disabled_at: None,
        version: form.version,
        os: form.os,
        arch: form.arch,
        binaries: form.binary_capabilities.unwrap_or_default(),
    };
    let (worker, session) = admit(world, worker);
    Ok(Reply::json(200, &list_entry_v2(&worker)).with("x-cds-jwt", session))
}

fn admit(world: &mut World, mut worker: Worker) -> (Worker, String) {
    worker.id = world.state.random.uuid();
    world.state.workers.insert(worker.id.clone(), worker.clone());
    let seconds = world.state.config.times.worker_session;
    let session = world.open_session(Who::Worker(worker.id.clone()), &worker.name, seconds);
    world.tell_worker(&worker.name, Some(Status::Waiting));
    (worker, session)
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
    Ok(Reply::empty(204))
}

/// `POST /v2/queue/{region}/job/{id}/worker/signout`
pub(crate) fn sign_out_v2(world: &mut World, call: &Call<'_>, job: &str) -> Answer {
    let id = caller(world, call, Protocol::V2)?.id.clone();
    of_job(world, &id, job)?;
    set_status(world, &id, Status::Disabled);
    end_session(world, call);
    Ok(Reply::empty(204))
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
    Ok(Reply::empty(204))
}

/// `POST /v2/queue/{region}/job/{id}/worker/refresh`
pub(crate) fn refresh_v2(world: &mut World, call: &Call<'_>, job: &str) -> Answer {
    let id = caller(world, call, Protocol::V2)?.id.clone();
    of_job(world, &id, job)?;
    beat(world, &id);
    Ok(Reply::empty(204))
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
    Ok(Reply::empty(204))
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
    Ok(Reply::json(200, &own.map(|worker| list_entry_v1(world, worker)).collect()))
}

fn list_entry_v1(world: &World, worker: &Worker) -> Value {
    let hatchery_id: Option<i64> = worker.hatchery_id.parse().ok();
    let job: Option<i64> = worker.job.as_ref().and_then(|job| job.parse().ok());
    let up_to_date = worker.version == world.state.config.version && worker.status != Status::Disabled;
    json!({
        "id": worker.id, "name": worker.name, "lastbeat": time(worker.last_beat), "model_id": worker.model_id,
        "model_name": worker.model_name, "job_run_id": job, "status": worker.status,
        "hatchery_id": hatchery_id, "hatchery_name": worker.hatchery, "uptodate": up_to_date,
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
    Ok(Reply::empty(200))
}

/// `GET /sim/job/{id}/script`: what the job runs, without any JSON around it.
pub(crate) fn script(world: &World, call: &Call<'_>, id: &str) -> Answer {
    let Who::Worker(worker) = world.caller(call.request)? else { return Err(Refusal::FORBIDDEN) };
    building(world, &worker, id)?;
    let script = world.state.jobs.get(id).map(|job| job.asked.script.clone()).unwrap_or_default();
    Ok(Reply::of(200, "text/plain", script.into()))
}

/// `POST /sim/job/{id}/log`: what the job printed, as it is.
pub(crate) fn log(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let Who::Worker(worker) = world.caller(call.request)? else { return Err(Refusal::FORBIDDEN) };
    building(world, &worker, id)?;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.log(&String::from_utf8_lossy(&call.request.body));
    }
    Ok(Reply::empty(204))
}
