//! The workers as `/mon/workers` shows them: those that CDS knows in its own words, and those that were started.

use crate::names::is_register_name;
use jiff::Timestamp;
use rookery_cds::{JobId, Worker};
use serde::Serialize;

use super::held::Held;

/// A worker, registered or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct WorkerLine {
    pub name: String,
    /// As CDS says it, or `Pending`, `Registering` or `Held`.
    pub status: String,
    /// What CDS tells of it, once it has registered.
    #[serde(flatten)]
    pub known: Option<Known>,
}

/// What CDS tells of a worker, under the names that each of its protocols has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct Known {
    /// What names it in calls.
    pub id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// The hatchery that started it.
    pub hatchery_name: String,
    /// When it was last heard of; a worker of a V1 job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lastbeat: Option<Timestamp>,
    /// The same of a worker of a V2 job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_beat: Option<Timestamp>,
    /// Its V1 job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_run_id: Option<i64>,
    /// Its V2 job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_job_id: Option<String>,
}

/// The union of those that CDS knows and those that were started.
pub(super) fn worker_lines(
    listed: &[Worker],
    is_v1: impl Fn(&str) -> bool,
    started: &[String],
    held: &[Held],
) -> Vec<WorkerLine> {
    let registered = listed.iter().map(|worker| {
        let status = serde_json::to_value(&worker.status).ok();
        let status = status.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
        let known = Some(known(worker, is_v1(&worker.name)));
        WorkerLine { name: worker.name.clone(), status, known }
    });
    let mut lines: Vec<WorkerLine> = registered.collect();
    for name in started.iter().filter(|name| !listed.iter().any(|worker| worker.name == **name)) {
        let status = match held.iter().any(|held| held.machine == *name) {
            true => "Held",
            false if is_register_name(name) => "Registering",
            false => "Pending",
        };
        lines.push(WorkerLine { name: name.clone(), status: status.to_owned(), known: None });
    }
    lines
}

fn known(worker: &Worker, is_v1: bool) -> Known {
    let heard = worker.last_beat;
    let (job_run_id, run_job_id) = match &worker.job {
        Some(JobId::V1(job)) => (Some(job.number()), None),
        Some(JobId::V2(job)) => (None, Some(job.to_string())),
        None => (None, None),
    };
    Known {
        id: worker.id.clone(),
        model_name: worker.model.clone(),
        hatchery_name: worker.hatchery.clone(),
        lastbeat: heard.filter(|_| is_v1),
        last_beat: heard.filter(|_| !is_v1),
        job_run_id,
        run_job_id,
    }
}

#[cfg(test)]
mod tests {
    use rookery_cds::WorkerStatus;
    use serde_json::json;

    use super::*;

    #[test]
    fn workers_are_shown_in_the_words_of_their_protocol_and_those_on_their_way_by_name() {
        let beat = "2026-06-23T09:12:00Z";
        let worker = |name: &str, job: &str| Worker {
            id: format!("id-{name}"),
            name: name.to_owned(),
            status: WorkerStatus::Building,
            last_beat: beat.parse().ok(),
            job: job.parse().ok(),
            model: None,
            hatchery: "h".to_owned(),
        };
        let uuid = "3f0c2a60-0000-4000-8000-000000000001";
        let listed = [worker("a", "1234"), worker("b", uuid)];
        let started = ["a", "b", "c", "register-d", "e"].map(str::to_owned);
        let held = [Held { machine: "e".to_owned(), ..Held::default() }];
        let lines = worker_lines(&listed, |name| name == "a", &started, &held);
        assert_eq!(
            serde_json::to_value(lines).expect("JSON"),
            json!([
                {"name": "a", "status": "Building", "id": "id-a", "hatchery_name": "h", "lastbeat": beat, "job_run_id": 1234},
                {"name": "b", "status": "Building", "id": "id-b", "hatchery_name": "h", "last_beat": beat, "run_job_id": uuid},
                {"name": "c", "status": "Pending"},
                {"name": "register-d", "status": "Registering"},
                {"name": "e", "status": "Held"},
            ])
        );
    }
}
