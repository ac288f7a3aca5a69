//! What workers show to get in.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::{Status, Worker, list_entry_v1, list_entry_v2};
use crate::auth::{Who, granted, may_run};
use crate::config::SHARED;
use crate::io::Reply;
use crate::job::{Protocol, Status as JobStatus};
use crate::refusal::{Answer, Refusal};
use crate::route::Call;
use crate::token;
use crate::world::World;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Form {
    binary_capabilities: Option<Vec<String>>,
    version: String,
    #[serde(rename = "OS")]
    os: String,
    arch: String,
}

impl Form {
    /// A worker that has just come, without what its hatchery says of it.
    fn worker(self, name: String, protocol: Protocol, now: Timestamp) -> Worker {
        Worker {
            id: String::new(),
            protocol,
            name,
            hatchery: String::new(),
            hatchery_id: String::new(),
            job: None,
            model_id: None,
            model_name: String::new(),
            status: Status::Waiting,
            last_beat: now,
            disabled_at: None,
            version: self.version,
            os: self.os,
            arch: self.arch,
            binaries: self.binary_capabilities.unwrap_or_default(),
        }
    }
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
    let of_id = |id: i64| {
        let model = world.state.models.iter().find(|row| row.id == id);
        model.ok_or_else(|| Refusal::UNAUTHORIZED.from(format!("there is no model {id}")))
    };
    let model = model_id.map(of_id).transpose()?;
    if let Some(model) = model {
        let own = consumer.groups.contains(&model.model.group);
        let usable = own || (!model.model.restricted && (model.model.group == SHARED || consumer.maintainer));
        if !usable {
            return Err(Refusal::UNAUTHORIZED.from("the model is not for the hatchery's groups"));
        }
        if claims.register_only && !consumer.group_admin {
            return Err(Refusal::UNAUTHORIZED.from("the hatchery may not register models of the group"));
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
        let ignores = consumer.service_ignore_job_with_no_region == Some(true);
        let region_fits = match (consumer.service_region.as_deref(), job.asked.region.as_deref()) {
            (None, _) => true,
            (Some(_), None) => !ignores,
            (Some(pin), Some(region)) => pin == region,
        };
        if !region_fits {
            return Err(Refusal::UNAUTHORIZED.from("the job is for another region"));
        }
    }
    let worker = Worker {
        hatchery: service.name.clone(),
        hatchery_id: service.id.to_string(),
        job,
        model_id,
        model_name: model.map(|model| model.model.name.clone()).unwrap_or_default(),
        ..form.worker(claims.name, Protocol::V1, world.now)
    };
    let (worker, session) = admit(world, worker)?;
    if let Some(id) = model_id {
        world.registered(id, &worker);
    }
    let mut answer = list_entry_v1(&worker);
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
        hatchery: claims.hatchery_name,
        hatchery_id,
        job: Some(id.to_owned()),
        model_name: claims.model_name,
        ..form.worker(claims.name, Protocol::V2, world.now)
    };
    let (worker, session) = admit(world, worker)?;
    Ok(Reply::json(200, &list_entry_v2(&worker)).with("x-cds-jwt", session))
}

/// Names are unique among the workers that are known, disabled ones included. In the first protocol a job has one
/// worker at a time, besides.
fn admit(world: &mut World, mut worker: Worker) -> Result<(Worker, String), Refusal> {
    let mut others = world.state.workers.values().filter(|other| other.protocol == worker.protocol);
    let is_in_the_way = |other: &&Worker| {
        let same_job = other.job.is_some() && other.job == worker.job && other.status != Status::Disabled;
        other.name == worker.name || (worker.protocol == Protocol::V1 && same_job)
    };
    if let Some(other) = others.find(is_in_the_way) {
        let why = format!("[{}] Registering failed: worker {} is there already", worker.name, other.name);
        return Err(Refusal::UNAUTHORIZED.from(why));
    }
    worker.id = world.state.random.uuid();
    world.state.workers.insert(worker.id.clone(), worker.clone());
    let seconds = world.state.config.times.worker_session;
    let session = world.open_session(Who::Worker(worker.id.clone()), &worker.name, seconds);
    world.tell_worker(&worker.name, Some(Status::Waiting));
    Ok((worker, session))
}
