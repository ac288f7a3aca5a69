//! The queue of the first protocol.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::{Service, Who, may_read, may_run};
use crate::config::BuiltinConsumer;
use crate::io::{self, Reply};
use crate::job::{Attempt, Booking, Job, ModelType, Protocol, Status};
use crate::refusal::{Answer, Refusal};
use crate::render;
use crate::route::Call;
use crate::workers;
use crate::world::World;

/// What a hatchery may do with a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Run,
}

/// A job that a hatchery may see. One that ended is gone, and one that is gone is forbidden: the check of
/// permissions comes first and hides everything else.
fn job_for<'w>(
    world: &'w World,
    call: &Call<'_>,
    id: &str,
    access: Access,
) -> Result<(&'w BuiltinConsumer, &'w Service, &'w Job), Refusal> {
    let (consumer, service) = world.v1_hatchery(call.request, "RunExecution")?;
    let job = open_job(world, id)?;
    let allowed = match access {
        Access::Read => may_read(consumer, &job.asked.exec_groups),
        Access::Run => may_run(consumer, &job.asked.exec_groups),
    };
    if allowed {
        Ok((consumer, service, job))
    } else {
        Err(Refusal::FORBIDDEN.from("not in the job's exec groups"))
    }
}

fn open_job<'w>(world: &'w World, id: &str) -> Result<&'w Job, Refusal> {
    let job = world.state.jobs.get(id).filter(|job| job.is_for(Protocol::V1) && !job.status.is_final());
    job.ok_or_else(|| Refusal::FORBIDDEN.from(format!("there is no job {id}")))
}

/// `GET /queue/workflows`
pub(crate) fn list(world: &World, call: &Call<'_>) -> Answer {
    let (consumer, _) = world.v1_hatchery(call.request, "RunExecution")?;
    let jobs = matching(world, call, consumer)?;
    let limit = call.request.header("x-cds-limit").and_then(|limit| limit.parse().ok()).unwrap_or(usize::MAX);
    Ok(Reply::json(
        200,
        &jobs.into_iter().take(limit).map(|job| render::job_v1(world, job)).collect::<Vec<_>>(),
    ))
}

/// `GET /queue/workflows/count`: the count really is called version, and no model type is the empty one.
pub(crate) fn count(world: &World, call: &Call<'_>) -> Answer {
    let (consumer, _) = world.v1_hatchery(call.request, "RunExecution")?;
    let mut jobs = matching(world, call, consumer)?;
    if call.one("modelType").is_none() {
        jobs.retain(|job| job.model_type.is_empty());
    }
    let count = jobs.len();
    let now = render::time(world.now);
    Ok(Reply::json(200, &json!({ "version": count, "since": render::ZERO_TIME, "until": now })))
}

fn matching<'w>(
    world: &'w World,
    call: &Call<'_>,
    consumer: &BuiltinConsumer,
) -> Result<Vec<&'w Job>, Refusal> {
    let model_type = call.one("modelType");
    if model_type.is_some_and(|wanted| ModelType::read(wanted).is_none()) {
        return Err(Refusal::WRONG_REQUEST.from("invalid given model type"));
    }
    let regions: Vec<_> = call.all("region").collect();
    let mut statuses = Vec::new();
    for wanted in call.all("status") {
        let status =
            Status::read(wanted).ok_or_else(|| Refusal::WRONG_REQUEST.from("invalid given status"))?;
        statuses.push(status);
    }
    if statuses.is_empty() {
        statuses.push(Status::Waiting);
    }
    let bound = |header| {
        let text = call.request.header(header)?;
        jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp())
    };
    let (since, until) = (bound("if-modified-since"), bound("x-cds-until"));
    let wanted = |job: &&Job| {
        since.is_none_or(|since| job.queued >= since)
            && until.is_none_or(|until| job.queued <= until)
            && statuses.contains(&job.status)
            && job.booked(world.now).is_none()
            && model_type.is_none_or(|wanted| job.model_type.is_empty() || job.model_type == wanted)
            && (regions.is_empty() || regions.contains(&job.asked.region.as_deref().unwrap_or_default()))
            && may_run(consumer, &job.asked.exec_groups)
    };
    Ok(world.state.queue(Protocol::V1).into_iter().filter(wanted).collect())
}

/// `GET /queue/workflows/{id}/infos`, also by the job's worker: so it hears that somebody ended it.
pub(crate) fn infos(world: &World, call: &Call<'_>, id: &str) -> Answer {
    let job = match world.caller(call.request)? {
        Who::Worker(worker) => {
            workers::of_job(world, &worker, id)?;
            open_job(world, id)?
        }
        Who::Builtin(_) | Who::Hatchery(_) => job_for(world, call, id, Access::Read)?.2,
    };
    Ok(Reply::json(200, &render::job_v1(world, job)))
}

#[derive(Deserialize)]
struct Book {
    #[serde(default)]
    delay: i64,
}

/// `POST /queue/workflows/{id}/book`
///
/// A booking is an entry in a cache beside the job: nobody looks at the job's status, and whoever has the job booked
/// already is told so once more, which does not make it last longer.
pub(crate) fn book(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let body: Option<Book> = call.body()?;
    let (_, service, job) = job_for(world, call, id, Access::Run)?;
    let (hatchery, number) = (service.name.clone(), service.id);
    let booked = job.booked(world.now);
    if let Some(booking) = booked.filter(|booking| booking.service != number) {
        let why = format!("job {id} already booked by {} ({})", booking.hatchery, booking.service);
        return Err(Refusal::ALREADY_BOOKED.from(why));
    }
    let delay = body.map(|body| body.delay).filter(|delay| *delay > 0);
    let until = world.after(delay.unwrap_or(world.state.config.times.booking));
    let (at, until) = (world.now, booked.map_or(until, |booking| booking.until));
    let answer = json!({
        "project_key": job.asked.project, "workflow_name": job.asked.workflow, "workflow_id": 1,
        "run_id": job.number, "node_run_name": "root", "node_run_id": job.number, "job_name": job.asked.name,
    });
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.booking = Some(Booking { hatchery: hatchery.clone(), service: number, until });
        job.attempts.push(Attempt { at, hatchery });
    }
    Ok(Reply::json(200, &answer))
}

/// `DELETE /queue/workflows/{id}/book`: anybody may release what anybody booked.
pub(crate) fn release(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let (.., job) = job_for(world, call, id, Access::Run)?;
    if job.booked(world.now).is_none() {
        return Err(Refusal::NOT_BOOKED.from(format!("job {id} is not booked")));
    }
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.booking = None;
        job.releases += 1;
    }
    Ok(Reply::json(200, &Value::Null))
}

/// `POST /queue/workflows/{id}/spawn/infos`
pub(crate) fn spawn_infos(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let (_, service, _) = job_for(world, call, id, Access::Run)?;
    let (by, now) = (service.name.clone(), world.now);
    let said: Vec<Value> = call.body()?;
    if said.iter().any(|info| !info["message"]["id"].is_string()) {
        return Err(Refusal::WRONG_REQUEST.from("a spawn info has a message with an id"));
    }
    for info in &said {
        Refusal::of_times(info, &["api_time", "remote_time"])?;
    }
    if let Some(job) = world.state.jobs.get_mut(id) {
        for info in said {
            job.say(now, &by, info);
        }
    }
    Ok(io::empty(204))
}

/// `POST /queue/workflows/{id}/result`, by a worker or by a hatchery that gives up.
///
/// Which job it is stands in the body: one that cannot be found by that counts as locked.
pub(crate) fn result(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let (by, worker) = match world.caller(call.request)? {
        Who::Worker(worker) => {
            workers::building(world, &worker, id)?;
            open_job(world, id)?;
            (worker.clone(), Some(worker))
        }
        Who::Builtin(_) | Who::Hatchery(_) => {
            let (_, service, job) = job_for(world, call, id, Access::Run)?;
            if job.status != Status::Waiting {
                return Err(Refusal::FORBIDDEN.from(format!("job {id} is not waiting")));
            }
            (service.name.clone(), None)
        }
    };
    let told: Value = call.body()?;
    Refusal::of_times(&told, &["remoteTime"])?;
    if told["buildID"].as_i64().is_none_or(|build| build.to_string() != id) {
        return Err(Refusal::LOCKED.from(format!("cannot load node run job {}", told["buildID"])));
    }
    let status = told["status"].as_str().and_then(Status::read).filter(|status| status.is_final());
    let status = status.ok_or_else(|| Refusal::WRONG_REQUEST.from("a result has a final status"))?;
    let now = world.now;
    if let Some(job) = world.state.jobs.get_mut(id) {
        if let Some(reason) = told["reason"].as_str().filter(|reason| !reason.is_empty()) {
            job.say(now, &by, json!({ "message": reason }));
        }
        job.result = Some(told);
        job.booking = None;
    }
    world.set_status(id, status);
    if let Some(worker) = worker {
        workers::finish_v1(world, &worker);
    }
    Ok(io::empty(204))
}

/// `POST /queue/workflows/{id}/take`
pub(crate) fn worker_take(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let worker = workers::caller(world, call, Protocol::V1)?.clone();
    let job = open_job(world, id)?;
    if worker.job.as_deref() != Some(id) {
        return Err(Refusal::FORBIDDEN.from(format!("worker {} is not for job {id}", worker.name)));
    }
    if job.status != Status::Waiting || worker.status != workers::Status::Waiting {
        return Err(Refusal::ALREADY_TAKEN.from(format!("job {id} is {}", job.status)));
    }
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.hatchery.clone_from(&worker.hatchery);
        job.worker_id.clone_from(&worker.id);
        job.worker_name.clone_from(&worker.name);
        job.workers.push(worker.name.clone());
    }
    world.set_status(id, Status::Building);
    workers::set_status(world, &worker.id, workers::Status::Building);
    let job = open_job(world, id)?;
    let cdn = &world.state.config.cdn;
    let answer = json!({
        "NodeJobRun": render::job_v1(world, job), "AscodeActions": null, "Features": null,
        "CDNHttpAddr": cdn.http_url, "GelfServiceAddr": cdn.tcp_url,
        "GelfServiceAddrEnableTLS": cdn.tcp_url_enable_tls, "NodeRunName": "root", "Number": job.number,
        "ProjectKey": job.asked.project, "RunID": job.number, "Secrets": [{ "name": "cds.secret", "type": "password", "value": "" }],
        "SigningKey": SIGNING_KEY, "SubNumber": 0, "WorkflowID": 1, "WorkflowName": job.asked.workflow,
    });
    Ok(Reply::json(200, &answer))
}

/// What workers would sign their logs with; nobody checks those here.
pub(crate) const SIGNING_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// `GET /project/{key}/workflows/{name}/runs/{number}`: what a worker looks at of its run.
pub(crate) fn run(world: &World, call: &Call<'_>, project: &str, workflow: &str, number: &str) -> Answer {
    world.caller(call.request)?;
    let job = world.state.jobs.get(number).filter(|job| {
        job.is_for(Protocol::V1) && job.asked.project == project && job.asked.workflow == workflow
    });
    let job = job.ok_or(Refusal::NOT_FOUND)?;
    let mut run: Value = serde_json::from_str(RUN).unwrap_or_default();
    for key in ["id", "num"] {
        run[key] = job.number.into();
    }
    run["status"] = json!(job.status);
    run["header"] = render::header_v1(job);
    run["workflow"]["name"] = workflow.into();
    Ok(Reply::json(200, &run))
}

/// A run as it looks to its worker. Nothing but its number, status and workflow is of any use.
const RUN: &str = include_str!("queue_v1/run.json");
