//! A real Prometheus server scrapes a hatchery at work, and is asked for each series that we say there is. Run it with
//! `cargo xtask bench metrics`.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::fmt::Write as _;
use std::process::Stdio;

use rookery_daemon::metrics::Kind;
use rookery_hatchery::surface::metrics::catalog;
use rookery_hatchery_stories::{Lab, LabOptions};
use rookery_kit::{eventually, read_page, tool, workspace};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

#[tokio::main]
async fn main() {
    let lab = Lab::start(LabOptions {
        settings: r#"
iprange = "10.9.0.0/24"
gateway = "10.9.0.1"
workerProvisioning = [{ modelVMWare = "debian12", number = 2 }]
"#
        .to_owned(),
        ..LabOptions::default()
    })
    .await;
    let scene = lab.hatch().await;
    let job = lab.v2_job(Lab::ROCKY, "true").await;
    lab.ended(&job).await;

    let prometheus = Prometheus::start(&scene.url).await;
    let mut series = 0;
    for metric in catalog() {
        let name = match metric.kind {
            Kind::Histogram => format!("{}_count", metric.name),
            Kind::Counter | Kind::Gauge => metric.name.to_owned(),
        };
        eventually(&format!("Prometheus knows {name}"), async || prometheus.ask(&name).await > 0).await;
        let found = prometheus.ask(&name).await;
        series += found;
        assert_eq!(prometheus.kind(metric.name).await, metric.kind.as_str(), "{name}");
    }
    println!("{} metrics, {series} series of them: Prometheus has them all", catalog().count());
    println!("{} rules: none fails", prometheus.rules().await);
    println!("{} queries of the dashboard: all are understood", prometheus.dashboard().await);
    let figure = async |name: &str| prometheus.value(name).await;
    println!("{} samples in a scrape", figure("scrape_samples_scraped").await);
    println!("{} s for a scrape", figure("scrape_duration_seconds").await);
    drop(prometheus);
    scene.stop().await;
    lab.close().await;
}

/// The real server, as its own process. It ends with this value.
struct Prometheus {
    _child: Child,
    url: String,
    _files: TempDir,
}

impl Prometheus {
    async fn start(target: &str) -> Self {
        let files = TempDir::new().expect("a folder");
        let config = files.path().join("prometheus.yml");
        let target = target.trim_start_matches("http://");
        let rules = workspace().join("deploy/prometheus/rookery-alerts.yaml").display().to_string();
        let text = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: [{rules:?}]\n\
             scrape_configs:\n  - job_name: hatchery\n    static_configs:\n      - targets: [{target:?}]\n",
        );
        std::fs::write(&config, text).expect("a file");
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let child = Command::new(tool("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", files.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--log.level=error")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Prometheus starts");
        let prometheus = Self { _child: child, url: format!("http://{address}"), _files: files };
        eventually("Prometheus is up", async || {
            read_page(&format!("{}/-/ready", prometheus.url)).await.is_ok_and(|(status, ..)| status == 200)
        })
        .await;
        prometheus
    }

    /// One page of its API.
    async fn get(&self, path: &str) -> Value {
        let (status, _, text) = read_page(&format!("{}/api/v1/{path}", self.url)).await.expect("an answer");
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str::<Value>(&text).expect("JSON")["data"].take()
    }

    /// How many series a query finds now.
    async fn ask(&self, query: &str) -> usize {
        self.query(query).await["result"].as_array().map_or(0, Vec::len)
    }

    async fn query(&self, query: &str) -> Value {
        let mut encoded = String::new();
        for byte in query.bytes() {
            write!(encoded, "%{byte:02x}").expect("a string takes anything");
        }
        self.get(&format!("query?query={encoded}")).await
    }

    /// How many queries the dashboard has; one that is not understood ends it all.
    async fn dashboard(&self) -> usize {
        let file = workspace().join("deploy/grafana/rookery.json");
        let text = std::fs::read_to_string(file).expect("it is part of the product");
        let dashboard: Value = serde_json::from_str(&text).expect("JSON");
        let panels = dashboard["panels"].as_array().expect("panels");
        let targets: Vec<_> =
            panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten().collect();
        for target in &targets {
            let query = target["expr"].as_str().expect("a query");
            self.ask(&query.replace("$__rate_interval", "1m").replace("$instance", ".*")).await;
        }
        targets.len()
    }

    /// The value of the only series of a name.
    async fn value(&self, name: &str) -> String {
        let answer = self.query(name).await;
        answer["result"][0]["value"][1].as_str().unwrap_or_else(|| panic!("{name}: {answer}")).to_owned()
    }

    /// What kind of metric it took a name for.
    async fn kind(&self, name: &str) -> String {
        let answer = self.get(&format!("metadata?metric={name}")).await;
        answer[name][0]["type"].as_str().unwrap_or_else(|| panic!("{name}: {answer}")).to_owned()
    }

    /// How many rules it has loaded and evaluated, all of them without an error.
    async fn rules(&self) -> usize {
        let all = async || {
            let answer = self.get("rules").await;
            let groups = answer["groups"].as_array().cloned().unwrap_or_default();
            groups
                .iter()
                .flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default())
                .collect::<Vec<_>>()
        };
        let healthy = |rule: &Value| rule["health"] == "ok";
        eventually("all rules were evaluated", async || {
            let rules = all().await;
            let failed = rules.iter().find(|rule| rule["health"] == "err");
            assert!(failed.is_none(), "{failed:?}");
            !rules.is_empty() && rules.iter().all(healthy)
        })
        .await;
        all().await.len()
    }
}
