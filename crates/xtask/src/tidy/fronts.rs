//! What comes with a front stays with it: clients of Kubernetes, gRPC and databases are compiled only for those who want
//! that front. And what a front brings into the program is a feature of `rookery`; no other crate has features, so none
//! carries test code either: test support is a crate of its own.

use super::Problems;
use super::graph::Graph;

/// Packages whose name is one of these, or goes on after it with a dash.
const CONFINED: &[&str] = &["kube", "k8s-openapi", "prost", "rusqlite", "sqlx", "tonic"];

/// The crates that may use them, and so may their stories.
const MAY_USE: &[&str] = &[
    "rookery-crds",
    "rookery-fulfillment",
    "rookery-fulfillment-api",
    "rookery-kube-sim",
    "rookery-operator",
];

/// The features of the program: one for each front, and one for what is simulated.
const FEATURES: &[&str] = &["default", "fulfillment", "hatchery", "operator", "sim"];

pub(super) fn check_confined(graph: &Graph) -> Problems {
    let may = |name: &str| MAY_USE.contains(&name.strip_suffix("-stories").unwrap_or(name));
    let confined = |name: &str| {
        let is =
            |of: &&str| name.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        CONFINED.iter().any(is)
    };
    let members = graph.members().filter(|member| !may(&member.version.name));
    let problems = members.flat_map(|member| {
        let wrong = member.dependencies.iter().filter(|used| confined(&used.name));
        wrong.map(|used| {
            let (name, used) = (&member.version.name, &used.name);
            format!("{name} must not depend on {used}: that comes only with the operator or the fulfillment")
        })
    });
    problems.collect()
}

pub(super) fn check_features(graph: &Graph) -> Problems {
    let problems = graph.members().flat_map(|member| {
        let name = &member.version.name;
        let wrong =
            member.features.iter().filter(move |one| name != "rookery" || !FEATURES.contains(&one.as_str()));
        wrong.map(move |feature| {
            format!("{name} has a feature {feature:?}: a front is a feature of rookery, and test code a crate of its own")
        })
    });
    problems.collect()
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    #[test]
    fn clients_of_kubernetes_grpc_and_databases_stay_with_their_fronts() {
        let graph = graph(
            &[
                ("rookery-operator", &["kube", "kube-runtime", "k8s-openapi"]),
                ("rookery-fulfillment-stories", &["tonic", "sqlx"]),
                ("rookery-hatchery", &["tokio", "prost-types", "kubert", "sqlx"]),
                ("rookery-hatchery-stories", &["rusqlite"]),
            ],
            &[],
        );
        let wrong = check_confined(&graph);
        let named: Vec<_> =
            wrong.iter().filter_map(|problem| problem.split_once(": ")).map(|(who, _)| who).collect();
        assert_eq!(
            named,
            [
                "rookery-hatchery must not depend on prost-types",
                "rookery-hatchery must not depend on sqlx",
                "rookery-hatchery-stories must not depend on rusqlite",
            ]
        );
    }

    #[test]
    fn only_the_program_has_features_and_none_for_tests() {
        let mut graph = graph(&[("rookery", &[]), ("rookery-vim", &[])], &[]);
        let features = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        graph.packages[0].features = features(FEATURES);
        assert_eq!(check_features(&graph), [""; 0]);
        graph.packages[0].features = features(&["sim", "test-support"]);
        graph.packages[1].features = features(&["serde"]);
        let wrong = check_features(&graph);
        assert!(wrong[0].contains("\"test-support\"") && wrong[1].starts_with("rookery-vim"), "{wrong:?}");
    }
}
