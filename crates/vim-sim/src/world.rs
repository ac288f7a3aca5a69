//! The world: everything that a vCenter knows, and the one function that changes it.

mod digest;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng};
use rookery_sim::{Request, RequestId};

use crate::collect::Collectors;
use crate::event::Events;
use crate::files::Upload;
use crate::guests::Guests;
use crate::id::Id;
use crate::io::{self, Effect, Input, Output, Reply};
use crate::limits::Pace;
use crate::privileges::Authority;
use crate::rest::{RestSessions, Tags};
use crate::rules::Rules;
use crate::session::Sessions;
use crate::settings::Settings;
use crate::store::Store;
use crate::task::Tasks;
use crate::traffic::Traffic;
use crate::view::View;
use crate::{collect, control, files, guests, http, limits, rules, task};

/// A vCenter and all that it manages.
#[derive(Debug)]
pub struct World {
    pub(crate) settings: Settings,
    pub(crate) store: Store,
    pub(crate) root: Id,
    pub(crate) sessions: Sessions,
    pub(crate) rest_sessions: RestSessions,
    pub(crate) authority: Authority,
    pub(crate) tags: Tags,
    /// Whose request is being answered.
    pub(crate) caller: Option<u32>,
    /// Which VM a snapshot is of.
    pub(crate) snapshots: BTreeMap<Id, Id>,
    pub(crate) views: BTreeMap<Id, View>,
    pub(crate) collectors: Collectors,
    pub(crate) tasks: Tasks,
    pub(crate) events: Events,
    pub(crate) guests: Guests,
    pub(crate) rules: Rules,
    pub(crate) traffic: Traffic,
    /// Files that are being sent, by who sends them.
    pub(crate) uploads: BTreeMap<RequestId, Upload>,
    pub(crate) pace: Pace,
    /// Until then everything is answered with 503.
    pub(crate) up_at: Timestamp,
    /// When it is. Only a step changes it, and it never goes back.
    pub(crate) now: Timestamp,
    pub(crate) random: StdRng,
    timers: BinaryHeap<Reverse<(Timestamp, u64, Timer)>>,
    last_timer: u64,
    replies: Vec<(RequestId, Reply)>,
    effects: Vec<Effect>,
}

/// What is to happen at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A task goes on.
    Task(Id),
    /// Tasks that ended long ago are forgotten.
    ForgetTasks,
    /// A guest goes on, if it still is in that run.
    Guest(Id, u64, guests::Stage),
    /// An answer goes out.
    Reply(RequestId),
    /// A session may be over.
    Session(u32),
    /// A program ends, if the guest still is in that run.
    Program(Id, u64, i64),
    /// Nothing by itself: the step sees who has waited long enough.
    Wake,
}

impl World {
    /// An empty world: a root folder and nobody in it.
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        let mut store = Store::default();
        let root = store.add_folder(None, "Datacenters", &["Folder", "Datacenter"]);
        let random = StdRng::seed_from_u64(settings.seed);
        Self {
            settings,
            store,
            root,
            sessions: Sessions::default(),
            rest_sessions: RestSessions::default(),
            authority: Authority::new(),
            tags: Tags::default(),
            caller: None,
            snapshots: BTreeMap::new(),
            views: BTreeMap::new(),
            collectors: Collectors::default(),
            tasks: Tasks::default(),
            events: Events::default(),
            guests: Guests::default(),
            rules: Rules::default(),
            traffic: Traffic::default(),
            uploads: BTreeMap::new(),
            pace: Pace::default(),
            up_at: now,
            now,
            random,
            timers: BinaryHeap::new(),
            last_timer: 0,
            replies: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Takes one input at that time. For the same inputs at the same times the outputs are the same.
    pub fn step(&mut self, now: Timestamp, input: Input) -> Output {
        self.pass_until(now);
        match input {
            Input::Request(id, request) => self.request(id, &request, None),
            Input::Upload(id, request, upload) => self.request(id, &request, Some(upload)),
            Input::Control(id, control) => {
                let reply = control::handle(self, control);
                self.reply(id, reply);
            }
            Input::Content { request, size, whole } => files::received(self, request, size, whole),
            Input::Timer => {}
            Input::Gone(id) => {
                self.collectors.forget_request(id);
                self.traffic.gone(id);
                self.guests.forget_request(id);
                // What has arrived stays.
                self.uploads.remove(&id);
            }
            Input::Exited { process, code } => guests::exited(self, process, code),
            Input::File { request, result } => guests::file_done(self, request, result),
            Input::GuestPower { vm, what } => guests::asked_for_power(self, vm, what),
        }
        // What a request led to may be due at once.
        self.run_timers();
        collect::answer_waiting(self);
        self.forget_old_changes();
        Output {
            replies: std::mem::take(&mut self.replies),
            effects: std::mem::take(&mut self.effects),
            wake_at: self.next_wake(),
        }
    }

    /// Lets time pass. What is due happens at its own time and in order.
    pub(crate) fn pass_until(&mut self, now: Timestamp) {
        while let Some(at) = self.next_wake().filter(|at| *at < now) {
            self.now = self.now.max(at);
            self.run_timers();
            collect::answer_waiting(self);
        }
        self.now = self.now.max(now);
        self.run_timers();
    }

    fn next_wake(&self) -> Option<Timestamp> {
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        timer.into_iter().chain(self.collectors.next_deadline(&self.rules)).min()
    }

    /// Runs all timers that are due, and forgets all changes: no client has read anything yet.
    pub(crate) fn settle(&mut self) {
        self.run_timers();
        self.effects.clear();
        self.forget_old_changes();
    }

    fn request(&mut self, id: RequestId, request: &Request, upload: Option<io::Upload>) {
        if control::is_for(request) {
            let reply = control::serve(self, request);
            return self.reply(id, reply);
        }
        self.traffic.arrived(id, http::name(request), request.body.len());
        let reply = if self.now < self.up_at {
            Some(Reply::plain(503, "the service is starting"))
        } else {
            limits::pace(self, id).or_else(|| http::serve(self, id, request, upload))
        };
        if let Some(reply) = reply {
            // Refused content is not kept.
            let refused = upload.filter(|_| reply.status >= 300);
            self.effects.extend(refused.map(|upload| Effect::Discard(upload.content.blob)));
            self.reply(id, reply);
        }
    }

    fn run_timers(&mut self) {
        while let Some(Reverse((at, _, timer))) = self.timers.peek().copied()
            && at <= self.now
        {
            self.timers.pop();
            match timer {
                Timer::Task(id) => task::advance(self, id),
                Timer::ForgetTasks => task::forget_old(self),
                Timer::Guest(vm, run, stage) => guests::advance(self, vm, run, stage),
                Timer::Reply(id) => {
                    let due = self.traffic.due(id);
                    self.replies.extend(due.map(|reply| (id, reply)));
                }
                Timer::Session(session) => limits::review_session(self, session),
                Timer::Program(vm, run, pid) => guests::finish(self, vm, run, pid),
                Timer::Wake => {}
            }
        }
        rules::hold_back(self);
    }

    /// The entity at a path such as `DC0/vm/web`; the root at an empty one.
    pub(crate) fn at_path(&self, path: &str) -> Option<Id> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.try_fold(self.root, |at, part| self.store.child(at, part))
    }

    pub(crate) fn reply(&mut self, id: RequestId, reply: Reply) {
        match self.traffic.answer(id, reply) {
            Ok(reply) => self.replies.push((id, reply)),
            Err(delay) => self.after(delay, Timer::Reply(id)),
        }
    }

    /// Cuts the connections that wait for delayed answers.
    pub(crate) fn cut_delayed(&mut self) {
        for id in self.traffic.delayed() {
            self.traffic.gone(id);
            self.replies.push((id, io::cut()));
        }
    }

    /// Forgets some of what was to happen later.
    pub(crate) fn forget_timers(&mut self, which: impl Fn(Timer) -> bool) {
        self.timers.retain(|Reverse((_, _, timer))| !which(*timer));
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Makes something happen later; what is due at the same time happens in the order of these calls.
    pub(crate) fn at(&mut self, when: Timestamp, timer: Timer) {
        self.last_timer += 1;
        self.timers.push(Reverse((when, self.last_timer, timer)));
    }

    pub(crate) fn after(&mut self, delay: SignedDuration, timer: Timer) {
        self.at(self.now.saturating_add(delay).unwrap_or(self.now), timer);
    }

    pub(crate) fn uuid(&mut self) -> u128 {
        let random: u128 = self.random.random();
        // Version 4, variant 1.
        (random & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62)
    }

    fn forget_old_changes(&mut self) {
        let needed = self.collectors.oldest_revision().unwrap_or_else(|| self.store.log.revision());
        self.store.log.forget_before(needed);
    }
}

/// As vSphere writes UUIDs.
pub(crate) fn uuid_text(uuid: u128) -> String {
    let hex = format!("{uuid:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A UUID in any spelling that people use.
pub(crate) fn parse_uuid(text: &str) -> Option<u128> {
    let hex: String = text.chars().filter(|c| !matches!(c, '-' | ' ' | '{' | '}')).collect();
    (hex.len() == 32).then(|| u128::from_str_radix(&hex, 16).ok()).flatten()
}
