//! What Prometheus gets: dashboards and alerts name only what is there, and what is there is what happened.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a story fails by panicking, in its helper functions, too"
)]

use std::collections::{BTreeMap, BTreeSet};

use rookery_cds_sim::Status;
use rookery_daemon::metrics::Kind;
use rookery_hatchery::surface::metrics::catalog;
use rookery_hatchery_stories::{Lab, LabOptions, Scene};
use rookery_kit::{eventually, read_page, workspace};
use serde_json::Value;

/// Only where there is TLS, or a token that says when it ends: the story of trust shows it with the real program.
const ABSENT: &str = "rookery_hatchery_expiry_timestamp_seconds";

/// With a pool, and addresses of its own.
fn options() -> LabOptions {
    LabOptions {
        settings: r#"
iprange = "10.9.0.0/28"
gateway = "10.9.0.1"
subnetMask = "255.255.255.0"
workerProvisioning = [{ modelVMWare = "debian12", number = 1 }]
"#
        .to_owned(),
        ..LabOptions::default()
    }
}

fn scrape(scene: &Scene) -> Scraped {
    Scraped::read(&scene.hatchery.published.metrics_text())
}

async fn scrape_page(scene: &Scene) -> Scraped {
    let (status, kind, text) = read_page(&format!("{}/metrics", scene.url)).await.expect("the page is there");
    assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    Scraped::read(&text)
}

/// An answer, read by the rules of the format and by nothing else.
#[derive(Debug, Default)]
struct Scraped {
    kinds: BTreeMap<String, String>,
    /// Samples as they are written, and their values.
    samples: BTreeMap<String, f64>,
}

impl Scraped {
    fn read(text: &str) -> Self {
        let mut scraped = Self::default();
        for line in text.lines() {
            if let Some(head) = line.strip_prefix("# TYPE ") {
                let (name, kind) = head.split_once(' ').expect("a name and a kind");
                assert!(
                    scraped.kinds.insert(name.to_owned(), kind.to_owned()).is_none(),
                    "{name} comes twice"
                );
            } else if !line.starts_with('#') {
                let (sample, value) = line.rsplit_once(' ').expect("a sample and its value");
                let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
                assert!(scraped.samples.insert(sample.to_owned(), value).is_none(), "{line} comes twice");
            }
        }
        scraped
    }

    fn names(&self) -> BTreeSet<&str> {
        self.samples.keys().map(|sample| sample.split('{').next().unwrap_or(sample)).collect()
    }

    /// The values of all samples of a name whose labels have this in them, together.
    fn sum(&self, name: &str, label: &str) -> f64 {
        let of_name = |sample: &str| sample.split('{').next() == Some(name) && sample.contains(label);
        self.samples.iter().filter(|(sample, _)| of_name(sample)).map(|(_, value)| value).sum()
    }
}

/// The names of metrics in a text of any language.
fn named_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("cds_") || word.starts_with("rookery_")).collect()
}

fn deployed(file: &str) -> String {
    std::fs::read_to_string(workspace().join("deploy").join(file)).expect("it is part of the product")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_metric_of_dashboard_alerts_and_catalog_is_in_a_live_scrape() {
    let lab = Lab::start(options()).await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::ROCKY, "true").await;
    assert_eq!(lab.ended(&job).await.status, Status::Success);
    // The pages count what was asked before.
    scrape_page(&scene).await;
    eventually("everything has been read", async || {
        let scraped = scrape_page(&scene).await;
        let names = scraped.names();
        ["cds_hatchery_vsphere_worker_disk_gb", "cds_hatchery_vsphere_resource_pool_memory_max_bytes"]
            .iter()
            .all(|name| names.contains(name))
    })
    .await;
    let scraped = scrape_page(&scene).await;
    let names = scraped.names();

    for metric in catalog().filter(|metric| metric.name != ABSENT) {
        assert_eq!(scraped.kinds.get(metric.name).map(String::as_str), Some(metric.kind.as_str()));
        let sample = match metric.kind {
            Kind::Histogram => format!("{}_bucket", metric.name),
            Kind::Counter | Kind::Gauge => metric.name.to_owned(),
        };
        assert!(names.contains(sample.as_str()), "{sample} has no sample");
    }
    let dashboard: Value = serde_json::from_str(&deployed("grafana/rookery.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries: Vec<_> =
        targets.map(|target| target["expr"].as_str().expect("a query").to_owned()).collect();
    assert!(queries.len() > 40, "{queries:?}");
    for text in queries.iter().chain([&deployed("prometheus/rookery-alerts.yaml")]) {
        for name in named_in(text).into_iter().filter(|name| *name != ABSENT) {
            assert!(names.contains(name), "{name} is not in a scrape: {text}");
        }
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(start_paused = true)]
async fn what_has_happened_is_counted() {
    let lab = Lab::paused(options());
    let scene = lab.hatch().await;
    eventually("a machine is warm", async || {
        scrape(&scene).sum("cds_hatchery_vsphere_provision_ready_count", "") > 0.0
    })
    .await;
    let fresh = lab.v2_job(Lab::ROCKY, "true").await;
    assert_eq!(lab.ended(&fresh).await.status, Status::Success);
    let warm = lab.v2_job(Lab::DEBIAN, "true").await;
    assert_eq!(lab.ended(&warm).await.status, Status::Success);

    eventually("both starts are counted", async || {
        scrape(&scene).sum("cds_hatchery_spawned_worker_count", "") >= 2.0
    })
    .await;
    let scraped = scrape(&scene);
    let expected = [
        ("cds_hatchery_spawned_worker_count", "service_name=\"hatchery-lab\",service_type=\"hatchery\"", 2.0),
        ("cds_hatchery_spawning_worker_count", "", 2.0),
        ("cds_hatchery_spawning_worker_errors_count", "", 0.0),
        ("cds_hatchery_jobs_processed_count", "", 2.0),
        ("cds_hatchery_chan_v2_job_add_count", "", 2.0),
        ("cds_hatchery_chan_v1_job_add_count", "", 0.0),
        ("rookery_hatchery_starts_total", "path=\"warm\"", 1.0),
        ("rookery_hatchery_starts_total", "path=\"fresh\"", 1.0),
        ("rookery_hatchery_job_start_seconds_count", "path=\"fresh\"", 1.0),
        ("rookery_hatchery_claim_misses_total", "reason=\"none\"", 1.0),
        ("rookery_hatchery_stage_seconds_count", "stage=\"take\"", 2.0),
        ("rookery_hatchery_stage_seconds_count", "stage=\"claim\"", 1.0),
        ("rookery_hatchery_stage_seconds_count", "stage=\"clone\"", 1.0),
        ("rookery_hatchery_stage_seconds_count", "stage=\"start\"", 1.0),
        ("rookery_hatchery_stage_seconds_count", "stage=\"launch\"", 2.0),
        ("rookery_hatchery_stage_failures_total", "", 0.0),
        ("rookery_cds_requests_total", "route=\"take\",outcome=\"done\"", 2.0),
        ("rookery_hatchery_addresses", "", 14.0),
    ];
    for (name, label, value) in expected {
        let sum = scraped.sum(name, label);
        assert!((sum - value).abs() < 1e-9, "{name}{{{label}}} is {sum}, not {value}");
    }
    for (name, label) in [
        ("rookery_hatchery_heartbeats_total", "protocol=\"v1\",outcome=\"done\""),
        ("rookery_hatchery_heartbeats_total", "protocol=\"v2\",outcome=\"done\""),
        ("rookery_vcenter_requests_total", "method=\"CloneVM_Task\",outcome=\"done\""),
        ("rookery_vcenter_requests_total", "method=\"Login\",outcome=\"done\""),
        ("rookery_hatchery_pass_seconds_count", ""),
    ] {
        assert!(scraped.sum(name, label) > 0.0, "{name}{{{label}}}");
    }
    scene.stop().await;
    lab.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_text_is_at_both_addresses_and_the_list_beside_it() {
    let lab = Lab::start(LabOptions::default()).await;
    let scene = lab.hatch().await;
    let page = async |path: &str| read_page(&format!("{}{path}", scene.url)).await.expect("a page");
    let (_, _, text) = page("/mon/metrics").await;
    let (_, _, same) = page("/metrics").await;
    let kinds = |text: &str| Scraped::read(text).kinds;
    assert_eq!(kinds(&text), kinds(&same));
    let (status, kind, list) = page("/mon/metrics/all").await;
    assert_eq!((status, kind.as_str()), (200, "application/json"));
    let list: Vec<Value> = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list.len(), kinds(&text).len());
    let jobs = list.iter().find(|view| view["name"] == "cds/hatchery/jobs_count").expect("listed");
    assert_eq!(jobs["aggregation"], "Count");
    assert_eq!(jobs["tags"], serde_json::json!(["service_name", "service_type"]));
    scene.stop().await;
    lab.close().await;
}
