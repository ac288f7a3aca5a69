//! What `GET /rookery/` answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::id::Kind;
use crate::rules::Active;
use crate::traffic::Counts;
use crate::world::World;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Inspection<'w> {
    now: String,
    seed: u64,
    objects: BTreeMap<&'static str, usize>,
    powered_on: usize,
    sessions: Vec<Session<'w>>,
    /// Waits for updates, of all sessions.
    waits: usize,
    tasks: BTreeMap<&'static str, usize>,
    /// By method, how many ran at a time at most.
    most_tasks_at_once: BTreeMap<&'static str, usize>,
    unfinished: Vec<Unfinished<'w>>,
    rules: &'w [Active],
    events: usize,
    requests: BTreeMap<String, Counts>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Session<'w> {
    user: &'w str,
    peer: &'w str,
    user_agent: &'w str,
    login_time: String,
    last_active: String,
    calls: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Unfinished<'w> {
    task: String,
    method: &'w str,
    entity: &'w str,
    state: &'static str,
    queued: String,
}

pub(super) fn inspect(world: &World) -> Inspection<'_> {
    let store = &world.store;
    let objects = Kind::ALL.iter().map(|kind| (kind.class(), store.entities_of(*kind).count()));
    let mut tasks = BTreeMap::new();
    for (_, task) in world.tasks.all() {
        *tasks.entry(task.state.as_str()).or_default() += 1;
    }
    let unfinished = world.tasks.all().filter(|(_, task)| !task.is_over()).map(|(id, task)| Unfinished {
        task: id.text(),
        method: task.name,
        entity: &task.entity_name,
        state: task.state.as_str(),
        queued: task.queued.to_string(),
    });
    let sessions = world.sessions.all().map(|session| Session {
        user: &session.user,
        peer: &session.peer,
        user_agent: &session.user_agent,
        login_time: session.login_time.to_string(),
        last_active: session.last_active.to_string(),
        calls: session.calls,
    });
    Inspection {
        now: world.now.to_string(),
        seed: world.settings.seed,
        objects: objects.filter(|(_, count)| *count > 0).collect(),
        powered_on: store.vms.values().filter(|vm| vm.is_on()).count(),
        sessions: sessions.collect(),
        waits: world.collectors.waiting(),
        tasks,
        most_tasks_at_once: world.tasks.most_at_once(),
        unfinished: unfinished.collect(),
        rules: world.rules.list(),
        events: world.events.newest_first().count(),
        requests: world.traffic.counts(),
    }
}
