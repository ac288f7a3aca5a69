//! Worker models: those of the first protocol, and those that live in repositories.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{CodeModel, Model, SHARED};
use crate::io::{self, Reply};
use crate::refusal::{Answer, Refusal};
use crate::render::{ZERO_TIME, time};
use crate::route::Call;
use crate::workers::Worker;
use crate::world::{State, World};

/// A model of the first protocol and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) model: Model,
    changed: Timestamp,
    registered: Option<Timestamp>,
    /// Who registers it, and until when nobody else may.
    booked: Option<(String, Timestamp)>,
    spawn_errors: i64,
    last_error: Option<SpawnError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SpawnError {
    at: Timestamp,
    text: String,
    logs: String,
}

impl State {
    /// Adds a model, or replaces the one of that group and name, which starts anew.
    pub(crate) fn put_model(&mut self, model: Model, now: Timestamp) -> i64 {
        self.group(&model.group);
        let same = |row: &&mut Row| row.model.group == model.group && row.model.name == model.name;
        let old = self.models.iter_mut().find(same).map(|row| row.id);
        let id = old.unwrap_or_else(|| self.number());
        self.models.retain(|row| row.id != id);
        let registered = (!model.need_registration).then_some(now);
        self.models.push(Row {
            id,
            model,
            changed: now,
            registered,
            booked: None,
            spawn_errors: 0,
            last_error: None,
        });
        self.models.sort_by(|a, b| a.model.name.cmp(&b.model.name));
        id
    }
}

impl World {
    fn row(&self, group: &str, name: &str) -> Result<&Row, Refusal> {
        let row = self.state.models.iter().find(|row| row.model.group == group && row.model.name == name);
        row.ok_or_else(|| Refusal::NO_MODEL.from(format!("there is no model {group}/{name}")))
    }

    fn row_mut(&mut self, id: i64) -> Option<&mut Row> {
        self.state.models.iter_mut().find(|row| row.id == id)
    }

    /// The model that a path means, `@branch` or `@refs/heads/branch` included.
    pub(crate) fn code_model(&self, path: &str) -> Option<&CodeModel> {
        let (path, branch) = path.split_once('@').map_or((path, None), |(path, branch)| (path, Some(branch)));
        self.code_model_on(path, branch)
    }

    fn code_model_on(&self, path: &str, branch: Option<&str>) -> Option<&CodeModel> {
        let branch = branch.map(|branch| branch.strip_prefix("refs/heads/").unwrap_or(branch));
        let mut models = self.state.config.code_models.iter().filter(|model| model.path == path);
        match branch {
            Some(branch) => models.find(|model| model.branch == branch),
            None => models.find(|model| model.default_branch),
        }
    }

    /// A worker has registered its model.
    pub(crate) fn registered(&mut self, model: i64, worker: &Worker) {
        let now = self.now;
        // Only a worker without a job came for that.
        let Some(row) = self.row_mut(model).filter(|_| worker.job.is_none()) else { return };
        row.model.need_registration = false;
        row.model.check_registration = false;
        row.model.binaries.clone_from(&worker.binaries);
        row.model.osarch = Some(format!("{}/{}", worker.os, worker.arch));
        row.registered = Some(now);
        row.booked = None;
        row.spawn_errors = 0;
        row.last_error = None;
    }
}

pub(crate) fn capability(id: i64, binary: &str) -> Value {
    json!({ "id": id, "action_id": 0, "name": binary, "type": "binary", "value": binary })
}

fn render(world: &World, row: &Row) -> Value {
    let model = &row.model;
    let group = world.state.group_id(&model.group);
    let (os, arch) = model.osarch.as_deref().and_then(|osarch| osarch.split_once('/')).unzip();
    let error = row.last_error.as_ref();
    let capabilities = model.binaries.iter().zip(1..).map(|(binary, id)| capability(id, binary));
    json!({
        "id": row.id, "name": model.name, "description": "", "type": model.model_type,
        "disabled": model.disabled, "restricted": model.restricted, "registered_os": os,
        "registered_arch": arch, "need_registration": model.need_registration,
        "last_registration": row.registered.map_or(ZERO_TIME.into(), time),
        "check_registration": model.check_registration, "user_last_modified": time(row.changed),
        "created_by": { "username": "somebody", "fullname": "Somebody", "email": "somebody@example.org" },
        "group_id": group, "nb_spawn_err": row.spawn_errors,
        "last_spawn_err": error.map(|error| &error.text),
        "last_spawn_err_log": error.map(|error| STANDARD.encode(&error.logs)),
        "date_last_spawn_err": error.map(|error| time(error.at)), "is_deprecated": model.deprecated,
        "model_virtual_machine": {
            "image": model.image, "flavor": model.flavor, "pre_cmd": model.pre_cmd, "cmd": model.cmd,
            "post_cmd": model.post_cmd, "user": model.user, "password": model.password,
        },
        "model_docker": {}, "group": { "id": group, "name": model.group },
        "registered_capabilities": capabilities.collect::<Value>(), "is_official": model.group == SHARED,
    })
}

/// `GET /worker/model/enabled`
pub(crate) fn enabled(world: &World, call: &Call<'_>) -> Answer {
    let (consumer, _) = world.v1_hatchery(call.request, "WorkerModel")?;
    let shared = consumer.groups.iter().any(|group| group == SHARED);
    let rows = world.state.models.iter().filter(|row| {
        let own = consumer.groups.contains(&row.model.group);
        !row.model.disabled && (own || (shared && !row.model.restricted))
    });
    Ok(Reply::json(200, &rows.map(|row| render(world, row)).collect::<Vec<_>>()))
}

/// `GET /worker/model/{group}/{name}`
pub(crate) fn one(world: &World, call: &Call<'_>, group: &str, name: &str) -> Answer {
    world.v1_hatchery(call.request, "WorkerModel")?;
    Ok(Reply::json(200, &render(world, world.row(group, name)?)))
}

/// `GET /worker/model/{group}/{name}/secret`
pub(crate) fn secrets(world: &World, call: &Call<'_>, group: &str, name: &str) -> Answer {
    world.v1_hatchery(call.request, "WorkerModel")?;
    let row = world.row(group, name)?;
    let secrets = row.model.secrets.iter().zip(1..).map(|((name, value), id)| {
        let id = format!("00000000-0000-4000-8000-{id:012}");
        json!({ "id": id, "created": time(row.changed), "worker_model_id": row.id, "name": name, "value": value })
    });
    Ok(Reply::json(200, &secrets.collect::<Vec<_>>()))
}

/// `PUT /worker/model/{group}/{name}/book`
pub(crate) fn book(world: &mut World, call: &Call<'_>, group: &str, name: &str) -> Answer {
    let hatchery = world.v1_hatchery(call.request, "WorkerModel")?.1.name.clone();
    let row = world.row(group, name)?;
    if let Some((by, _)) = row.booked.as_ref().filter(|(_, until)| *until > world.now) {
        return Err(Refusal::MODEL_BOOKED.from(format!("model {group}/{name} already booked by {by}")));
    }
    let (id, until) = (row.id, world.after(world.state.config.times.model_booking));
    if let Some(row) = world.row_mut(id) {
        row.booked = Some((hatchery, until));
    }
    Ok(io::empty(200))
}

#[derive(Deserialize)]
struct Report {
    #[serde(default, rename = "Error")]
    error: String,
    #[serde(default, rename = "Logs")]
    logs: Option<String>,
}

/// `PUT /worker/model/{group}/{name}/error`
pub(crate) fn error(world: &mut World, call: &Call<'_>, group: &str, name: &str) -> Answer {
    world.v1_hatchery(call.request, "WorkerModel")?;
    let report: Report = call.body()?;
    let logs = STANDARD.decode(report.logs.unwrap_or_default());
    let logs = logs.map_err(|_| Refusal::WRONG_REQUEST.from("Logs are base64"))?;
    let (id, at) = (world.row(group, name)?.id, world.now);
    let said_something = !report.error.is_empty() || !logs.is_empty();
    if let Some(row) = world.row_mut(id).filter(|_| said_something) {
        let logs = String::from_utf8_lossy(&logs).into_owned();
        row.spawn_errors += 1;
        row.last_error = Some(SpawnError { at, text: report.error, logs });
        row.booked = None;
    }
    Ok(Reply::json(200, &Value::Null))
}

/// `GET /v2/project/{project}/vcs/{vcs}/repository/{repository}/workermodel/{name}`
pub(crate) fn from_code(world: &World, call: &Call<'_>, path: &str) -> Answer {
    world.v2_hatchery(call.request)?;
    if call.one("branch").is_some() && call.one("tag").is_some() {
        return Err(Refusal::WRONG_REQUEST.from("a branch or a tag, not both"));
    }
    let model = world.code_model_on(path, call.one("ref").or_else(|| call.one("branch")));
    let model = model.ok_or_else(|| Refusal::NOT_FOUND.from(format!("there is no model {path}")))?;
    let clear = model.clear_spec.as_ref().filter(|_| call.one("withSecrets") == Some("true"));
    Ok(Reply::json(
        200,
        &json!({
            "name": model.name(), "osarch": model.osarch, "type": model.model_type,
            "spec": clear.unwrap_or(&model.spec),
        }),
    ))
}
