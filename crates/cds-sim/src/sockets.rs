//! Websockets: who hears of which job.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::{Who, may_run};
use crate::config::SHARED;
use crate::io::{Body, Effect, Reply, SocketId};
use crate::job::{Job, Protocol};
use crate::queue_v2::{USUAL_OSARCH, suits};
use crate::refusal::Refusal;
use crate::render::{ZERO_TIME, time};
use crate::route::Call;
use crate::world::World;

/// A client that is told of jobs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Socket {
    /// The first protocol: by consumer, and what it wants to hear, which is nothing at first.
    V1 { consumer: String, filters: Vec<Filter> },
    /// The second protocol: decided when it connects.
    V2 { region: String, model_type: String, osarchs: Vec<String> },
}

/// Which events a websocket asked for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Filter {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    hatchery_type: String,
}

/// What can be listened to. Only the queue is of use to a hatchery.
const KINDS: [&str; 9] = [
    "queue",
    "global",
    "project",
    "application",
    "pipeline",
    "environment",
    "workflow",
    "ascode-event",
    "timeline",
];

/// `GET /ws`
pub(crate) fn open_v1(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let Who::Builtin(consumer) = world.caller(call.request)? else { return Err(Refusal::FORBIDDEN) };
    open(world, call, Socket::V1 { consumer, filters: Vec::new() })
}

/// `GET /v2/hatchery/ws`
pub(crate) fn open_v2(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let consumer = world.v2_hatchery(call.request)?;
    let region = consumer.region.clone().ok_or(Refusal::NOT_FOUND)?;
    let row = world.state.hatcheries.get(&consumer.name).ok_or(Refusal::NOT_FOUND)?;
    // Only the top level counts.
    let osarchs = match &row.config["osArch"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(all) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let osarchs = if osarchs.is_empty() { vec![USUAL_OSARCH.to_owned()] } else { osarchs };
    let model_type = row.model_type.clone();
    open(world, call, Socket::V2 { region, model_type, osarchs })
}

fn open(world: &mut World, call: &Call<'_>, socket: Socket) -> Result<Reply, Refusal> {
    if call.request.header("sec-websocket-key").is_none() {
        return Err(Refusal::WRONG_REQUEST.from("this is a websocket"));
    }
    let id = world.next_socket();
    world.sockets.insert(id, socket);
    Ok(Reply { status: 101, headers: Vec::new(), body: Body::Socket(id) })
}

/// A client says what it wants to hear from now on.
pub(crate) fn receive(world: &mut World, id: SocketId, text: &str) {
    let Some(Socket::V1 { filters, .. }) = world.sockets.get_mut(&id) else { return };
    match read(text) {
        Ok(wanted) => *filters = wanted,
        Err(why) => {
            let event = json!({
                "timestamp": ZERO_TIME, "hostname": "", "cdsname": "", "type_event": "", "payload": null,
                "attempt": 0, "event_integrations_id": null,
            });
            let refusal = json!({ "status": "KO", "error": why, "event": event }).to_string();
            world.effect(Effect::Send(id, refusal));
        }
    }
}

fn read(text: &str) -> Result<Vec<Filter>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("wrong request: {error}"))?;
    let all = if value.is_array() { value } else { json!([value]) };
    let all = Vec::<Filter>::deserialize(all).map_err(|error| format!("wrong request: {error}"))?;
    match all.iter().find(|filter| !KINDS.contains(&filter.kind.as_str())) {
        Some(unknown) => Err(format!("wrong request: invalid filter type {:?}", unknown.kind)),
        None => Ok(all),
    }
}

/// Publishes a waiting job on the websockets that asked for it.
pub(crate) fn publish(world: &mut World, job: &str) {
    let Some(job) = world.state.jobs.get(job).filter(|_| !world.sockets_frozen) else { return };
    let event = match job.asked.protocol {
        Protocol::V1 => event_v1(world, job),
        Protocol::V2 => event_v2(job),
    }
    .to_string();
    let listeners = world.sockets.iter().filter(|(_, socket)| wants(world, socket, job));
    let listeners: Vec<_> = listeners.map(|(id, _)| *id).collect();
    for id in listeners {
        world.effect(Effect::Send(id, event.clone()));
    }
}

fn wants(world: &World, socket: &Socket, job: &Job) -> bool {
    match socket {
        Socket::V2 { region, model_type, osarchs } => {
            job.is_for(Protocol::V2)
                && job.asked.region.as_ref() == Some(region)
                && suits(job, model_type, osarchs)
        }
        Socket::V1 { consumer, filters } => {
            let filter = filters.iter().find(|filter| filter.kind == "queue");
            let (Some(filter), Some(owner)) = (filter, world.builtin(consumer)) else { return false };
            if !job.is_for(Protocol::V1) {
                return false;
            }
            if owner.maintainer && owner.groups.is_empty() {
                return true;
            }
            let Some(service) = world.state.services.get(consumer) else { return false };
            let type_fits = job.model_type.is_empty() || job.model_type == filter.hatchery_type;
            let region_fits = match &job.asked.region {
                Some(region) => service.region.as_ref() == Some(region),
                None => service.ignore_job_with_no_region != Some(true),
            };
            let shared_only = owner.groups == [SHARED];
            type_fits && region_fits && (shared_only || may_run(owner, &job.asked.exec_groups))
        }
    }
}

fn event_v1(world: &World, job: &Job) -> Value {
    let mut event = json!({
        "timestamp": time(world.now), "hostname": "api", "cdsname": "cds",
        "type_event": "sdk.EventRunWorkflowJob",
        "payload": { "id": job.number, "status": job.status, "start": 0, "done": 0 },
        "attempt": 0, "project_key": job.asked.project, "workflow_name": job.asked.workflow,
        "workflow_run_num": job.number, "status": job.status, "event_integrations_id": null,
    });
    if let Some(region) = &job.asked.region {
        event["region"] = region.as_str().into();
    }
    if !job.model_type.is_empty() {
        event["model_type"] = job.model_type.as_str().into();
    }
    json!({ "status": "OK", "error": "", "event": event })
}

fn event_v2(job: &Job) -> Value {
    json!({
        "job_run_id": job.id, "region": job.asked.region, "model_type": job.model_type,
        "model_osarch": job.model_osarch, "project_key": job.asked.project,
        "workflow_name": job.asked.workflow, "job_id": job.asked.name, "run_number": job.number,
    })
}

pub(crate) fn close_all(world: &mut World, politely: bool) {
    for socket in std::mem::take(&mut world.sockets).into_keys() {
        world.effect(Effect::Close { socket, politely });
    }
}
