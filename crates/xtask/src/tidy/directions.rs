//! Which crate may use which. A new crate must be given its place here before anything else.

use super::Problems;
use super::graph::{Graph, Package, Purpose};

/// What a crate may use of this workspace (tests may use more).
#[derive(Debug)]
enum May {
    Use(&'static [&'static str]),
    UseAllBut(&'static [&'static str]),
}

const DIRECTIONS: &[(&str, May)] = &[
    (
        "rookery",
        May::UseAllBut(&[
            "rookery-bench",
            "rookery-hatchery-stories",
            "rookery-kit",
            "rookery-vsphere-stories",
            "xtask",
        ]),
    ),
    ("rookery-bench", May::UseAllBut(&["rookery", "rookery-vsphere-stories", "xtask"])),
    ("rookery-cds", May::Use(&["rookery-daemon", "rookery-dial"])),
    ("rookery-cds-sim", May::Use(&["rookery-daemon", "rookery-sim"])),
    ("rookery-crds", May::Use(&[])),
    ("rookery-daemon", May::Use(&[])),
    ("rookery-dial", May::Use(&[])),
    ("rookery-fleet", May::Use(&[])),
    (
        "rookery-fleet-vsphere",
        May::Use(&["rookery-daemon", "rookery-fleet", "rookery-vim", "rookery-vim-client"]),
    ),
    (
        "rookery-hatchery",
        May::Use(&[
            "rookery-cds",
            "rookery-daemon",
            "rookery-dial",
            "rookery-fleet",
            "rookery-fleet-vsphere",
            "rookery-vim",
            "rookery-vim-client",
        ]),
    ),
    (
        "rookery-hatchery-stories",
        May::Use(&[
            "rookery-cds-sim",
            "rookery-daemon",
            "rookery-fleet-vsphere",
            "rookery-hatchery",
            "rookery-kit",
            "rookery-vim-client",
            "rookery-vim-sim",
        ]),
    ),
    ("rookery-kit", May::Use(&["rookery-daemon", "rookery-vim", "rookery-vim-client", "rookery-vim-sim"])),
    ("rookery-operator", May::Use(&["rookery-crds", "rookery-fleet"])),
    ("rookery-sim", May::Use(&["rookery-daemon"])),
    ("rookery-vim", May::Use(&[])),
    ("rookery-vim-client", May::Use(&["rookery-daemon", "rookery-dial", "rookery-vim"])),
    ("rookery-vim-sim", May::Use(&["rookery-daemon", "rookery-sim", "rookery-vim"])),
    ("rookery-vsphere-stories", May::Use(&["rookery-kit", "rookery-vim-client"])),
    ("xtask", May::Use(&[])),
];

/// Holds whatever [`DIRECTIONS`] says, in tests as well: a simulator checked with our own client would repeat its
/// mistakes, and every process would pay for TLS in `daemon`.
const NEVER: &[(&str, &str)] = &[
    ("rookery-cds-sim", "rookery-cds"),
    ("rookery-daemon", "rustls"),
    ("rookery-daemon", "tokio-rustls"),
    ("rookery-vim-sim", "rookery-vim-client"),
];

/// Crates of pure functions and data: no runtime, network, database or cluster.
const PURE: &[&str] = &["rookery-fleet", "rookery-vim"];
const IMPURE: &[&str] = &[
    "async-std",
    "axum",
    "h2",
    "hyper",
    "hyper-util",
    "kube",
    "mio",
    "rusqlite",
    "rustls",
    "smol",
    "socket2",
    "sqlx",
    "tokio",
    "tokio-rustls",
    "tokio-tungstenite",
    "tokio-util",
    "tonic",
    "tower",
];

pub(super) fn check(graph: &Graph) -> Problems {
    let names: Vec<&str> = graph.members().map(|member| member.version.name.as_str()).collect();
    let mut problems = vec![];
    for member in graph.members() {
        let name = member.version.name.as_str();
        let never = member.dependencies.iter().filter(|used| NEVER.contains(&(name, used.name.as_str())));
        problems.extend(
            never.map(|used| format!("{name} must never depend on {}, not even in tests", used.name)),
        );
        let Some((_, may)) = DIRECTIONS.iter().find(|(known, _)| *known == name) else {
            problems
                .push(format!("{name} has no place yet: add it to DIRECTIONS in xtask's tidy/directions.rs"));
            continue;
        };
        let ours = product_of(member).filter(|used| names.contains(used));
        let wrong = ours.filter(|used| match may {
            May::Use(allowed) => !allowed.contains(used),
            May::UseAllBut(forbidden) => forbidden.contains(used),
        });
        problems.extend(wrong.map(|used| format!("{name} must not depend on {used}")));
    }
    let gone = DIRECTIONS.iter().filter(|(known, _)| !names.contains(known));
    problems
        .extend(gone.map(|(known, _)| format!("{known} is not in the workspace: remove it from DIRECTIONS")));
    problems
}

pub(super) fn check_pure(graph: &Graph) -> Problems {
    let pure = graph.members().filter(|member| PURE.contains(&member.version.name.as_str()));
    let problems = pure.flat_map(|member| {
        let wrong = product_of(member).filter(|used| IMPURE.contains(used));
        wrong.map(|used| format!("{} is pure and must not depend on {used}", member.version.name))
    });
    problems.collect()
}

fn product_of(member: &Package) -> impl Iterator<Item = &str> {
    let product = member.dependencies.iter().filter(|dependency| dependency.purpose == Purpose::Product);
    product.map(|dependency| dependency.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    /// The whole workspace without dependencies, but for one crate.
    fn problems(name: &'static str, uses: &'static [&'static str]) -> Problems {
        let mut members: Vec<(&str, &[&str])> =
            DIRECTIONS.iter().map(|(known, _)| (*known, [].as_slice())).collect();
        members.retain(|(known, _)| *known != name);
        members.push((name, uses));
        check(&graph(&members, &[]))
    }

    #[test]
    fn allowed_directions_pass() {
        assert_eq!(problems("rookery-vim-client", &["rookery-vim", "rookery-daemon", "hyper"]), [""; 0]);
        assert_eq!(problems("rookery", &["rookery-vim-client", "rookery-daemon"]), [""; 0]);
    }

    #[test]
    fn a_wrong_direction_is_named() {
        assert_eq!(
            problems("rookery-vim", &["rookery-daemon"]),
            ["rookery-vim must not depend on rookery-daemon"]
        );
        assert_eq!(problems("rookery", &["rookery-kit"]), ["rookery must not depend on rookery-kit"]);
    }

    #[test]
    fn a_crate_without_a_place_is_a_problem_and_so_is_a_place_without_a_crate() {
        let added = problems("rookery-new", &[]);
        assert!(added.iter().any(|problem| problem.starts_with("rookery-new has no place yet")), "{added:?}");
        let empty = check(&graph(&[], &[]));
        assert_eq!(empty.len(), DIRECTIONS.len());
    }

    #[test]
    fn the_simulator_never_uses_the_client() {
        let wrong = problems("rookery-vim-sim", &["rookery-vim-client"]);
        let expected =
            "rookery-vim-sim must never depend on rookery-vim-client, not even in tests".to_owned();
        assert!(wrong.contains(&expected), "{wrong:?}");
    }

    #[test]
    fn what_every_process_has_is_without_tls() {
        let wrong = problems("rookery-daemon", &["hyper", "rustls"]);
        assert_eq!(wrong, ["rookery-daemon must never depend on rustls, not even in tests"]);
    }

    #[test]
    fn a_pure_crate_has_no_runtime() {
        let graph = graph(&[("rookery-vim", &["quick-xml", "tokio"]), ("rookery-daemon", &["tokio"])], &[]);
        assert_eq!(check_pure(&graph), ["rookery-vim is pure and must not depend on tokio"]);
    }
}
