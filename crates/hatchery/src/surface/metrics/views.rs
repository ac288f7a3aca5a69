//! The list of metrics, as upstream's page shows it.

use rookery_daemon::metrics::{Kind, Metric};
use serde::Serialize;

use super::catalog::catalog;

/// What upstream's names are made from: slashes became underscores.
const FOLDERS: [&str; 5] =
    ["cds/hatchery/vsphere/", "cds/hatchery/", "cds/mem/", "cds/http/router/", "cds/http/server/"];

/// One metric, as upstream lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    /// Its name, with slashes if it is upstream's.
    pub name: String,
    pub description: &'static str,
    pub tags: &'static [&'static str],
    pub dimension: &'static str,
    /// How it is summed up.
    pub aggregation: &'static str,
    /// The same, under the name that upstream's page has for it.
    pub aggregagtion: &'static str,
}

pub fn views() -> Vec<View> {
    catalog().map(view).collect()
}

fn view(metric: &Metric) -> View {
    let name = metric.name;
    let in_folder = |folder: &&str| {
        let rest = name.strip_prefix(&folder.replace('/', "_"))?;
        Some(format!("{folder}{rest}"))
    };
    let aggregation = match metric.kind {
        Kind::Counter => "Count",
        Kind::Gauge => "LastValue",
        Kind::Histogram => "Distribution",
    };
    View {
        name: FOLDERS.iter().find_map(in_folder).unwrap_or_else(|| name.to_owned()),
        description: metric.help,
        tags: metric.labels,
        dimension: dimension(name),
        aggregation,
        aggregagtion: aggregation,
    }
}

fn dimension(name: &str) -> &'static str {
    if name.ends_with("_bytes")
        || name.contains("_bytes_")
        || name.starts_with("cds_mem_") && name != "cds_mem_gc"
    {
        "By"
    } else if name.contains("_latency_") {
        "ms"
    } else if name.ends_with("_seconds") {
        "s"
    } else {
        "1"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_upstream_have_their_slashes() {
        let views = views();
        let view = |name: &str| views.iter().find(|view| view.name == name).expect(name);
        assert_eq!(view("cds/hatchery/jobs_count").aggregation, "Count");
        assert_eq!(view("cds/hatchery/vsphere/vm_count").tags, ["service_name", "service_type"]);
        assert_eq!(view("cds/http/server/latency_by_handler").dimension, "ms");
        assert_eq!(view("cds/http/router/router_hits").dimension, "1");
        assert_eq!(view("cds/mem/alloc").dimension, "By");
        assert_eq!(view("rookery_hatchery_pass_seconds").aggregation, "Distribution");
    }
}
