//! What a page shows: one value, which each source fills as far as it knows. Pure.
//!
//! Texts from elsewhere are made printable by whoever puts them in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::StartTimes;

/// All that is to be seen but the events.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model {
    /// What this is, in a sentence.
    pub(crate) title: String,
    /// How it stands, in the order in which people read it.
    pub(crate) state: Vec<Section>,
    /// What somebody may want to know or do something about.
    pub(crate) attention: Vec<Fact>,
    /// What waits and why, and what is at work; `None` if the source has no queue.
    pub(crate) queue: Option<Vec<QueueRow>>,
    /// The machines one by one; `None` if the source does not know them.
    pub(crate) machines: Option<Arc<MachineTable>>,
    /// What can be tried.
    pub(crate) hints: Vec<String>,
    /// What is waited for when it is to end.
    pub(crate) ending: String,
}

/// Something about how it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Section {
    Fact(Fact),
    Jobs(Jobs),
    /// Jobs in the queue, each number with its verb: `3 wait`.
    Queue(Vec<(usize, &'static str)>),
    Starts(StartTimes),
    States(States),
    Capacity(Vec<Gauge>),
    /// `None`: they come from DHCP.
    Addresses(Option<Gauge>),
}

/// Something that is told in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// Jobs that somebody feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jobs {
    pub(crate) fed: usize,
    /// How many there will be, if there is an end.
    pub(crate) wanted: Option<u64>,
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
}

/// How many machines are in which state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct States {
    /// What they are called: `machines`.
    pub(crate) name: &'static str,
    /// How many there are, if that is worth saying.
    pub(crate) total: Option<usize>,
    pub(crate) counts: Vec<(usize, &'static str)>,
}

/// What is used of what there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gauge {
    pub(crate) name: &'static str,
    pub(crate) used: u64,
    pub(crate) limit: Option<u64>,
    /// What stands behind the numbers, if that is not the name.
    pub(crate) unit: &'static str,
}

/// A job, or a model of which something is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueueRow {
    pub(crate) subject: Subject,
    /// How far it is, in a word: `waits`.
    pub(crate) state: &'static str,
    /// What is known beside that: model, machine, since when.
    pub(crate) details: String,
    /// Why it waits; empty if it does not.
    pub(crate) why: String,
    /// Whether waiting alone will not help.
    pub(crate) permanent: bool,
}

/// What a row of the queue is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Job(String),
    Model(String),
}

/// A table of machines, of which any number of columns may be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MachineTable {
    /// The first one is the name, the second one the state.
    pub(crate) header: &'static [&'static str],
    pub(crate) rows: Vec<Vec<String>>,
}

impl Model {
    /// The same with what another part of the same page has to show, which stands below.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.title = match (self.title.is_empty(), other.title.is_empty()) {
            (false, false) => format!("{}; {}", self.title, other.title),
            (_, true) => self.title,
            (true, false) => other.title,
        };
        self.state.extend(other.state);
        self.attention.extend(other.attention);
        self.queue = join(self.queue, other.queue);
        self.machines = self.machines.or(other.machines);
        self.hints.extend(other.hints);
        self
    }

    pub(crate) fn starts(&self) -> Option<&StartTimes> {
        self.state
            .iter()
            .find_map(|section| if let Section::Starts(starts) = section { Some(starts) } else { None })
    }

    /// Why jobs and models wait, the most common reasons first.
    pub(crate) fn reasons(&self) -> Vec<String> {
        reasons(self.queue.as_deref().unwrap_or_default())
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.iter().flatten().filter(|row| !row.why.is_empty()).count()
    }
}

fn join(one: Option<Vec<QueueRow>>, other: Option<Vec<QueueRow>>) -> Option<Vec<QueueRow>> {
    match (one, other) {
        (Some(one), Some(other)) => Some([one, other].concat()),
        (one, other) => one.or(other),
    }
}

/// Why they wait: of jobs with how many have the same reason, the most common first; then each model.
pub(crate) fn reasons(queue: &[QueueRow]) -> Vec<String> {
    let mut jobs = BTreeMap::<&str, usize>::new();
    let mut models = Vec::new();
    for row in queue.iter().filter(|row| !row.why.is_empty()) {
        match &row.subject {
            Subject::Job(_) => *jobs.entry(&row.why).or_default() += 1,
            Subject::Model(model) => models.push(format!("{model}: {}", row.why)),
        }
    }
    let mut jobs: Vec<_> = jobs.into_iter().collect();
    jobs.sort_by_key(|(why, count)| (std::cmp::Reverse(*count), *why));
    let jobs = jobs.into_iter().map(|(why, count)| match count {
        1 => format!("1 job: {why}"),
        _ => format!("{count} jobs: {why}"),
    });
    jobs.chain(models).collect()
}

impl Fact {
    pub(crate) fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, text: text.into() }
    }
}

impl Jobs {
    pub(crate) fn in_words(self) -> String {
        let of = self.wanted.map(|jobs| format!(" of {jobs}")).unwrap_or_default();
        format!("{}{of} fed, {} succeeded, {} failed", self.fed, self.succeeded, self.failed)
    }
}

impl States {
    pub(crate) fn in_words(&self) -> String {
        let counts = counted(&self.counts);
        self.total.map_or_else(|| counts.clone(), |total| format!("{total}: {counts}"))
    }
}

/// `3 wait, 2 run`.
pub(crate) fn counted(counts: &[(usize, &'static str)]) -> String {
    counts.iter().map(|(count, what)| format!("{count} {what}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(subject: Subject, why: &str) -> QueueRow {
        QueueRow { subject, state: "waits", details: String::new(), why: why.to_owned(), permanent: false }
    }

    #[test]
    fn the_most_common_reason_comes_first_and_models_last() {
        let job = |id: &str, why| waits(Subject::Job(id.to_owned()), why);
        let model = waits(Subject::Model("debian".to_owned()), "no address");
        let queue = [job("1", "full"), model, job("2", "busy"), job("3", "busy"), job("4", "")];
        assert_eq!(reasons(&queue), ["2 jobs: busy", "1 job: full", "debian: no address"]);
        assert_eq!(reasons(&[]), [""; 0]);
    }

    #[test]
    fn parts_of_a_page_stand_below_each_other() {
        let part = |title: &str, queue| Model { title: title.to_owned(), queue, ..Model::default() };
        let row = || waits(Subject::Job("1".to_owned()), "full");
        let both = part("a", Some(vec![row()])).and(part("", None)).and(part("b", Some(vec![row()])));
        assert_eq!((both.title.as_str(), both.waiting()), ("a; b", 2));
        assert_eq!(part("", None).and(part("b", None)).title, "b");
    }
}
