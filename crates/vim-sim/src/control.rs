//! The control API: inspection, rules, incidents, time, and export and import of the inventory.
//!
//! Over HTTP it is served under `/rookery/`, to clients on the same machine that show the token:
//!
//! | request | what |
//! |---|---|
//! | `GET /rookery/` | counts, sessions, tasks, rules, requests by method |
//! | `GET /rookery/rules`, `POST`, `DELETE /rookery/rules/ID`, `DELETE /rookery/rules` | rules |
//! | `POST /rookery/time` `{"advance": "5m"}` | lets time pass, and answers when all that was due has happened |
//! | `POST /rookery/deeds` | an incident |
//! | `PATCH /rookery/settings` | durations, limits, guests |
//! | `GET /rookery/check` | what is wrong with the world |
//! | `GET /rookery/world`, `PUT` | exports and imports the inventory |

mod dump;
mod http;
mod inspect;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::guests::{self, GuestPower};
use crate::id::Id;
use crate::incident::{self, Incident};
use crate::io::{Effect, Reply};
use crate::limits;
use crate::rules::Rule;
use crate::settings::{Durations, GuestTimes, Limits};
use crate::world::World;
pub use dump::LoadError;
pub(crate) use http::{is_for, serve};

/// What can be asked of the simulator. Every answer is JSON.
#[derive(Debug, Clone)]
pub enum Control {
    /// Counts, sessions, tasks, rules and requests.
    Inspect,
    Rules,
    /// Adds a rule: `{"id": …}`.
    AddRule(Rule),
    RemoveRule(u64),
    ClearRules,
    /// An incident, at once.
    Do(Incident),
    Advance(SignedDuration),
    Set(Box<Change>),
    /// A program that was announced ends. Not over HTTP: who plays programs runs in the same process.
    EndProgram {
        vm: Id,
        pid: i64,
        code: i32,
        /// What the end of the program does to the VM.
        then: Option<GuestPower>,
    },
    /// What is wrong with the world: `{"findings": […]}`, empty as long as the simulator works.
    Check,
    Dump,
    /// A number that stays the same for as long as nothing changes. Not over HTTP: who asks compares moments.
    Digest,
    /// How often anything in the inventory has changed, which is known at once. Not over HTTP, either.
    Revision,
    /// The name of the VM that runs under this reference; null if none does. Not over HTTP: a dump has more, and costs more.
    Running(Id),
    /// This inventory from now on. Sessions end, and what runs is dropped.
    Load(String),
}

/// Changed settings; what is none stays. Tasks that are queued keep their places.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Change {
    pub durations: Option<Durations>,
    pub limits: Option<Limits>,
    pub guests: Option<GuestTimes>,
}

pub(crate) fn handle(world: &mut World, control: Control) -> Reply {
    match control {
        Control::Inspect => Reply::json(200, &inspect::inspect(world)),
        Control::Rules => Reply::json(200, &world.rules.list()),
        Control::AddRule(rule) => match world.rules.add(rule) {
            Ok(id) => Reply::json(200, &json!({ "id": id })),
            Err(error) => Reply::error(400, &error.to_string()),
        },
        Control::RemoveRule(id) => {
            if world.rules.remove(id) {
                Reply::json(200, &json!({ "removed": id }))
            } else {
                Reply::error(404, "there is no such rule")
            }
        }
        Control::ClearRules => {
            world.rules.clear();
            Reply::json(200, &json!({}))
        }
        Control::Do(incident) => match incident::apply(world, &incident) {
            Ok(objects) => Reply::json(200, &json!({ "objects": objects })),
            Err(error) => Reply::error(404, &error.to_string()),
        },
        Control::Advance(by) => advance(world, by),
        Control::Set(change) => {
            set(world, *change);
            Reply::json(200, &json!({}))
        }
        Control::EndProgram { vm, pid, code, then } => {
            if guests::end(world, vm, pid, code, then) {
                Reply::json(200, &json!({}))
            } else {
                Reply::error(404, "there is no such program any more")
            }
        }
        Control::Check => {
            Reply::json(200, &json!({ "findings": world.check().err().into_iter().collect::<Vec<_>>() }))
        }
        Control::Dump => match dump::dump(world) {
            Ok(text) => Reply::new(200, "application/json", text),
            Err(error) => Reply::error(500, &error.to_string()),
        },
        Control::Digest => Reply::json(200, &json!({ "digest": world.digest() })),
        Control::Revision => Reply::json(200, &json!({ "revision": world.store.log.revision() })),
        Control::Running(id) => {
            let runs = world.store.vms.get(&id).is_some_and(crate::store::Vm::is_on);
            Reply::json(200, &json!({ "name": runs.then(|| world.store.name(id)) }))
        }
        Control::Load(text) => match dump::load(world, &text) {
            Ok(()) => Reply::json(200, &json!({ "vms": world.store.vms.len() })),
            Err(error) => Reply::error(400, &error.to_string()),
        },
    }
}

fn advance(world: &mut World, by: SignedDuration) -> Reply {
    let to = match rookery_sim::control::advanced(world.now, by) {
        Ok(to) => to,
        Err(reply) => return reply,
    };
    world.pass_until(to);
    world.effect(Effect::Advance(to));
    Reply::json(200, &json!({ "now": world.now.to_string() }))
}

fn set(world: &mut World, change: Change) {
    if let Some(durations) = change.durations {
        world.settings.durations = durations;
    }
    if let Some(guests) = change.guests {
        world.settings.guests = guests;
    }
    if let Some(limits) = change.limits {
        world.settings.limits = limits;
        limits::watch_sessions(world);
    }
}
