//! What becomes of a job: what the hatchery knows of it, beside what CDS says.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rookery_cds::{JobId, JobStatus};
use rookery_daemon::telemetry::chain;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::ControlState;
use super::naming::job_named;
use crate::intake::feed;
use crate::intake::queue::QueuedJob;
use crate::plan::Denied;
use crate::surface::report::{JobLine, JobState};

/// Of how many jobs that have ended CDS is asked how, and how long all of its answers may take.
const ASKED: usize = 20;
const ASKING: Duration = Duration::from_secs(8);

/// How jobs have ended, as CDS told. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Ends(Arc<Mutex<BTreeMap<String, End>>>);

/// What does not change any more of what CDS says of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    As(JobStatus),
    /// It knows the job no more: it forgets V1 jobs.
    Forgotten,
}

/// What becomes of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explained {
    #[serde(flatten)]
    pub line: JobLine,
    /// What CDS says of it.
    pub cds: String,
}

/// What CDS says of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Known(Known),
    /// It knows no such job, or none that is ours to see.
    NoSuch,
    /// There is no token for such jobs.
    NotAsked,
    Failed(String),
}

/// A job as CDS knows it. What it does not name is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Known {
    status: JobStatus,
    hatchery: String,
    worker: String,
    ended: Option<Timestamp>,
}

impl ControlState {
    pub(super) async fn explain(&self, given: &str) -> Result<Explained, Denied> {
        let lines = self.jobs().await?;
        let job = job_named(given, lines.iter().map(|line| line.job.as_str()))?;
        let id = job.to_string();
        let line = lines.into_iter().find(|line| line.job == id);
        explained(&id, line, &self.cds_says(&job).await)
    }

    /// The jobs that are known here; of those that ended last CDS is asked how, once each.
    pub(super) async fn jobs_with_statuses(&self) -> Result<Vec<JobLine>, Denied> {
        let lines = self.jobs().await?;
        let ended = || lines.iter().filter(|line| line.state == JobState::Ended);
        let of_lines: Vec<String> = ended().map(|line| line.job.clone()).collect();
        self.ends.lock(|ends| ends.retain(|job, _| of_lines.contains(job)));
        let unknown =
            of_lines.iter().take(ASKED).filter(|job| !self.ends.lock(|ends| ends.contains_key(*job)));
        let asking = async {
            for job in unknown {
                let Ok(id) = job.parse() else { continue };
                if let Some(end) = end_of(self.cds_says(&id).await) {
                    self.ends.lock(|ends| ends.insert(job.clone(), end));
                }
            }
        };
        timeout(ASKING, asking).await.ok();
        Ok(self.with_ends(lines))
    }

    /// The jobs that are known here; those that ended with how, as far as CDS was asked before.
    pub(super) async fn known_jobs(&self) -> Result<Vec<JobLine>, Denied> {
        self.jobs().await.map(|lines| self.with_ends(lines))
    }

    fn with_ends(&self, mut lines: Vec<JobLine>) -> Vec<JobLine> {
        for line in lines.iter_mut().filter(|line| line.state == JobState::Ended) {
            line.status = self.ends.lock(|ends| match ends.get(&line.job) {
                Some(End::As(status)) => Some(status.to_string()),
                Some(End::Forgotten) | None => None,
            });
        }
        lines
    }

    async fn cds_says(&self, job: &JobId) -> Told {
        match feed::read_job(&self.cds, job).await {
            Some(Ok(QueuedJob::V1(job))) => Told::Known(Known {
                status: job.status.clone(),
                worker: job.worker_name().to_owned(),
                ..Known::default()
            }),
            Some(Ok(QueuedJob::V2(detail))) => Told::Known(Known {
                status: detail.job.status,
                hatchery: detail.job.hatchery_name,
                worker: detail.job.worker_name,
                ended: detail.job.ended,
            }),
            Some(Err(error)) if error.is_gone() || error.is_forbidden() => Told::NoSuch,
            Some(Err(error)) => Told::Failed(chain(&error)),
            None => Told::NotAsked,
        }
    }
}

impl Ends {
    fn lock<T>(&self, look: impl FnOnce(&mut BTreeMap<String, End>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// None: it may change, and CDS is asked again.
fn end_of(told: Told) -> Option<End> {
    match told {
        Told::Known(known) => known.status.is_final().then_some(End::As(known.status)),
        Told::NoSuch => Some(End::Forgotten),
        Told::NotAsked | Told::Failed(_) => None,
    }
}

fn explained(job: &str, line: Option<JobLine>, told: &Told) -> Result<Explained, Denied> {
    let cds = match told {
        Told::Known(known) => format!("its status is {}", known.status),
        Told::NoSuch => "it knows no such job any more, or does not show it to this hatchery".to_owned(),
        Told::NotAsked => "it is not asked: there is no token for such jobs".to_owned(),
        Told::Failed(why) => why.clone(),
    };
    let over = match told {
        Told::Known(known) if known.status.is_final() => Some(known),
        Told::Known(_) | Told::NoSuch | Told::NotAsked | Told::Failed(_) => None,
    };
    let line = match (line, over, told) {
        (Some(line), Some(known), _) => end(line, known),
        (Some(line), None, _) => line,
        (None, Some(known), _) => end(JobLine { job: job.to_owned(), ..JobLine::default() }, known),
        (None, None, Told::Known(_)) => JobLine {
            job: job.to_owned(),
            why: "it is not in the queue as this hatchery saw it last: it may be served by another hatchery, or be for \
                  another region or type of model"
                .to_owned(),
            ..JobLine::default()
        },
        (None, None, Told::NoSuch) => {
            return Err(Denied::Unclear(format!(
                "there is no job {job}: neither CDS nor this hatchery knows it; `rookery hatchery jobs` lists those that \
                 it knows"
            )));
        }
        (None, None, Told::NotAsked | Told::Failed(_)) => {
            return Err(Denied::Refused(format!("this hatchery knows no job {job}, and of CDS: {cds}")));
        }
    };
    Ok(Explained { line, cds })
}

/// A job that has ended, as CDS says, with what is known of it here.
fn end(line: JobLine, known: &Known) -> JobLine {
    let ended = known.ended.or(line.ended);
    let when = ended.map(|at| format!(" at {at:.0}")).unwrap_or_default();
    let how = format!("it has ended as {}{when}", known.status);
    let whose = match (&line.machine, known.worker.as_str(), known.hatchery.as_str()) {
        (Some(machine), _, _) => {
            let since = line.launched.map(|at| format!(", launched at {at:.0}")).unwrap_or_default();
            let then = if line.state == JobState::Ended { format!("; {}", line.why) } else { String::new() };
            format!("; its worker was {machine}{since}{then}")
        }
        (None, "", _) if line.state == JobState::Ended => format!("; {}", line.why),
        (None, "", _) => "; no worker of this hatchery had it".to_owned(),
        (None, worker, "") => format!("; its worker was {worker}, of which nothing is known here any more"),
        (None, worker, hatchery) => {
            format!(
                "; its worker was {worker} of hatchery {hatchery}, of which nothing is known here any more"
            )
        }
    };
    JobLine {
        state: JobState::Ended,
        status: Some(known.status.to_string()),
        ended,
        why: format!("{how}{whose}"),
        reason: None,
        permanent: false,
        ..line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(state: JobState) -> JobLine {
        JobLine {
            job: "7".to_owned(),
            state,
            machine: Some("brave-curie".to_owned()),
            why: "its VM is gone".to_owned(),
            ..JobLine::default()
        }
    }

    fn known(status: JobStatus, worker: &str, hatchery: &str) -> Told {
        let ended = "2026-11-15T10:00:00Z".parse().ok();
        Told::Known(Known { status, worker: worker.to_owned(), hatchery: hatchery.to_owned(), ended })
    }

    fn check(line: Option<JobLine>, told: &Told, expected: (JobState, &str)) {
        let Explained { line, .. } = explained("7", line, told).expect("it is known");
        assert_eq!((line.state, line.why.as_str()), expected);
    }

    // The machine of a job stays for a while after its end: until it had gone the job was said to be served.
    #[test]
    fn a_job_that_has_ended_is_not_served_and_it_is_told_how_and_when() {
        let success = || known(JobStatus::Success, "w", "h");
        check(
            Some(line(JobState::Served)),
            &success(),
            (JobState::Ended, "it has ended as Success at 2026-11-15T10:00:00Z; its worker was brave-curie"),
        );
        check(
            Some(line(JobState::Ended)),
            &success(),
            (
                JobState::Ended,
                "it has ended as Success at 2026-11-15T10:00:00Z; its worker was brave-curie; its VM is gone",
            ),
        );
        check(
            None,
            &success(),
            (
                JobState::Ended,
                "it has ended as Success at 2026-11-15T10:00:00Z; its worker was w of hatchery h, of which nothing is \
                 known here any more",
            ),
        );
        check(
            None,
            &known(JobStatus::Stopped, "", ""),
            (
                JobState::Ended,
                "it has ended as Stopped at 2026-11-15T10:00:00Z; no worker of this hatchery had it",
            ),
        );
        // CDS forgets V1 jobs that have ended.
        check(Some(line(JobState::Ended)), &Told::NoSuch, (JobState::Ended, "its VM is gone"));
    }

    // CDS forgets V1 jobs, and was asked for each of them again whenever somebody listed jobs.
    #[test]
    fn what_cannot_change_any_more_is_asked_for_once() {
        let success = end_of(known(JobStatus::Success, "w", "h"));
        assert_eq!(success, Some(End::As(JobStatus::Success)));
        assert_eq!(end_of(Told::NoSuch), Some(End::Forgotten));
        for again in [known(JobStatus::Building, "w", "h"), Told::NotAsked, Told::Failed("why".to_owned())] {
            assert_eq!(end_of(again), None);
        }
    }

    #[test]
    fn a_job_that_nobody_knows_is_missing_and_one_that_cds_keeps_for_others_is_not() {
        let waits = known(JobStatus::Waiting, "", "");
        assert_eq!(explained("7", None, &waits).expect("CDS knows it").line.state, JobState::Unknown);
        assert!(matches!(explained("7", None, &Told::NoSuch), Err(Denied::Unclear(_))));
        let failed = Told::Failed("CDS cannot be reached".to_owned());
        assert!(
            matches!(explained("7", None, &failed), Err(Denied::Refused(why)) if why.contains("reached"))
        );
        check(Some(line(JobState::Served)), &failed, (JobState::Served, "its VM is gone"));
    }
}
