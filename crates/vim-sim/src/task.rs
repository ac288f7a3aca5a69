//! Tasks: operations that take their time.

mod history;
mod queue;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use rookery_vim::objects::TaskFilterSpec;

use crate::history::Readers;
use crate::id::{Id, Kind};
use crate::machine::{self, Work};
use crate::refusal::Refusal;
use crate::rules::{PlannedFailure, Remains};
use crate::world::{Timer, World};
pub(crate) use history::{chain, matches};
use queue::Queue;

/// How long a task can be read after its end.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(10);
/// How many tasks that have ended are remembered at most: those who make thousands a second cannot read them all.
const MOST_REMEMBERED: usize = 10_000;
/// How many tasks that can no longer be read by themselves are in the history at most; then the oldest go.
const MOST_PAST: usize = 10_000;
/// How many tasks that have ended are listed as recent.
const RECENT: usize = 200;
/// Into how many parts the progress of a task is cut.
const PARTS: i32 = 4;

/// What shows that a task has ended.
const ENDED: [&str; 7] = [
    "info.state",
    "info.error",
    "info.result",
    "info.progress",
    "info.completeTime",
    "info.cancelled",
    "info.cancelable",
];

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    known: BTreeMap<Id, Task>,
    queue: Queue,
    /// Those that have ended, in that order, and when.
    ended: VecDeque<(Timestamp, Id)>,
    /// By name: how many run, and how many ran at most.
    running: BTreeMap<&'static str, (usize, usize)>,
    /// What they are about, and which.
    by_entity: BTreeSet<(Id, Id)>,
    /// Those that only the history knows, in the order in which they were forgotten.
    past: VecDeque<Id>,
    pub(crate) collectors: Readers<TaskFilterSpec>,
}

#[derive(Debug)]
pub(crate) struct Task {
    /// Such as `VirtualMachine.powerOn`.
    pub(crate) description: &'static str,
    /// Such as `PowerOnVM_Task`.
    pub(crate) name: &'static str,
    pub(crate) entity: Id,
    /// As it was called when the task was ordered.
    pub(crate) entity_name: String,
    /// Where that was when the task was ordered: all above it, and its host with all above that. Nearest first.
    within: Vec<Id>,
    pub(crate) user: String,
    pub(crate) state: State,
    pub(crate) queued: Timestamp,
    pub(crate) started: Option<Timestamp>,
    pub(crate) completed: Option<Timestamp>,
    pub(crate) progress: Option<i32>,
    pub(crate) cancelled: bool,
    work: Option<Work>,
    duration: SignedDuration,
    part: i32,
    /// The failure that a rule has planned.
    planned_failure: Option<PlannedFailure>,
    /// Where it can still be read.
    visibility: Visibility,
}

/// Where a task can still be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visibility {
    /// As an object and in the history.
    Object,
    /// Only tasks of the history.
    History,
    /// Nobody, because the vCenter has restarted since.
    Lost,
}

#[derive(Debug)]
pub(crate) enum State {
    Queued,
    Running,
    Success(Done),
    Error(Refusal),
}

/// What a task leaves.
#[derive(Debug, Clone)]
pub(crate) enum Done {
    Nothing,
    Object(Id),
    /// XML of a value, as an element `result` with its type stated.
    Value(String),
}

impl State {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Success(_) => "success",
            Self::Error(_) => "error",
        }
    }
}

impl Task {
    /// What it is doing, unless it is done.
    pub(crate) fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, State::Success(_) | State::Error(_))
    }
}

impl Tasks {
    pub(crate) fn get(&self, id: Id) -> Option<&Task> {
        self.known.get(&id).filter(|task| task.visibility == Visibility::Object)
    }

    /// How many tasks of each name ran at a time, at most.
    pub(crate) fn most_at_once(&self) -> BTreeMap<&'static str, usize> {
        self.running.iter().map(|(name, (_, most))| (*name, *most)).collect()
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = (Id, &Task)> {
        self.of(|visibility| visibility == Visibility::Object)
    }

    pub(crate) fn oldest_first(&self) -> impl DoubleEndedIterator<Item = (Id, &Task)> {
        self.of(|visibility| visibility != Visibility::Lost)
    }

    fn of(&self, which: impl Fn(Visibility) -> bool) -> impl DoubleEndedIterator<Item = (Id, &Task)> {
        self.known.iter().filter(move |(_, task)| which(task.visibility)).map(|(id, task)| (*id, task))
    }

    /// Those about an entity, newest last.
    pub(crate) fn about(&self, entity: Id) -> impl Iterator<Item = Id> {
        let first = Id::single(Kind::Task);
        self.by_entity
            .range((entity, first)..)
            .take_while(move |(of, _)| *of == entity)
            .map(|(_, task)| *task)
    }

    /// All that have not come to their end, and the newest of those that have. Newest last.
    pub(crate) fn recent(&self) -> impl Iterator<Item = Id> {
        let ended = self.all().rev().filter(|(_, task)| task.is_over()).take(RECENT);
        let open = self.all().filter(|(_, task)| !task.is_over());
        ended.chain(open).map(|(id, _)| id).collect::<BTreeSet<Id>>().into_iter()
    }
}

/// Starts an operation. It runs in the same step if it takes no time.
pub(crate) fn start(world: &mut World, name: &'static str, entity: Id, user: &str, work: Work) -> Id {
    let durations = &world.settings.durations;
    let (description, usual) = work.title(durations);
    let duration = durations.of(name, usual).draw(&mut world.random);
    let planned_failure = world.rules.planned_failure.clone();
    let places = queue::places(world, &work);
    let id = world.store.next_id(Kind::Task);
    let task = Task {
        description,
        name,
        entity,
        entity_name: world.store.name(entity).to_owned(),
        within: within(world, entity),
        user: user.to_owned(),
        state: State::Queued,
        queued: world.now,
        started: None,
        completed: None,
        progress: None,
        cancelled: false,
        work: Some(work),
        duration: planned_failure.as_ref().map_or(duration, |planned| planned.after),
        part: 0,
        planned_failure,
        visibility: Visibility::Object,
    };
    world.tasks.known.insert(id, task);
    world.tasks.by_entity.insert((entity, id));
    world.store.log.appeared(id);
    world.store.log.touch(entity, "recentTask");
    world.store.log.touch(Id::single(Kind::TaskManager), "recentTask");
    history_grew(world);
    world.tasks.queue.join(id, places);
    queue::admit(world);
    id
}

fn within(world: &World, entity: Id) -> Vec<Id> {
    let host = world.store.vms.get(&entity).and_then(|vm| vm.host);
    let places = host.into_iter().flat_map(|host| std::iter::once(host).chain(world.store.ancestors(host)));
    world.store.ancestors(entity).chain(places).collect()
}

/// Marks the history as changed.
fn history_grew(world: &mut World) {
    for id in world.tasks.collectors.keys() {
        world.store.log.touch(*id, "latestPage");
    }
}

/// Goes on with a task: begins it, shows its progress, or ends it.
pub(crate) fn advance(world: &mut World, id: Id) {
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    match task.state {
        State::Running if task.part + 1 < PARTS && !task.duration.is_zero() => {
            task.part += 1;
            go_on(world, id);
        }
        State::Running => finish(world, id),
        State::Queued | State::Success(_) | State::Error(_) => {}
    }
}

/// Shows how far a task has come, and plans its next part.
fn go_on(world: &mut World, id: Id) {
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    task.progress = Some(100 * task.part / PARTS);
    let next = task.duration / PARTS;
    world.store.log.touch(id, "info.progress");
    world.after(next, Timer::Task(id));
}

fn begin(world: &mut World, id: Id) {
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    let Some(work) = task.work.take() else { return };
    let user = task.user.clone();
    task.state = State::Running;
    task.started = Some(world.now);
    let (now, most) = world.tasks.running.entry(task.name).or_default();
    *now += 1;
    *most = (*most).max(*now);
    world.store.touch(id, &["info.state", "info.startTime"]);
    history_grew(world);
    match machine::begin(world, id, &user, work) {
        Ok((work, more)) => {
            let Some(task) = world.tasks.known.get_mut(&id) else { return };
            task.work = Some(work);
            if task.planned_failure.is_none() {
                task.duration += more;
            }
            if task.duration.is_zero() {
                finish(world, id);
            } else {
                go_on(world, id);
            }
        }
        Err(refusal) => complete(world, id, Err(refusal)),
    }
}

fn finish(world: &mut World, id: Id) {
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    let user = task.user.clone();
    let planned_failure = task.planned_failure.take();
    let Some(work) = task.work.take() else { return };
    let outcome = match (machine::reachable(world, &work), planned_failure) {
        (Err(refusal), _) | (Ok(()), Some(PlannedFailure { refusal, remains: Remains::Nothing, .. })) => {
            machine::abandon(world, id, &work);
            Err(refusal)
        }
        (Ok(()), Some(PlannedFailure { refusal, remains: Remains::Everything, .. })) => {
            machine::finish(world, id, &user, work).and(Err(refusal))
        }
        (Ok(()), None) => machine::finish(world, id, &user, work),
    };
    complete(world, id, outcome);
}

fn complete(world: &mut World, id: Id, outcome: Result<Done, Refusal>) {
    let now = world.now;
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    task.completed = Some(now);
    task.progress = None;
    if matches!(task.state, State::Running)
        && let Some((running, _)) = world.tasks.running.get_mut(task.name)
    {
        *running -= 1;
    }
    task.state = match outcome {
        Ok(done) => State::Success(done),
        Err(refusal) => State::Error(refusal),
    };
    let lost = task.visibility == Visibility::Lost;
    world.store.touch(id, &ENDED);
    history_grew(world);
    if lost {
        drop_task(world, id);
    } else {
        remember(world, id);
    }
    if world.tasks.ended.len() > RECENT {
        world.store.log.touch(Id::single(Kind::TaskManager), "recentTask");
    }
    world.tasks.queue.leave(id);
    queue::admit(world);
}

/// Ends a task that can still be stopped.
pub(crate) fn cancel(world: &mut World, id: Id) -> Result<(), Refusal> {
    let task = world.tasks.known.get_mut(&id).ok_or_else(|| Refusal::gone(&id.reference()))?;
    if task.is_over() {
        return Ok(());
    }
    task.cancelled = true;
    if let Some(work) = task.work.take() {
        machine::abandon(world, id, &work);
    }
    let refusal = Refusal::new("RequestCanceled", "The task was canceled by a user.");
    complete(world, id, Err(refusal));
    Ok(())
}

/// The vCenter starts again: what is queued never happens; what runs is done by hosts, but nobody can ask after it.
pub(crate) fn lose_unfinished(world: &mut World) {
    let unfinished = world.tasks.known.iter().filter(|(_, task)| !task.is_over());
    let unfinished: Vec<Id> = unfinished.map(|(id, _)| *id).collect();
    for id in unfinished {
        let Some(task) = world.tasks.known.get_mut(&id) else { continue };
        if matches!(task.state, State::Queued) {
            drop_task(world, id);
            world.tasks.queue.leave(id);
        } else {
            task.visibility = Visibility::Lost;
        }
        world.store.log.vanished(id);
    }
}

/// A task has ended: it can be read for a while.
fn remember(world: &mut World, id: Id) {
    if world.tasks.ended.is_empty() {
        world.after(REMEMBERED, Timer::ForgetTasks);
    }
    world.tasks.ended.push_back((world.now, id));
    if world.tasks.ended.len() > MOST_REMEMBERED {
        forget_oldest(world);
    }
}

/// The while of some tasks is over.
pub(crate) fn forget_old(world: &mut World) {
    while let Some((ended, _)) = world.tasks.ended.front() {
        let end = ended.saturating_add(REMEMBERED).unwrap_or(*ended);
        if end > world.now {
            return world.at(end, Timer::ForgetTasks);
        }
        forget_oldest(world);
    }
}

/// Takes a task out, here and from what it was about.
fn drop_task(world: &mut World, id: Id) {
    leave_entity(world, id);
    world.tasks.known.remove(&id);
}

fn leave_entity(world: &mut World, id: Id) {
    if let Some(entity) = world.tasks.known.get(&id).map(|task| task.entity) {
        world.tasks.by_entity.remove(&(entity, id));
        world.store.log.touch(entity, "recentTask");
    }
}

/// The task that ended first is history.
fn forget_oldest(world: &mut World) {
    let Some((_, id)) = world.tasks.ended.pop_front() else { return };
    leave_entity(world, id);
    let Some(task) = world.tasks.known.get_mut(&id) else { return };
    task.visibility = Visibility::History;
    // What was found in a search may be long.
    if matches!(task.state, State::Success(Done::Value(_))) {
        task.state = State::Success(Done::Nothing);
    }
    world.tasks.past.push_back(id);
    if world.tasks.past.len() > MOST_PAST
        && let Some(oldest) = world.tasks.past.pop_front()
    {
        world.tasks.known.remove(&oldest);
    }
    world.store.log.vanished(id);
    world.store.log.touch(Id::single(Kind::TaskManager), "recentTask");
}
