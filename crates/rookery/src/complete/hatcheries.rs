//! What the hatcheries that run on this machine know.

use std::time::Duration;

use futures_util::future::join_all;
use rookery_hatchery::surface::control::{self, Answer, Request};
use rookery_hatchery::surface::report::Status;
use tokio::time::timeout;

use super::engine::Candidate;
use crate::hatchery::runtime;

/// How long they get to answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// More than this run on no machine; the rest is not asked.
const MOST: usize = 32;

/// Their names.
pub(super) async fn names() -> Vec<Candidate> {
    let of = |status: Status| {
        let about = if status.draining { "hatchery, drained" } else { "hatchery" };
        Candidate { word: status.name, about: about.to_owned() }
    };
    asked(None).await.into_iter().map(of).collect()
}

/// Jobs that wait, and those whose machines are kept.
pub(super) async fn jobs(hatchery: Option<&str>) -> Vec<Candidate> {
    let of = |status: Status| {
        let waiting = status.waiting.into_iter().map(|one| Candidate { word: one.job, about: one.why });
        let held = status.held.into_iter();
        let held = held.map(|one| Candidate { about: format!("{} is kept", one.machine), word: one.job });
        waiting.chain(held).collect::<Vec<_>>()
    };
    asked(hatchery).await.into_iter().flat_map(of).collect()
}

/// Models that wait, and those whose machines are kept.
pub(super) async fn models(hatchery: Option<&str>) -> Vec<Candidate> {
    let of = |status: Status| {
        let waiting =
            status.warm_waiting.into_iter().map(|one| Candidate { word: one.model, about: one.why });
        let held = status.held.into_iter();
        let held = held.map(|one| Candidate { about: format!("{} is kept", one.machine), word: one.model });
        waiting.chain(held).collect::<Vec<_>>()
    };
    asked(hatchery).await.into_iter().flat_map(of).collect()
}

/// VMs that people decide about: those that are kept, and those that are left alone.
pub(super) async fn machines(hatchery: Option<&str>) -> Vec<Candidate> {
    let of = |status: Status| {
        let held = status.held.into_iter().map(|one| Candidate { word: one.machine, about: one.reason });
        let apart =
            status.apart.into_iter().map(|one| Candidate { word: one.name, about: one.why.to_string() });
        held.chain(apart).collect::<Vec<_>>()
    };
    asked(hatchery).await.into_iter().flat_map(of).collect()
}

/// What the hatchery of that name says, or each that runs here.
async fn asked(hatchery: Option<&str>) -> Vec<Status> {
    let Ok(folder) = runtime() else { return vec![] };
    let names = match hatchery {
        Some(name) => vec![name.to_owned()],
        None => std::fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| named(&entry.file_name().to_string_lossy()))
            .take(MOST)
            .collect(),
    };
    let answers = names.iter().map(|name| timeout(PATIENCE, control::ask(&folder, name, &Request::Status)));
    let status = |answer| if let Ok(Ok(Answer::Status(status))) = answer { Some(*status) } else { None };
    join_all(answers).await.into_iter().filter_map(status).collect()
}

/// The name that a socket was made for; what was replaced in it leads to the same socket.
fn named(file: &str) -> Option<String> {
    Some(file.strip_prefix("rookery-hatchery-")?.strip_suffix(".sock")?.to_owned())
}
