//! Who depends on whom, as cargo sees it.

use std::collections::BTreeSet;

use crate::failure::Outcome;
use crate::json::Json;
use crate::process::capture;
use crate::workspace::Workspace;

#[derive(Debug)]
pub(super) struct Graph {
    /// Everything that Cargo.lock mentions.
    pub(super) packages: Vec<Package>,
    /// What is compiled on some platform, for the product or its tests.
    ///
    /// Not the lock file: that one also lists packages behind weak optional features that nothing turns on. `ring`
    /// is there through rustls-webpki, and is never compiled.
    pub(super) compiled: BTreeSet<Version>,
    /// What is compiled on this machine.
    pub(super) compiled_here: BTreeSet<Version>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) name: String,
    pub(super) number: String,
}

#[derive(Debug)]
pub(super) struct Package {
    pub(super) version: Version,
    pub(super) licence: Option<String>,
    pub(super) origin: Origin,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) features: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Workspace,
    Elsewhere,
}

#[derive(Debug)]
pub(super) struct Dependency {
    pub(super) name: String,
    pub(super) purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// In the crate itself or its build script.
    Product,
    Tests,
}

impl Graph {
    pub(super) fn read(workspace: &Workspace) -> Outcome<Self> {
        let metadata = capture(&mut workspace.cargo(["metadata", "--format-version", "1", "--locked"]))?;
        let tree = ["tree", "--workspace", "-e", "normal,build,dev", "--prefix", "none", "--locked"];
        let compiled = capture(workspace.cargo(tree).args(["--target", "all"]))?;
        let compiled_here = capture(&mut workspace.cargo(tree))?;
        Ok(Self {
            packages: packages(&Json::parse(&metadata)?),
            compiled: versions(&compiled),
            compiled_here: versions(&compiled_here),
        })
    }

    /// The crates of this workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.origin == Origin::Workspace)
    }
}

fn packages(metadata: &Json) -> Vec<Package> {
    let members = metadata.get("workspace_members").items();
    let packages = metadata.get("packages").items().iter();
    let package = |json: &Json| Package {
        version: Version { name: string(json.get("name")), number: string(json.get("version")) },
        licence: json.get("license").text().map(str::to_owned),
        origin: if members.contains(json.get("id")) { Origin::Workspace } else { Origin::Elsewhere },
        dependencies: json.get("dependencies").items().iter().map(dependency).collect(),
        features: json.get("features").names().map(str::to_owned).collect(),
    };
    packages.map(package).collect()
}

fn dependency(json: &Json) -> Dependency {
    let purpose = if json.get("kind").text() == Some("dev") { Purpose::Tests } else { Purpose::Product };
    Dependency { name: string(json.get("name")), purpose }
}

fn string(json: &Json) -> String {
    json.text().unwrap_or_default().to_owned()
}

/// `name v1.2.3 (…)` per line, repeated as often as the package appears in the tree.
fn versions(tree: &str) -> BTreeSet<Version> {
    let version = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, number) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some(Version { name: name.to_owned(), number: number.to_owned() })
    };
    tree.lines().filter_map(version).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A graph for the tests of the rules: members with what their product needs, and compiled versions.
    pub(in crate::tidy) fn graph(members: &[(&str, &[&str])], compiled: &[(&str, &str)]) -> Graph {
        let dependency = |name: &&str| Dependency { name: (*name).to_owned(), purpose: Purpose::Product };
        let version = |name: &str, number: &str| Version { name: name.to_owned(), number: number.to_owned() };
        let package = |(name, needs): &(&str, &[&str])| Package {
            version: version(name, "0.1.0"),
            licence: None,
            origin: Origin::Workspace,
            dependencies: needs.iter().map(dependency).collect(),
            features: vec![],
        };
        let compiled: BTreeSet<_> = compiled.iter().map(|(name, number)| version(name, number)).collect();
        Graph { packages: members.iter().map(package).collect(), compiled_here: compiled.clone(), compiled }
    }

    #[test]
    fn metadata_is_read() {
        let metadata = r#"{"workspace_members": ["path#ours@0.1.0"], "packages": [
            {"name": "ours", "version": "0.1.0", "id": "path#ours@0.1.0", "license": null, "dependencies": [
                {"name": "tokio", "kind": null}, {"name": "cc", "kind": "build"}, {"name": "insta", "kind": "dev"}]},
            {"name": "tokio", "version": "1.54.1", "id": "registry#tokio", "license": "MIT", "dependencies": []}]}"#;
        let read = packages(&Json::parse(metadata).unwrap());
        let [ours, tokio] = read.as_slice() else { panic!("{read:?}") };
        let purposes: Vec<_> = ours.dependencies.iter().map(|dependency| dependency.purpose).collect();
        assert_eq!(purposes, [Purpose::Product, Purpose::Product, Purpose::Tests]);
        assert_eq!((ours.origin, tokio.origin), (Origin::Workspace, Origin::Elsewhere));
        assert_eq!((ours.licence.as_deref(), tokio.licence.as_deref()), (None, Some("MIT")));
    }

    #[test]
    fn a_tree_is_a_set_of_versions() {
        let tree = "rookery v0.1.0 (/src/crates/rookery)\nsyn v2.0.1\n\nserde_derive v1.0.2 (proc-macro) (*)\nsyn v2.0.1 (*)\n";
        let names: Vec<_> = versions(tree)
            .into_iter()
            .map(|version| format!("{} {}", version.name, version.number))
            .collect();
        assert_eq!(names, ["rookery 0.1.0", "serde_derive 1.0.2", "syn 2.0.1"]);
    }
}
