//! The control API: jobs, models, faults, time, and export and import of the world.
//!
//! Over HTTP it is served under `/control/`, to clients on the same machine that show the token:
//!
//! | request | what |
//! |---|---|
//! | `GET /control/jobs`, `GET /control/jobs/ID`, `POST /control/jobs` | jobs with all that happened; a new one |
//! | `POST /control/jobs/ID/stop` | somebody stops a job |
//! | `GET /control/workers`, `GET /control/requests`, `DELETE /control/requests` | who is there, what was asked |
//! | `PUT /control/models`, `PUT /control/code-models` | adds or replaces a model |
//! | `PUT /control/builtin`, `PUT /control/hatcheries` | adds or replaces a consumer |
//! | `POST /control/faults`, `DELETE /control/faults` | faults |
//! | `PUT /control/capacity` `{"service-milliseconds": 250}`, `DELETE /control/capacity` | limits the capacity |
//! | `POST /control/time` `{"advance-seconds": 90}` | lets time pass |
//! | `POST /control/sessions/expire`, `POST /control/restart` `{"keep-sessions": true}` | ends sessions, connections |
//! | `POST /control/sockets/drop`, `…/close`, `…/freeze`, `…/thaw` | websockets |
//! | `GET /control/check` | what is wrong with the world |
//! | `GET /control/world`, `PUT /control/world` | exports and imports everything |

pub(crate) mod http;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::{BuiltinConsumer, CodeModel, HatcheryConsumer, Model};
use crate::faults::Fault;
use crate::io::{self, Effect, Reply};
use crate::job::{NewJob, Status};
use crate::load::Capacity;
use crate::world::World;
use crate::{due, load, sockets};

/// What can be asked of the simulator. Every answer is JSON.
#[derive(Debug, Clone)]
pub enum Control {
    /// A new job: `{"id": …}`.
    Enqueue(Box<NewJob>),
    /// All jobs with their histories, oldest first.
    Jobs,
    /// One job with its history.
    Job(String),
    /// Somebody stops a job, as people do in the web interface.
    Stop(String),
    Workers,
    /// The requests that came, oldest first.
    Requests,
    /// Forgets the requests that came.
    ForgetRequests,
    /// Adds or replaces a model of the first protocol, by group and name: `{"id": …}`.
    PutModel(Box<Model>),
    /// Adds or replaces a model that lives in a repository, by path and branch.
    PutCodeModel(Box<CodeModel>),
    /// Adds or replaces a consumer of the first protocol, by name.
    PutBuiltin(Box<BuiltinConsumer>),
    /// Adds or replaces a hatchery of the second protocol, by name.
    PutHatchery(HatcheryConsumer),
    /// Injects a fault into some calls.
    AddFault(Fault),
    /// Changes the capacity of the server; none means that it is unlimited.
    SetCapacity(Option<Capacity>),
    /// Removes all faults; how many calls met one: `{"met": …}`.
    ClearFaults,
    Advance(SignedDuration),
    /// All sessions end, those of workers included.
    ExpireSessions,
    /// The server starts again: all connections end, and perhaps all sessions.
    Restart {
        /// Whether sessions go on.
        keep_sessions: bool,
    },
    /// All websockets end.
    DropSockets {
        /// Whether the other side is told.
        politely: bool,
    },
    /// Nothing is said on websockets any more, or again.
    FreezeSockets(bool),
    /// What is wrong with the world: `{"findings": […]}`, empty as long as the simulator works.
    Check,
    Dump,
    /// This world from now on. Connections end.
    Load(Value),
}

pub(crate) fn handle(world: &mut World, control: Control) -> Reply {
    match control {
        Control::Enqueue(job) => return Reply::json(200, &json!({ "id": world.enqueue(*job) })),
        Control::Jobs => {
            let mut jobs: Vec<_> = world.state.jobs.values().collect();
            jobs.sort_by_key(|job| job.number);
            return Reply::json(200, &jobs);
        }
        Control::Job(id) => {
            let job = world.state.jobs.get(&id).map(|job| Reply::json(200, job));
            return job.unwrap_or_else(|| Reply::error(404, "there is no such job"));
        }
        Control::Stop(id) => match world.state.jobs.get(&id).map(|job| job.status.is_final()) {
            None => return Reply::error(404, "there is no such job"),
            Some(true) => return Reply::error(409, "the job is over"),
            Some(false) => world.end(&id, Status::Stopped, "somebody stopped the job"),
        },
        Control::Workers => return Reply::json(200, &world.state.workers.values().collect::<Vec<_>>()),
        Control::Requests => return Reply::json(200, &world.record.entries().collect::<Vec<_>>()),
        Control::ForgetRequests => world.record.clear(),
        Control::PutModel(model) => {
            return Reply::json(200, &json!({ "id": world.state.put_model(*model, world.now) }));
        }
        Control::PutCodeModel(model) => {
            let models = &mut world.state.config.code_models;
            models.retain(|old| old.path != model.path || old.branch != model.branch);
            models.push(*model);
        }
        Control::PutBuiltin(consumer) => {
            let consumers = &mut world.state.config.builtin;
            consumers.retain(|old| old.name != consumer.name);
            consumers.push(*consumer);
        }
        Control::PutHatchery(consumer) => {
            let consumers = &mut world.state.config.hatcheries;
            consumers.retain(|old| old.name != consumer.name);
            consumers.push(consumer);
        }
        Control::AddFault(fault) => world.faults.add(fault),
        Control::SetCapacity(capacity) => world.state.config.capacity = capacity,
        Control::ClearFaults => return Reply::json(200, &json!({ "met": world.faults.clear() })),
        Control::Advance(by) => return advance(world, by),
        Control::ExpireSessions => world.state.sessions.clear(),
        Control::Restart { keep_sessions } => {
            if !keep_sessions {
                world.state.sessions.clear();
            }
            cut(world);
        }
        Control::DropSockets { politely } => sockets::close_all(world, politely),
        Control::FreezeSockets(frozen) => world.sockets_frozen = frozen,
        Control::Check => return Reply::json(200, &json!({ "findings": world.check() })),
        Control::Dump => return Reply::json(200, &world.state),
        Control::Load(dump) => match serde_json::from_value(dump) {
            Ok(state) => {
                world.state = state;
                cut(world);
            }
            Err(error) => return Reply::error(400, &error.to_string()),
        },
    }
    Reply::json(200, &json!({}))
}

fn advance(world: &mut World, by: SignedDuration) -> Reply {
    let to = match rookery_sim::control::advanced(world.now, by) {
        Ok(to) => to,
        Err(reply) => return reply,
    };
    due::pass_until(world, to);
    world.effect(Effect::Advance(to));
    Reply::json(200, &json!({ "now": to.to_string() }))
}

/// Ends all connections, including those that wait for a delayed answer.
fn cut(world: &mut World) {
    sockets::close_all(world, false);
    for (_, id) in std::mem::take(&mut world.held).into_keys() {
        world.reply(id, io::cut());
    }
    load::clear(world);
    world.effect(Effect::CutConnections);
}

/// How long time is to pass.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct AdvanceTime {
    advance_seconds: i64,
}

/// How the server starts again.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RestartOptions {
    #[serde(default)]
    keep_sessions: bool,
}
