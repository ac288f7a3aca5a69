//! The world: everything that the API knows, and the one function that changes it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rookery_sim::{Request, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::auth::{Hatchery, Service, Session};
use crate::config::{Config, SHARED};
use crate::faults::Faults;
use crate::io::{self, Effect, Input, Notice, Output, Reply, SocketId};
use crate::job::{Job, NewJob, Protocol, Status};
use crate::load::Pending;
use crate::models::Row;
use crate::random::Random;
use crate::record::{Entry, Record};
use crate::sockets::Socket;
use crate::token::SigningKey;
use crate::workers::Worker;
use crate::{control, due, headers, load, route, sockets};

/// A CDS API and all that it knows.
#[derive(Debug)]
pub struct World {
    pub(crate) state: State,
    pub(crate) key: SigningKey,
    pub(crate) sockets: BTreeMap<SocketId, Socket>,
    /// Whether nothing is said on websockets, though they stay open.
    pub(crate) sockets_frozen: bool,
    pub(crate) faults: Faults,
    pub(crate) record: Record,
    /// Answers that a fault holds back.
    pub(crate) held: BTreeMap<(Timestamp, RequestId), Reply>,
    /// Calls that wait in the queue of a server with limited capacity.
    pub(crate) pending: BTreeMap<(Timestamp, RequestId), Pending>,
    /// When the last of them is done.
    pub(crate) free_at: Timestamp,
    /// When it is. Only a step changes it, and it never goes back.
    pub(crate) now: Timestamp,
    last_socket: u64,
    replies: Vec<(RequestId, Reply)>,
    effects: Vec<Effect>,
}

/// What a dump holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) config: Config,
    pub(crate) random: Random,
    last_number: i64,
    groups: BTreeMap<String, i64>,
    /// By the name of their consumer.
    pub(crate) services: BTreeMap<String, Service>,
    /// By their own name.
    pub(crate) hatcheries: BTreeMap<String, Hatchery>,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) models: Vec<Row>,
    pub(crate) jobs: BTreeMap<String, Job>,
    pub(crate) workers: BTreeMap<String, Worker>,
}

impl State {
    fn new(config: Config, now: Timestamp) -> Self {
        let mut state = Self {
            random: Random::new(config.seed),
            last_number: config.numbers_after,
            config,
            groups: BTreeMap::from([(SHARED.to_owned(), 1)]),
            services: BTreeMap::new(),
            hatcheries: BTreeMap::new(),
            sessions: BTreeMap::new(),
            models: Vec::new(),
            jobs: BTreeMap::new(),
            workers: BTreeMap::new(),
        };
        for model in std::mem::take(&mut state.config.models) {
            state.put_model(model, now);
        }
        state
    }

    /// The next number of anything that is numbered.
    pub(crate) fn number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    pub(crate) fn group(&mut self, name: &str) -> i64 {
        let next = i64::try_from(self.groups.len()).unwrap_or(i64::MAX).saturating_add(1);
        *self.groups.entry(name.to_owned()).or_insert(next)
    }

    pub(crate) fn group_id(&self, name: &str) -> i64 {
        self.groups.get(name).copied().unwrap_or_default()
    }

    /// Jobs of a protocol in the order in which they came to the queue.
    pub(crate) fn queue(&self, protocol: Protocol) -> Vec<&Job> {
        let mut jobs: Vec<_> = self.jobs.values().filter(|job| job.is_for(protocol)).collect();
        jobs.sort_by_key(|job| (job.queued, job.number));
        jobs
    }
}

impl World {
    /// A CDS in which nothing has happened yet, at that time.
    pub fn new(config: Config, key: SigningKey, now: Timestamp) -> Self {
        Self {
            record: Record::new(config.remembered_requests),
            faults: Faults::default(),
            state: State::new(config, now),
            key,
            sockets: BTreeMap::new(),
            sockets_frozen: false,
            held: BTreeMap::new(),
            pending: BTreeMap::new(),
            free_at: now,
            now,
            last_socket: 0,
            replies: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Something happens at some time. Whatever was due before happens first.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Output {
        due::pass_until(self, now);
        match input {
            Input::Request(id, request) => self.serve(id, request),
            Input::Control(id, control) => {
                let reply = control::handle(self, control);
                self.replies.push((id, reply));
            }
            Input::Text(socket, text) => sockets::receive(self, socket, &text),
            Input::Gone(socket) => {
                self.sockets.remove(&socket);
            }
            Input::Timer => {}
        }
        Output {
            replies: std::mem::take(&mut self.replies),
            effects: std::mem::take(&mut self.effects),
            wake_at: due::next(self),
        }
    }

    fn serve(&mut self, id: RequestId, request: Request) {
        if control::http::is_for(&request) {
            let reply = control::http::serve(self, &request);
            self.replies.push((id, reply));
            return;
        }
        match self.state.config.capacity {
            // A websocket costs the server nothing worth mentioning.
            Some(capacity) if !request.path.ends_with("/ws") => load::enqueue(self, capacity, id, request),
            Some(_) | None => self.answer(id, &request),
        }
    }

    pub(crate) fn answer(&mut self, id: RequestId, request: &Request) {
        let request_id = match request.header("request-id") {
            Some(given) if crate::random::is_uuid(given) => given.to_owned(),
            _ => self.state.random.uuid(),
        };
        let fault = self.faults.apply(request, &mut self.state.random);
        let mut entry = Entry::new(self.now, request, self.who(request));
        let instead = fault.as_ref().and_then(|fault| fault.instead(&request_id));
        let answered = instead.or_else(|| route::answer(self, request, &request_id));
        let delay = fault.as_ref().and_then(crate::faults::Trouble::delay);
        let mut reply = match answered {
            Some(reply) => headers::add(reply, request, self.now, &request_id, delay.unwrap_or_default()),
            None => headers::without_route(request, self.now),
        };
        entry.status = reply.status;
        if fault.as_ref().is_some_and(crate::faults::Trouble::loses_the_reply) {
            reply = io::cut();
        }
        entry.cut = reply.body == crate::io::Body::Cut;
        self.record.add(entry);
        if self.state.config.close_connections && !matches!(reply.body, crate::io::Body::Socket(_)) {
            reply = reply.with("connection", "close".to_owned());
        }
        match delay {
            Some(delay) => {
                let at = self.now.saturating_add(delay).unwrap_or(self.now);
                self.held.insert((at, id), reply);
            }
            None => self.replies.push((id, reply)),
        }
    }

    pub(crate) fn reply(&mut self, id: RequestId, reply: Reply) {
        self.replies.push((id, reply));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn next_socket(&mut self) -> SocketId {
        self.last_socket += 1;
        SocketId(self.last_socket)
    }

    pub(crate) fn after(&self, seconds: i64) -> Timestamp {
        later(self.now, seconds)
    }

    /// Adds a job to the queue and publishes it on websockets.
    pub(crate) fn enqueue(&mut self, asked: NewJob) -> String {
        let number = self.state.number();
        let v2 = asked.protocol == Protocol::V2;
        let id = if v2 { self.state.random.uuid() } else { number.to_string() };
        let run_id = self.state.random.uuid();
        let model = asked.model.as_deref().and_then(|path| self.code_model(path)).cloned();
        let named = asked.model_type.map(|kind| kind.as_str().to_owned());
        let of_model = model.as_ref().map(|model| model.model_type.as_str().to_owned());
        for group in &asked.exec_groups {
            self.state.group(group);
        }
        let job = Job {
            id: id.clone(),
            number,
            run_id,
            model_type: named.or(of_model).unwrap_or_default(),
            model_osarch: model.map(|model| model.osarch).unwrap_or_default(),
            asked,
            status: Status::Waiting,
            history: vec![(self.now, Status::Waiting)],
            queued: self.now,
            scheduled: None,
            started: None,
            booking: None,
            attempts: Vec::new(),
            hatchery: String::new(),
            worker_id: String::new(),
            worker_name: String::new(),
            workers: Vec::new(),
            retry: 0,
            releases: 0,
            infos: Vec::new(),
            steps: Vec::new(),
            logs: String::new(),
            result: None,
        };
        self.state.jobs.insert(id.clone(), job);
        self.tell_job(&id, Status::Waiting);
        sockets::publish(self, &id);
        id
    }

    /// Moves a job on. Everything that changes a status comes through here.
    pub(crate) fn set_status(&mut self, id: &str, status: Status) {
        let now = self.now;
        let Some(job) = self.state.jobs.get_mut(id) else { return };
        job.status = status;
        job.history.push((now, status));
        match status {
            Status::Waiting => {
                job.queued = now;
                job.scheduled = None;
                job.started = None;
                job.worker_id.clear();
                job.worker_name.clear();
            }
            Status::Scheduling => job.scheduled = Some(now),
            Status::Building => job.started = Some(now),
            Status::Success | Status::Fail | Status::Stopped => {}
        }
        self.tell_job(id, status);
        if status == Status::Waiting {
            sockets::publish(self, id);
        }
    }

    /// The server ends a job by itself.
    pub(crate) fn end(&mut self, id: &str, status: Status, why: &str) {
        let now = self.now;
        if let Some(job) = self.state.jobs.get_mut(id) {
            job.say(now, "api", json!({ "level": "error", "message": why }));
            job.result = Some(json!({ "status": status, "error": why }));
        }
        self.set_status(id, status);
    }

    fn tell_job(&mut self, id: &str, status: Status) {
        self.effect(Effect::Notice(Notice::Job { id: id.to_owned(), status }));
    }

    pub(crate) fn tell_worker(&mut self, name: &str, status: Option<crate::workers::Status>) {
        self.effect(Effect::Notice(Notice::Worker { name: name.to_owned(), status }));
    }
}

pub(crate) fn later(at: Timestamp, seconds: i64) -> Timestamp {
    at.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(at)
}
