//! The queue of the second protocol.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::{Who, granted};
use crate::io::{self, Reply};
use crate::job::{Attempt, Job, Protocol, Status};
use crate::refusal::{Answer, Refusal};
use crate::route::Call;
use crate::world::World;
use crate::{render, workers};

/// What is offered if nobody says what they can run.
pub(crate) const USUAL_OSARCH: &str = "linux/amd64";

fn job<'w>(world: &'w World, id: &str) -> Result<&'w Job, Refusal> {
    let job = world.state.jobs.get(id).filter(|job| job.is_for(Protocol::V2));
    job.ok_or_else(|| Refusal::NOT_FOUND.from(format!("there is no job {id}")))
}

fn is_in(job: &Job, region: &str) -> bool {
    job.asked.region.as_deref() == Some(region)
}

/// `GET /v2/queue/{region}`
pub(crate) fn list(world: &World, call: &Call<'_>, region: &str) -> Answer {
    let name = &world.v2_hatchery_in(call.request, region)?.name;
    let hatchery = world.state.hatcheries.get(name).ok_or(Refusal::NOT_FOUND)?;
    let mut osarchs: Vec<_> = call.all("osarch").collect();
    if osarchs.is_empty() {
        osarchs.push(USUAL_OSARCH);
    }
    let offered = world.state.queue(Protocol::V2).into_iter().filter(|job| {
        job.status == Status::Waiting && is_in(job, region) && suits(job, &hatchery.model_type, &osarchs)
    });
    Ok(Reply::json(200, &offered.map(render::job_v2).collect::<Vec<_>>()))
}

/// Whether a hatchery for such models can run a job.
pub(crate) fn suits(job: &Job, model_type: &str, osarchs: &[impl AsRef<str>]) -> bool {
    job.model_type == model_type
        && (job.model_osarch.is_empty() || osarchs.iter().any(|osarch| osarch.as_ref() == job.model_osarch))
}

/// `GET /v2/queue/{region}/job/{id}`, also by the job's worker: so it hears that somebody ended it.
pub(crate) fn detail(world: &World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    author(world, call, region, id)?;
    let job = job(world, id)?;
    if !is_in(job, region) {
        return Err(Refusal::FORBIDDEN.from(format!("job {id} is not in region {region}")));
    }
    let model = job.asked.model.as_deref().and_then(|path| world.code_model(path));
    let model = model.map_or(json!({ "name": "", "osarch": "", "type": "", "spec": null }), |model| {
        json!({
            "name": model.name(), "osarch": model.osarch, "type": model.model_type,
            "spec": model.clear_spec.as_ref().unwrap_or(&model.spec),
        })
    });
    Ok(Reply::json(200, &json!({ "runjob": render::job_v2(job), "model": model })))
}

/// `POST /v2/queue/{region}/job/{id}/hatchery/take`
pub(crate) fn take(world: &mut World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    let hatchery = world.v2_hatchery_in(call.request, region)?.name.clone();
    let found = job(world, id)?;
    if !is_in(found, region) {
        return Err(Refusal::INVALID_DATA.from(format!("job {id} is not in region {region}")));
    }
    match found.status {
        Status::Waiting => {}
        Status::Scheduling | Status::Building => {
            return Err(Refusal::NOT_FOUND.from(format!("job {id} is {}", found.status)));
        }
        Status::Success | Status::Fail | Status::Stopped => {
            return Err(Refusal::WRONG_REQUEST.from(format!("job {id} is terminated")));
        }
    }
    let at = world.now;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.hatchery.clone_from(&hatchery);
        job.attempts.push(Attempt { at, hatchery });
    }
    world.set_status(id, Status::Scheduling);
    Ok(Reply::json(200, &render::job_v2(job(world, id)?)))
}

/// `DELETE /v2/queue/{region}/job/{id}/hatchery/take`
///
/// Whatever its status is, a finished one included: the hatchery stays noted and nobody looks at more.
pub(crate) fn release(world: &mut World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    let hatchery = world.v2_hatchery_in(call.request, region)?.name.clone();
    let found = job(world, id)?;
    if !is_in(found, region) || found.hatchery != hatchery {
        return Err(Refusal::INVALID_DATA.from(format!("job {id} is not held by {hatchery} in {region}")));
    }
    let (now, most) = (world.now, world.state.config.releases_before_failure);
    let Some(job) = world.state.jobs.get_mut(id) else { return Err(Refusal::NOT_FOUND) };
    job.releases += 1;
    job.hatchery.clear();
    job.say(now, "api", json!({ "level": "warning", "message": format!("released by {hatchery}") }));
    if job.releases >= most {
        world.end(id, Status::Fail, "the job could not be scheduled: it was released too often");
    } else {
        job.result = None;
        world.set_status(id, Status::Waiting);
    }
    Ok(io::empty(204))
}

#[derive(Deserialize)]
struct Said {
    level: String,
    message: String,
}

/// `POST /v2/queue/{region}/job/{id}/info`
pub(crate) fn info(world: &mut World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    let by = author(world, call, region, id)?;
    job(world, id)?;
    let said: Value = call.body()?;
    Refusal::of_times(&said, &["time"])?;
    let said = Said::deserialize(said).map_err(|error| Refusal::WRONG_REQUEST.from(error.to_string()))?;
    if !matches!(said.level.as_str(), "info" | "warning" | "error") {
        return Err(Refusal::WRONG_REQUEST.from(format!("there is no level {}", said.level)));
    }
    let now = world.now;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.say(now, &by, json!({ "level": said.level, "message": said.message }));
    }
    Ok(io::empty(204))
}

/// Who speaks about a job: a hatchery of its region, or its worker.
fn author(world: &World, call: &Call<'_>, region: &str, id: &str) -> Result<String, Refusal> {
    match world.caller(call.request)? {
        Who::Worker(worker) => {
            workers::of_job(world, &worker, id)?;
            Ok(worker)
        }
        Who::Hatchery(name) => {
            let hatchery = world.hatchery_consumer(&name).ok_or(Refusal::UNAUTHORIZED)?;
            granted(hatchery, region)?;
            Ok(name)
        }
        Who::Builtin(_) => Err(Refusal::FORBIDDEN),
    }
}

/// `POST /v2/queue/{region}/job/{id}/result`
pub(crate) fn result(world: &mut World, call: &Call<'_>, region: &str, id: &str) -> Answer {
    let by = author(world, call, region, id)?;
    let told: Value = call.body()?;
    Refusal::of_times(&told, &["time"])?;
    let found = job(world, id)?;
    if !is_in(found, region) {
        return Err(Refusal::INVALID_DATA.from(format!("job {id} is not in region {region}")));
    }
    if found.status.is_final() {
        return Err(Refusal::WRONG_REQUEST.from(format!("job {id} is already {}", found.status)));
    }
    if world.state.workers.contains_key(&by) {
        workers::building(world, &by, id)?;
    } else if found.hatchery != by {
        return Err(Refusal::FORBIDDEN.from(format!("job {id} is not held by {by}")));
    }
    let status = told["status"].as_str().and_then(Status::read).filter(|status| status.is_final());
    let status = status.ok_or_else(|| Refusal::WRONG_REQUEST.from("a result has a final status"))?;
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.result = Some(told);
    }
    world.set_status(id, status);
    Ok(io::empty(204))
}

/// `POST /v2/queue/{region}/job/{id}/worker/take`
pub(crate) fn worker_take(world: &mut World, call: &Call<'_>, id: &str) -> Answer {
    let worker = workers::caller(world, call, Protocol::V2)?.clone();
    workers::of_job(world, &worker.id, id)?;
    let found = job(world, id)?;
    if worker.status != workers::Status::Waiting || found.status != Status::Scheduling {
        return Err(
            Refusal::FORBIDDEN.from(format!("unable to take the job {id}, which is {}", found.status))
        );
    }
    if let Some(job) = world.state.jobs.get_mut(id) {
        job.worker_id.clone_from(&worker.id);
        job.worker_name.clone_from(&worker.name);
        job.workers.push(worker.name.clone());
    }
    world.set_status(id, Status::Building);
    workers::set_status(world, &worker.id, workers::Status::Building);
    let job = job(world, id)?;
    let asked = &job.asked;
    let answer = json!({
        "run_job": render::job_v2(job), "actions": {}, "sensitive_datas": [], "signing_key": crate::queue_v1::SIGNING_KEY,
        "contexts": {
            "cds": {
                "event_name": "manual", "job": asked.name, "project_key": asked.project, "run_attempt": 1,
                "run_id": job.run_id, "run_number": job.number, "run_url": "", "triggering_actor": "somebody",
                "version": "0.1.0", "workflow": asked.workflow, "workflow_ref": "refs/heads/main",
                "workflow_repository": "org/repo", "workflow_sha": "", "workflow_vcs_server": "vcs",
            },
            "gate": null, "git": git(), "integrations": { "artifact_manager": {}, "deployment": {} },
            "jobs": {}, "matrix": null, "needs": {}, "steps": null, "vars": {},
        },
    });
    Ok(Reply::json(200, &answer))
}

/// The repository of a run, in which nothing is really.
fn git() -> Value {
    json!({
        "author": "somebody", "author_email": "somebody@example.org", "changesets": [], "commit_message": "",
        "commit_web_url": "", "connection": "https", "ref": "refs/heads/main", "ref_name": "main",
        "ref_type": "branch", "ref_web_url": "", "repository": "org/repo", "repositoryUrl": "",
        "repository_origin": "org/repo", "repository_web_url": "", "semver_current": "0.1.0",
        "server": "vcs", "server_type": "gitea", "server_url": "", "sha": "", "sha_short": "", "token": "",
        "username": "somebody",
    })
}
