//! The programs that tests are in, and the product that they start: built by one call of cargo, so that nothing is built
//! twice. The product gets features of the tests that way; whether it can do without is a step of its own.

use std::path::{Path, PathBuf};

use crate::failure::Outcome;
use crate::json::Json;
use crate::process::capture;
use crate::workspace::Workspace;

/// What can be tested by itself: the crates `rookery-NAME` and `rookery-NAME-stories`.
pub(super) const FRONTS: [&str; 2] = ["hatchery", "vsphere"];

/// Stories that compute for minutes. Beside them others would wait for a processor, not for what they are about, so they
/// run by themselves, one for each of two cores.
const HEAVY: [&str; 2] = ["hatchery::crash::", "hatchery::rate::"];

/// Most tests wait more than they work: eight of them keep two cores busy.
const AT_ONCE: [&str; 2] = ["--test-threads", "8"];

/// One program full of tests, or a part of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// Its crate, and which part of its tests it is.
    pub(super) name: String,
    /// The folder of its crate, in which cargo would start it.
    pub(super) folder: PathBuf,
    pub(super) executable: PathBuf,
    /// Which of its tests run, and how many at once.
    pub(super) arguments: Vec<&'static str>,
    /// On which peer they run.
    pub(super) peer: Option<&'static str>,
}

impl Program {
    /// All of its tests. Some are heavy, and some run once on each peer.
    fn parts(self) -> Vec<Self> {
        let part = |name: &str, arguments: &[&'static str], peer| Self {
            name: format!("{}{name}", self.name),
            arguments: arguments.to_vec(),
            peer,
            ..self.clone()
        };
        match self.name.as_str() {
            "rookery-hatchery-stories/hatchery" => {
                let light = HEAVY.into_iter().flat_map(|heavy| ["--skip", heavy]);
                let light: Vec<_> = AT_ONCE.into_iter().chain(light).collect();
                let heavy: Vec<_> = ["--test-threads", "2"].into_iter().chain(HEAVY).collect();
                vec![part("", &light, None), part(", heavy ones", &heavy, None)]
            }
            "rookery-vsphere-stories/vsphere" => {
                let ours = [&AT_ONCE[..], &["vsphere::", "--skip", "vsphere::support::"]].concat();
                vec![
                    part(" on vcsim", &AT_ONCE, Some("vcsim")),
                    part(" on our simulator", &ours, Some("sim")),
                ]
            }
            _ => vec![part("", &AT_ONCE, None)],
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
    let programs = programs(&told)?;
    if programs.is_empty() { Err("cargo built no program with tests".into()) } else { Ok(programs) }
}

/// The programs in what cargo tells, one JSON document a line.
fn programs(told: &str) -> Outcome<Vec<Program>> {
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
        found.extend(
            Program { name, folder, executable: executable.into(), arguments: Vec::new(), peer: None }
                .parts(),
        );
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
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
        let found = programs(told).unwrap();
        let names: Vec<_> = found.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "rookery-cds",
                "rookery-hatchery-stories/hatchery",
                "rookery-hatchery-stories/hatchery, heavy ones",
                "rookery-vsphere-stories/vsphere on our simulator",
                "rookery-vsphere-stories/vsphere on vcsim",
                "xtask"
            ]
        );
        let skipped = ["--skip", "hatchery::crash::", "--skip", "hatchery::rate::"];
        assert_eq!(found[1].arguments[2..], skipped);
        assert_eq!(found[2].arguments[2..], ["hatchery::crash::", "hatchery::rate::"]);
        assert_eq!((found[1].peer, found[3].peer, found[4].peer), (None, Some("sim"), Some("vcsim")));
        assert_eq!(found[1].executable, Path::new("/t/deps/hatchery-3"));
        assert_eq!(found[1].folder, Path::new("/w/crates/hatchery-stories"));
        assert!(found.iter().filter(|program| program.is_of("hatchery")).eq(&found[1..3]));
        assert!(found.iter().filter(|program| program.has_stories()).eq(&found[1..5]));
    }
}
