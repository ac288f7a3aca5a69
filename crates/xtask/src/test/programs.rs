//! The programs that tests are in, and the product that they start: built by one call of cargo, so that nothing is built
//! twice. The product gets features of the tests that way; whether it can do without is a step of its own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::{Outcome, Trying as _};
use crate::json::Json;
use crate::process::capture;
use crate::workspace::Workspace;

/// What can be tested by itself: the crates `rookery-NAME` and `rookery-NAME-stories`.
pub(super) const FRONTS: [&str; 2] = ["hatchery", "vsphere"];

/// Most tests wait more than they work: eight of them keep two cores busy.
const AT_ONCE: &str = "--test-threads=8";
/// Those that do not wait.
const PER_CORE: &str = "--test-threads=2";
/// Each of these starts a peer.
const WITH_PEER: &str = "--test-threads=4";

/// Programs of different lanes run beside each other, those of one lane one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// They compute.
    Computes,
    /// They wait for time to pass.
    Waits,
    /// They wait for their peer.
    Peers,
    /// One of them takes as long as half of all: it begins at once.
    Vcsim,
}

impl Lane {
    pub(super) const ALL: [Self; 4] = [Self::Computes, Self::Waits, Self::Peers, Self::Vcsim];
}

/// One program full of tests, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// Its crate, and which part of its tests it is.
    pub(super) name: String,
    /// The folder of its crate, in which cargo would start it.
    pub(super) folder: PathBuf,
    pub(super) executable: PathBuf,
    pub(super) lane: Lane,
    /// Which of its tests run, and how many at once.
    pub(super) arguments: Vec<String>,
    /// On which peer they run.
    pub(super) peer: Option<&'static str>,
}

impl Program {
    /// All of its tests. Those on real time, which `real_time` begins, run apart from those on paused time, and some run
    /// once on each peer.
    fn parts(self, real_time: &[String]) -> Vec<Self> {
        let part = |name: &str, lane, arguments: Vec<String>, peer| Self {
            name: format!("{}{name}", self.name),
            lane,
            arguments,
            peer,
            ..self.clone()
        };
        let with = |first: &str, more: &[&str]| {
            [first].iter().chain(more).map(|argument| (*argument).to_owned()).collect::<Vec<_>>()
        };
        match self.name.as_str() {
            "rookery-hatchery-stories/hatchery" => {
                let real: Vec<&str> = real_time.iter().map(String::as_str).collect();
                let skipped: Vec<&str> = real.iter().flat_map(|story| ["--skip", story]).collect();
                let (vcsim, real): (Vec<&str>, Vec<&str>) =
                    real.iter().partition(|story| story.starts_with("hatchery::vcsim"));
                let mut parts = vec![part(" on paused time", Lane::Computes, with(PER_CORE, &skipped), None)];
                for (name, lane, stories) in
                    [(" on real time", Lane::Waits, real), (" on vcsim", Lane::Vcsim, vcsim)]
                {
                    // Without a name it would be all stories once more.
                    if !stories.is_empty() {
                        parts.push(part(name, lane, with(AT_ONCE, &stories), None));
                    }
                }
                parts
            }
            "rookery-vsphere-stories/vsphere" => {
                let ours = with(WITH_PEER, &["vsphere::", "--skip", "vsphere::support::"]);
                vec![
                    part(" on vcsim", Lane::Peers, with(WITH_PEER, &[]), Some("vcsim")),
                    part(" on our simulator", Lane::Peers, ours, Some("sim")),
                ]
            }
            _ => vec![part("", Lane::Computes, with(AT_ONCE, &[]), None)],
        }
    }

    /// Whether it is part of a front.
    pub(super) fn is_of(&self, front: &str) -> bool {
        let package = self.package();
        let name = package.strip_prefix("rookery-").unwrap_or(package);
        name == front || name.strip_suffix("-stories") == Some(front)
    }

    /// Whether its tests need the real components.
    pub(super) fn has_stories(&self) -> bool {
        self.package().ends_with("-stories")
    }

    fn package(&self) -> &str {
        self.name.split(['/', ' ', ',']).next().unwrap_or_default()
    }
}

pub(super) fn build(workspace: &Workspace) -> Outcome<Vec<Program>> {
    let format = "--message-format=json-render-diagnostics";
    let told = capture(&mut workspace.cargo(["build", "--workspace", "--all-targets", "--locked", format]))?;
    let list = workspace.root.join("crates/hatchery-stories/real_time.list");
    let list = fs::read_to_string(&list).trying(|| format!("read {}", list.display()))?;
    let programs = programs(&told, &real_time(&list)?)?;
    if programs.is_empty() { Err("cargo built no program with tests".into()) } else { Ok(programs) }
}

/// The programs in what cargo tells, one JSON document a line.
fn programs(told: &str, real_time: &[String]) -> Outcome<Vec<Program>> {
    let mut found = Vec::new();
    for line in told.lines() {
        let message = Json::parse(line)?;
        let is_test = *message.get("profile").get("test") == Json::Bool(true);
        let (Some(executable), Some(manifest), true) =
            (message.get("executable").text(), message.get("manifest_path").text(), is_test)
        else {
            continue;
        };
        let folder = Path::new(manifest).parent().unwrap_or(Path::new("/")).to_owned();
        let package = package(message.get("package_id").text().unwrap_or_default());
        let target = message.get("target");
        let is_beside = target.get("kind").items().iter().any(|kind| kind.text() == Some("test"));
        let name = match target.get("name").text() {
            Some(name) if is_beside => format!("{package}/{name}"),
            _ => package.to_owned(),
        };
        let (executable, arguments) = (executable.into(), Vec::new());
        let whole = Program { name, folder, executable, lane: Lane::Computes, arguments, peer: None };
        found.extend(whole.parts(real_time));
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// How the names of the stories on real time begin.
fn real_time(list: &str) -> Outcome<Vec<String>> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &str| Some(line.split_once(": ")?.0.to_owned());
    let entries: Option<Vec<_>> = lines.map(entry).collect();
    // Without any the part on real time would be all stories once more.
    let entries = entries.filter(|entries| !entries.is_empty());
    entries.ok_or_else(|| "each line of real_time.list is the name of a story, a colon and a reason".into())
}

/// The name in `path+file:///checkout/crates/cds#rookery-cds@0.1.0`; where it is that of the folder, cargo leaves it out.
fn package(id: &str) -> &str {
    let (place, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => place.rsplit('/').next().unwrap_or(rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_with_tests_are_found_and_named() {
        let told = r#"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/cds#rookery-cds@0.1.0","manifest_path":"/w/crates/cds/Cargo.toml","target":{"kind":["lib"],"name":"rookery_cds"},"profile":{"test":true},"executable":"/t/deps/rookery_cds-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/xtask#0.1.0","manifest_path":"/w/crates/xtask/Cargo.toml","target":{"kind":["bin"],"name":"xtask"},"profile":{"test":true},"executable":"/t/deps/xtask-2"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/hatchery-stories#rookery-hatchery-stories@0.1.0","manifest_path":"/w/crates/hatchery-stories/Cargo.toml","target":{"kind":["test"],"name":"hatchery"},"profile":{"test":true},"executable":"/t/deps/hatchery-3"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/vsphere-stories#rookery-vsphere-stories@0.1.0","manifest_path":"/w/crates/vsphere-stories/Cargo.toml","target":{"kind":["test"],"name":"vsphere"},"profile":{"test":true},"executable":"/t/deps/vsphere-4"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/rookery#0.1.0","manifest_path":"/w/crates/rookery/Cargo.toml","target":{"kind":["bin"],"name":"rookery"},"profile":{"test":false},"executable":"/t/rookery"}
{"reason":"build-finished","success":true}"#;
        let found = programs(
            told,
            &real_time("# why\nhatchery::cli: a process\nhatchery::vcsim: one, too\n").unwrap(),
        )
        .unwrap();
        let names: Vec<_> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "rookery-cds",
                "rookery-hatchery-stories/hatchery on paused time",
                "rookery-hatchery-stories/hatchery on real time",
                "rookery-hatchery-stories/hatchery on vcsim",
                "rookery-vsphere-stories/vsphere on our simulator",
                "rookery-vsphere-stories/vsphere on vcsim",
                "xtask"
            ]
        );
        assert_eq!(found[1].arguments[1..], ["--skip", "hatchery::cli", "--skip", "hatchery::vcsim"]);
        assert_eq!(found[2].arguments[1..], ["hatchery::cli"]);
        assert_eq!(found[3].arguments[1..], ["hatchery::vcsim"]);
        assert_eq!((found[1].peer, found[4].peer, found[5].peer), (None, Some("sim"), Some("vcsim")));
        assert_eq!(found[1].executable, Path::new("/t/deps/hatchery-3"));
        assert_eq!(found[1].folder, Path::new("/w/crates/hatchery-stories"));
        assert!(found.iter().filter(|program| program.is_of("hatchery")).eq(&found[1..4]));
        assert!(found.iter().filter(|program| program.has_stories()).eq(&found[1..6]));
        assert!(real_time("").is_err() && real_time("hatchery::cli\n").is_err());
    }
}
