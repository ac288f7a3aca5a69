//! The table in `docs/simulator.md`: made by looking.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream};
use rookery_kit::{Refused, workspace};
use tokio::time::timeout;

use super::features::{self, Feature};
use super::subject::{Kind, Subject};

/// A server that takes so long will not answer any more.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many servers are looked at at once.
const AT_ONCE: usize = 4;

const BEGIN: &str = "<!-- The table is made by `cargo test -p rookery-vsphere-stories matrix`. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

/// What the simulator cannot do yet, by assertion, and why. What stands here must fail: it goes when it works.
const NOT_YET: [(&str, &str); 0] = [];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Finding {
    Works,
    Differs(String),
    Silent,
}

impl Finding {
    fn mark(&self) -> &'static str {
        match self {
            Self::Works => "✔",
            Self::Differs(_) => "–",
            Self::Silent => "no answer",
        }
    }
}

#[tokio::test]
async fn the_support_table_tells_what_both_do() {
    let wanted = std::env::var("SUPPORT_ONLY").ok();
    let chosen: Vec<Feature> = features::all()
        .into_iter()
        .filter(|feature| wanted.as_ref().is_none_or(|only| feature.assertion.contains(only.as_str())))
        .collect();
    let runs = chosen.iter().flat_map(|feature| [Kind::Rookery, Kind::Vcsim].map(|kind| (*feature, kind)));
    let findings: BTreeMap<(&str, bool), Finding> = stream::iter(runs)
        .map(|(feature, kind)| async move {
            ((feature.assertion, kind == Kind::Rookery), look(feature, kind).await)
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    for ((assertion, is_ours), finding) in &findings {
        let server = if *is_ours { "rookery" } else { "vcsim" };
        match finding {
            Finding::Works => {}
            Finding::Differs(reason) => println!("{server} {assertion}: {reason}"),
            Finding::Silent => println!("{server} {assertion}: no answer"),
        }
    }
    assert_unfinished(&findings);
    if wanted.is_none() {
        assert_documented(&table(&chosen, &findings));
    }
}

async fn look(feature: Feature, kind: Kind) -> Finding {
    let checking = async { (feature.check)(Subject::start(kind, feature.world).await).await };
    match timeout(PATIENCE, AssertUnwindSafe(checking).catch_unwind()).await {
        Ok(Ok(Ok(()))) => Finding::Works,
        Ok(Ok(Err(error))) if is_silence(&error) => Finding::Silent,
        Ok(Ok(Err(error))) => Finding::Differs(format!("{error:#}")),
        Ok(Err(_)) => Finding::Differs("the server did not start, or did what no client expects".to_owned()),
        Err(_) => Finding::Silent,
    }
}

/// Whether a server hung up on its client.
fn is_silence(error: &anyhow::Error) -> bool {
    let refused =
        error.downcast_ref::<Refused>().is_some_and(|refused| refused.fault.starts_with("no answer"));
    refused || format!("{error:#}").ends_with("EOF")
}

/// What we cannot do is exactly what is known.
fn assert_unfinished(findings: &BTreeMap<(&str, bool), Finding>) {
    let ours =
        || findings.iter().filter(|((_, is_ours), _)| *is_ours).map(|((name, _), found)| (*name, found));
    let failing: Vec<_> = ours().filter(|(_, found)| **found != Finding::Works).collect();
    let surprises: Vec<_> =
        failing.iter().filter(|(name, _)| NOT_YET.iter().all(|(known, _)| known != name)).collect();
    assert!(surprises.is_empty(), "the simulator should do this: {surprises:#?}");
    let done: Vec<_> = NOT_YET
        .iter()
        .filter(|(known, _)| ours().any(|(name, found)| name == *known && *found == Finding::Works))
        .collect();
    assert!(done.is_empty(), "this works now, so it is no longer missing: {done:#?}");
}

fn table(features: &[Feature], findings: &BTreeMap<(&str, bool), Finding>) -> String {
    let mut text = String::new();
    let mut area = "";
    for feature in features {
        if feature.area != area {
            area = feature.area;
            write!(text, "\n### {area}\n\n| feature | rookery | vcsim | assertion |\n|---|---|---|---|\n")
                .expect("text grows");
        }
        let mark = |is_ours| findings[&(feature.assertion, is_ours)].mark();
        let (ours, theirs) = (mark(true), mark(false));
        writeln!(text, "| {} | {ours} | {theirs} | `{}` |", feature.name, feature.assertion)
            .expect("text grows");
    }
    text.push('\n');
    text
}

fn assert_documented(made: &str) {
    let file = workspace().join("docs/simulator.md");
    let text = std::fs::read_to_string(&file).expect("docs/simulator.md is there");
    let (before, rest) = text.split_once(BEGIN).expect("the table has a beginning");
    let (documented, after) = rest.split_once(END).expect("the table has an end");
    if documented == made {
        return;
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, format!("{before}{BEGIN}{made}{END}{after}")).expect("the file can be written");
        return;
    }
    panic!("docs/simulator.md tells something else; UPDATE_DOCS=1 writes what was seen:\n{made}");
}
