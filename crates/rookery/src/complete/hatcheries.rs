//! What the hatcheries that run on this machine know.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use rookery_hatchery::settings;
use rookery_hatchery::surface::control::{self, Answer, Request};
use rookery_hatchery::surface::report::{JobLine, Status};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::engine::Candidate;
use crate::hatchery::runtime;

/// How long they get to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// More than this run on no machine; the rest is not asked.
const MOST: usize = 32;

/// Which hatcheries are asked.
#[derive(Debug, Clone)]
pub(super) enum Which {
    Any,
    Named(String),
    /// The one that a settings file is of.
    OfFile(PathBuf),
}

/// Their names.
pub(super) async fn names() -> Vec<Candidate> {
    let of = |status: Status| {
        let about = if status.draining { "hatchery, drained" } else { "hatchery" };
        vec![Candidate { word: status.name, about: about.to_owned() }]
    };
    of_each(Which::Any, of).await
}

/// The jobs that they know, and those whose machines are kept.
pub(super) async fn jobs(which: Which) -> Vec<Candidate> {
    let known = |answer| {
        let Answer::Jobs(jobs) = answer else { return vec![] };
        let of =
            |job: JobLine| Candidate { about: format!("{}: {}", job.state.as_str(), job.why), word: job.job };
        jobs.into_iter().map(of).collect()
    };
    let held = |status: Status| {
        let held = status.held.into_iter();
        held.map(|one| Candidate { about: format!("{} is kept", one.machine), word: one.job }).collect()
    };
    let (mut known, held) =
        tokio::join!(asked(which.clone(), &Request::KnownJobs, known), of_each(which, held));
    known.extend(held);
    known
}

/// Models that wait, and those whose machines are kept.
pub(super) async fn models(which: Which) -> Vec<Candidate> {
    let of = |status: Status| {
        let waiting =
            status.warm_waiting.into_iter().map(|one| Candidate { word: one.model, about: one.why });
        let held = status.held.into_iter();
        let held = held.map(|one| Candidate { about: format!("{} is kept", one.machine), word: one.model });
        waiting.chain(held).collect()
    };
    of_each(which, of).await
}

/// VMs that people decide about: those that are kept, and those that are left alone.
pub(super) async fn machines(which: Which) -> Vec<Candidate> {
    let of = |status: Status| {
        let held = status.held.into_iter().map(|one| Candidate { word: one.machine, about: one.reason });
        let apart =
            status.apart.into_iter().map(|one| Candidate { word: one.name, about: one.why.to_string() });
        held.chain(apart).collect()
    };
    of_each(which, of).await
}

async fn of_each(which: Which, of: impl Fn(Status) -> Vec<Candidate>) -> Vec<Candidate> {
    let of = |answer| if let Answer::Status(status) = answer { of(*status) } else { vec![] };
    asked(which, &Request::Status, of).await
}

/// What those offer that are meant, of what they answer.
async fn asked(which: Which, request: &Request, of: impl Fn(Answer) -> Vec<Candidate>) -> Vec<Candidate> {
    let Ok(folder) = runtime() else { return vec![] };
    let names = named(which, &folder).await;
    let answers = names.iter().map(|name| timeout(PATIENCE, control::ask(&folder, name, request)));
    join_all(answers).await.into_iter().flatten().flatten().flat_map(of).collect()
}

async fn named(which: Which, folder: &Path) -> Vec<String> {
    match which {
        Which::Named(name) => vec![name],
        Which::OfFile(file) => {
            let name = spawn_blocking(move || Some(settings::load_file(&file).ok()?.settings.identity.name));
            name.await.ok().flatten().into_iter().collect()
        }
        Which::Any => {
            let mut running = control::running(folder).await.unwrap_or_default();
            running.truncate(MOST);
            running
        }
    }
}
