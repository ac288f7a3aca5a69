//! Crates that may not come in, not even through others, and what takes their place.

use super::Problems;
use super::graph::Graph;

// Not `time`: rcgen, which makes the simulator's certificate, needs it. Our own code uses jiff all the same.
const BANNED: &[(&str, &str)] = &[
    ("chrono", "jiff"),
    ("native-tls", "rustls"),
    ("openssl-sys", "rustls with aws-lc-rs"),
    ("reqwest", "hyper"),
    ("ring", "aws-lc-rs"),
    ("serde_yaml", "serde-saphyr"),
];

pub(super) fn check(graph: &Graph) -> Problems {
    let found = graph.compiled.iter().filter_map(|version| {
        let (name, instead) = BANNED.iter().find(|(name, _)| *name == version.name)?;
        Some(format!(
            "{name} {}: use {instead} (`cargo tree --target all -i {name}` shows the way in)",
            version.number
        ))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    #[test]
    fn only_what_is_compiled_counts() {
        let graph = graph(
            &[("rookery", &["ring"])],
            &[("rookery", "0.1.0"), ("chrono", "0.4.1"), ("chrono-tz", "0.1.0")],
        );
        let problems = check(&graph);
        assert_eq!(
            problems,
            ["chrono 0.4.1: use jiff (`cargo tree --target all -i chrono` shows the way in)"]
        );
    }
}
