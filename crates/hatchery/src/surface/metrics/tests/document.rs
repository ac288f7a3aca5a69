//! The document of all metrics.

use std::fmt::Write as _;

use rookery_daemon::metrics::Metric;

use super::*;

const BEGIN: &str = "<!-- metrics: begin -->\n";
const END: &str = "<!-- metrics: end -->";

fn table(title: &str, rows: &[Row]) -> String {
    let mut text = format!("\n## {title}\n\n| metric | kind | labels | meaning |\n|---|---|---|---|\n");
    for Metric { name, kind, labels, help } in rows.iter().map(|row| &row.metric) {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        writeln!(text, "| `{name}` | {} | {} | {help} |", kind.as_str(), labels.join(", ")).unwrap();
    }
    text
}

fn set(title: &str, words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    format!("- {title}: {}\n", words.join(", "))
}

#[test]
fn the_document_lists_every_metric() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (documented, after) = rest.split_once(END).unwrap();
    let mut made = table("Names of the Go hatchery", UPSTREAM);
    made.push_str(&table("Names of our own", OWN));
    made.push_str("\n## Values of labels\n\n");
    for (title, words) in [
        ("`path`", &words::WAYS[..]),
        ("`stage`", &words::STAGES),
        ("`reason` of `rookery_hatchery_claim_misses_total`", &words::MISSES),
        ("`reason` of deletions", &words::DELETIONS),
        ("`reason` of `rookery_hatchery_deletions_stopped`", &words::STOPS),
        ("`reason` of `rookery_hatchery_jobs_waiting`", &words::WAITING),
        ("`kind` of `rookery_hatchery_leaks_found_total`", &words::LEAKS),
        ("`what`", &words::BRAKED),
        ("`work`", &words::WORKS),
    ] {
        made.push_str(&set(title, words));
    }
    made.push('\n');
    if documented != made && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, format!("{before}{BEGIN}{made}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(documented, made, "docs/metrics.md tells something else; UPDATE_DOCS=1 rewrites it");
}
