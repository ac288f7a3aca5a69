//! Which jobs this hatchery serves, and which of them have ended lately. It is only shown, and forgotten when the process
//! ends; jobs that run are found again by the marks of their machines.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::Timestamp;
use rookery_fleet::Power;

use super::{Reconciler, State};
use crate::act::Ending;
use crate::machine::View;
use crate::plan::running::TaskId;
use crate::plan::{Action, Deletion, Plan, Spawn, WaitReason};
use crate::surface::report::{JobLine, JobState};

/// How many jobs that have ended are remembered.
const ENDED: usize = 100;

#[derive(Debug, Default)]
pub(super) struct JobBook {
    /// Those that are starting or served, by the job.
    served: BTreeMap<String, JobLine>,
    /// The last one comes first.
    ended: VecDeque<JobLine>,
}

impl JobBook {
    /// The start of a worker begins.
    pub(super) fn begin(&mut self, spawn: &Spawn, now: Timestamp) {
        let line = JobLine {
            job: spawn.job.to_string(),
            state: JobState::Starting,
            model: Some(spawn.model.label()),
            machine: Some(spawn.name.clone()),
            queued: spawn.queued,
            begun: Some(now),
            ..JobLine::default()
        };
        self.served.insert(line.job.clone(), line);
    }

    /// A worker was launched in this machine.
    fn launched(&mut self, job: &str, machine: &str, now: Timestamp) {
        if let Some(line) = self.served.get_mut(job) {
            line.state = JobState::Served;
            line.machine = Some(machine.to_owned());
            line.launched = Some(now);
        }
    }

    /// A start has failed: the job is as it was before.
    fn failed(&mut self, job: &str) {
        self.served.remove(job);
    }

    /// Takes in which machines are at work on jobs. Of one that is not any more `why` tells what became of it.
    fn look(
        &mut self,
        at_work: &BTreeMap<&str, &str>,
        model: impl Fn(&str) -> Option<String>,
        why: impl Fn(&str) -> String,
        now: Timestamp,
    ) {
        for (&job, &machine) in at_work {
            if self.served.contains_key(job) {
                continue;
            }
            let is_it = |line: &JobLine| line.job == job && line.machine.as_deref() == Some(machine);
            let known = self.ended.iter().position(is_it).and_then(|at| self.ended.remove(at));
            let line = known.unwrap_or_else(|| JobLine {
                job: job.to_owned(),
                model: model(machine),
                machine: Some(machine.to_owned()),
                ..JobLine::default()
            });
            let line = JobLine { state: JobState::Served, ended: None, why: String::new(), ..line };
            self.served.insert(job.to_owned(), line);
        }
        let is_over = |job: &String, line: &mut JobLine| {
            line.state == JobState::Served && !at_work.contains_key(job.as_str())
        };
        let over: Vec<_> = self.served.extract_if(.., is_over).collect();
        for (_, line) in over {
            let why = why(line.machine.as_deref().unwrap_or_default());
            self.end(JobLine { why, ..line }, now);
        }
    }

    fn end(&mut self, line: JobLine, now: Timestamp) {
        self.ended.retain(|other| other.job != line.job);
        self.ended.push_front(JobLine { state: JobState::Ended, ended: Some(now), ..line });
        self.ended.truncate(ENDED);
    }
}

impl State {
    /// Takes in how the start of a worker has ended, or that a job was given up.
    pub(super) fn note_job(&mut self, task: TaskId, ending: &Ending) {
        let Some(running) = self.running.get_mut(task) else { return };
        let (now, is_done) = (self.times.wall, matches!(ending, Ending::Done));
        match &running.action {
            Action::Spawn(spawn) if is_done => {
                self.jobs.launched(&spawn.job.to_string(), &running.name, now);
            }
            Action::Spawn(spawn) => self.jobs.failed(&spawn.job.to_string()),
            Action::GiveUp { job, attempts } if is_done => {
                let why =
                    format!("no worker could be started in {attempts} attempts: CDS was told that it failed");
                self.jobs.end(JobLine { job: job.to_string(), why, ..JobLine::default() }, now);
            }
            Action::GiveUp { .. }
            | Action::Register(_)
            | Action::Make(_)
            | Action::Finish(_)
            | Action::Unclaim(_)
            | Action::Keep(_)
            | Action::Delete(_)
            | Action::Disable { .. }
            | Action::Free(_)
            | Action::Adopt(_) => {}
        }
    }

    /// Takes in which machines are at work on jobs. By half a view nothing has ended.
    pub(super) fn note_served(&mut self, at_work: &BTreeMap<String, String>, plan: &Plan) {
        let view = &self.vsphere.view;
        if !view.complete {
            return;
        }
        // A machine that was not told of wholly may have ended long ago: nothing begins by it.
        let is_on = |name: &str| view.named(name).any(|machine| machine.power == Some(Power::On));
        let at_work: BTreeMap<&str, &str> = at_work
            .iter()
            .filter(|(job, name)| self.jobs.served.contains_key(*job) || is_on(name))
            .map(|(job, name)| (job.as_str(), name.as_str()))
            .collect();
        let model = |name: &str| {
            let mark = view.named(name).next()?.mark()?;
            let models = [&mark.worker_model_path, &mark.vmware_model_path];
            models.into_iter().find(|model| !model.is_empty()).cloned()
        };
        let running = self.running.iter().map(|running| &running.action);
        let deletions: Vec<&Deletion> = running.chain(&plan.actions).filter_map(deletion).collect();
        self.jobs.look(&at_work, model, |name| fate(view, &deletions, name), self.times.wall);
    }
}

fn deletion(action: &Action) -> Option<&Deletion> {
    if let Action::Delete(deletion) = action { Some(deletion) } else { None }
}

/// What became of a machine that is at work no more.
fn fate(view: &View, deletions: &[&Deletion], name: &str) -> String {
    if let Some(deletion) = deletions.iter().find(|deletion| deletion.name == name) {
        return format!("its VM is deleted: {}", deletion.reason);
    }
    match view.named(name).next() {
        Some(_) => "its worker has ended".to_owned(),
        None => "its VM is gone".to_owned(),
    }
}

impl Reconciler {
    /// All jobs that are known here: those that wait, those that are served, and those that ended last.
    pub(super) fn job_lines(&self) -> Vec<JobLine> {
        let report = self.report.borrow();
        let book = &self.state.jobs;
        let waiting = report.waiting.iter().filter(|(job, _)| !book.served.contains_key(&job.to_string()));
        let demands: BTreeMap<_, _> =
            self.state.cds.demands.iter().map(|demand| (&demand.job, demand)).collect();
        let mut lines: Vec<JobLine> = waiting
            .map(|(job, why)| {
                let demand = demands.get(job);
                let model = demand.and_then(|demand| demand.model.as_ref().ok()).map(|model| model.label());
                waits(job.to_string(), model, demand.and_then(|demand| demand.queued), why)
            })
            .collect();
        let starts: BTreeMap<_, _> = report
            .running
            .iter()
            .filter(|one| one.is_start())
            .filter_map(|one| Some((one.job.as_ref()?.to_string(), one)))
            .collect();
        lines.extend(book.served.values().map(|line| {
            let why = match (starts.get(&line.job), &line.machine) {
                (Some(start), _) => format!("a worker is started for it: {start}"),
                (None, Some(machine)) => format!("the VM {machine} is at work on it"),
                (None, None) => String::new(),
            };
            JobLine { why, ..line.clone() }
        }));
        let alive: BTreeSet<String> = lines.iter().map(|line| line.job.clone()).collect();
        lines.extend(book.ended.iter().filter(|line| !alive.contains(&line.job)).cloned());
        lines
    }
}

fn waits(job: String, model: Option<String>, queued: Option<Timestamp>, why: &WaitReason) -> JobLine {
    JobLine {
        job,
        state: JobState::Waiting,
        model,
        queued,
        reason: Some(why.as_str().to_owned()),
        why: why.to_string(),
        permanent: why.is_permanent(),
        ..JobLine::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn look(book: &mut JobBook, pairs: &[(&str, &str)], second: i64) {
        let at_work = pairs.iter().copied().collect();
        book.look(&at_work, |_| Some("deb".to_owned()), |name| format!("{name} is off"), at(second));
    }

    fn starting(book: &mut JobBook, job: &str, machine: &str) {
        let line = JobLine {
            job: job.to_owned(),
            state: JobState::Starting,
            machine: Some(machine.to_owned()),
            begun: Some(at(0)),
            ..JobLine::default()
        };
        book.served.insert(job.to_owned(), line);
    }

    fn ended(book: &JobBook) -> Vec<(&str, Option<Timestamp>, &str)> {
        book.ended.iter().map(|line| (line.job.as_str(), line.ended, line.why.as_str())).collect()
    }

    #[test]
    fn a_job_ends_when_its_machine_is_at_work_no_more_and_not_before_its_worker_was_launched() {
        let mut book = JobBook::default();
        starting(&mut book, "7", "w");
        look(&mut book, &[], 1);
        assert_eq!(ended(&book), [], "its machine is not there yet");
        book.launched("7", "w", at(2));
        look(&mut book, &[("7", "w")], 3);
        assert_eq!(ended(&book), []);
        look(&mut book, &[], 4);
        assert_eq!(ended(&book), [("7", Some(at(4)), "w is off")]);
        assert_eq!(book.ended[0].launched, Some(at(2)));
        assert!(book.served.is_empty());
    }

    #[test]
    fn a_job_whose_start_failed_has_not_ended() {
        let mut book = JobBook::default();
        starting(&mut book, "7", "w");
        book.failed("7");
        look(&mut book, &[], 1);
        assert!(book.served.is_empty() && book.ended.is_empty());
    }

    #[test]
    fn after_a_restart_jobs_are_found_by_the_marks_of_their_machines() {
        let mut book = JobBook::default();
        look(&mut book, &[("7", "w")], 1);
        assert_eq!((book.served["7"].model.as_deref(), book.served["7"].begun), (Some("deb"), None));
        look(&mut book, &[], 2);
        look(&mut book, &[("7", "w")], 3);
        assert!(book.ended.is_empty(), "the machine is at work after all");
        assert_eq!(book.served["7"].state, JobState::Served);
    }

    #[test]
    fn only_the_last_ones_that_ended_are_remembered_each_once() {
        let mut book = JobBook::default();
        for number in 0..150 {
            let job = format!("{}", number % 120);
            look(&mut book, &[(&job, "w")], number);
            look(&mut book, &[], number);
        }
        assert_eq!(book.ended.len(), ENDED);
        assert_eq!((book.ended[0].job.as_str(), book.ended[99].job.as_str()), ("29", "50"));
    }
}
