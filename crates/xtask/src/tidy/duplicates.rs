//! Packages that are compiled in more than one version: each costs build time and memory, so each has a reason.

use std::collections::BTreeMap;

use super::Problems;
use super::graph::Graph;

/// Package and why two versions of it are borne.
const BORNE: &[(&str, &str)] = &[
    ("base64", "jsonwebtoken is still on base64 0.22"),
    ("rand_core", "imbl is still on rand_core 0.9"),
    ("syn", "tracing-attributes is still on syn 2; the other derive macros use syn 3"),
    (
        "untrusted",
        "jsonwebtoken takes aws-lc-rs with its ring-like interface, which is still on untrusted 0.7",
    ),
];

pub(super) fn check(graph: &Graph) -> Problems {
    problems(graph, BORNE)
}

/// Only this machine's platform: duplicates that exist for other systems alone cost nothing here.
fn problems(graph: &Graph, borne: &[(&str, &str)]) -> Problems {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for version in &graph.compiled_here {
        versions.entry(&version.name).or_default().push(&version.number);
    }
    versions.retain(|_, numbers| numbers.len() > 1);
    let unknown = versions.iter().filter(|(name, _)| !borne.iter().any(|(known, _)| known == *name));
    let unknown = unknown.map(|(name, numbers)| {
        format!("{name} {}: unify them, or add a reason to tidy/duplicates.rs", numbers.join(" and "))
    });
    let stale = borne.iter().filter(|(known, _)| !versions.contains_key(known));
    let stale = stale
        .map(|(known, _)| format!("{known} is no longer a duplicate: remove it from tidy/duplicates.rs"));
    unknown.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    const TWO_SYN: &[(&str, &str)] = &[("syn", "2.0.1"), ("syn", "3.0.9"), ("quote", "1.0.0")];

    #[test]
    fn a_duplicate_needs_a_reason() {
        let problems = |borne| problems(&graph(&[], TWO_SYN), borne);
        assert_eq!(problems(&[("syn", "why")]), [""; 0]);
        assert_eq!(problems(&[]), ["syn 2.0.1 and 3.0.9: unify them, or add a reason to tidy/duplicates.rs"]);
    }

    #[test]
    fn a_reason_without_a_duplicate_is_stale() {
        let found = problems(&graph(&[], TWO_SYN), &[("syn", "why"), ("quote", "why")]);
        assert_eq!(found, ["quote is no longer a duplicate: remove it from tidy/duplicates.rs"]);
    }
}
