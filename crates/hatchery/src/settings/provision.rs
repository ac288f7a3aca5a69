//! `commonConfiguration.provision`: which jobs are taken, how many at once, and how workers are configured.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::capacity::Limits;
use secrecy::SecretString;

use super::common;
use super::flavors::{self, Sizing};
use super::section::{Section, Switch};
use crate::launch::config::{Addresses, HttpAddress, LogOptions, LogServer};

/// Which jobs are taken, and how they are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Whether the V2 queue is polled in addition to its websocket.
    pub poll_v2: bool,
    /// The region of V1 jobs.
    pub region: Option<String>,
    pub ignore_jobs_without_region: bool,
    /// Whether fewer workers start at once while CDS answers slowly.
    pub adapts_to_cds: bool,
    /// How many models are registered at once; `None`: no registration.
    pub registering: Option<u32>,
    pub register_every: Duration,
    /// After how many attempts a job fails; `None`: never.
    pub attempts: Option<u32>,
    pub slow_spawn: SlowSpawn,
}

/// After which time a spawn is logged as slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlowSpawn {
    pub warning: Duration,
    pub critical: Duration,
}

#[derive(Debug, Clone)]
pub struct Worker {
    /// Environment variables; their values may be secrets.
    pub env: BTreeMap<String, SecretString>,
    /// Servers as workers reach them, where that differs from ours and from what CDS says.
    pub addresses: Addresses,
    /// Empty for the system's temporary folder.
    pub basedir: String,
    pub logs: LogOptions,
}

/// The section, with keys of sizes that belong elsewhere.
pub(super) struct Provision {
    pub(super) queue: Queue,
    pub(super) limits: Limits,
    pub(super) worker: Worker,
    pub(super) sizing: Sizing,
}

pub(super) fn provision(mut section: Section<'_, '_>, slow_spawn: SlowSpawn) -> Provision {
    let (limits, registering) = limits(&mut section);
    let queue = Queue {
        adapts_to_cds: true,
        registering,
        poll_v2: !section.flag("disableV2QueuePolling"),
        region: section.text("region"),
        ignore_jobs_without_region: section.flag("ignoreJobWithNoRegion"),
        register_every: section.seconds("registerFrequency"),
        attempts: section.switchable("maxAttemptsNumberBeforeFailure").number(),
        slow_spawn,
    };
    let worker = worker(&mut section);
    let sizing = section.as_top(flavors::sizing);
    section.end();
    Provision { queue, limits, worker, sizing }
}

pub(super) fn slow_spawn(mut log_options: Section<'_, '_>) -> SlowSpawn {
    let mut spawn = log_options.section("spawnOptions");
    let (critical, warning) = (spawn.seconds("thresholdCritical"), spawn.seconds("thresholdWarning"));
    if warning > critical {
        let (late, early) = (warning.as_secs(), critical.as_secs());
        spawn.warn("thresholdWarning", format!("{late} is after thresholdCritical, which is {early}"));
    }
    spawn.end();
    log_options.end();
    SlowSpawn { warning, critical }
}

/// The limits without those of hardware, and how many models are registered at once.
fn limits(section: &mut Section<'_, '_>) -> (Limits, Option<u32>) {
    let workers = Some(section.natural_or_default("maxWorker")).filter(|most| *most != 0);
    // For the Go hatchery everything below one means the default, so existing files contain negative numbers.
    let starting = section.integer("maxConcurrentProvisioning").filter(|most| *most >= 1);
    let starting = starting.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
    let registering = section.switchable("maxConcurrentRegistering");
    if let Some(workers) = workers {
        // Only values that are set: a small maxWorker alone must not make the other defaults wrong.
        let mut at_most = |name: &str, most: Option<u32>| {
            if let Some(most) = most.filter(|most| *most > workers) {
                section.problem(name, format!("{most} is more than maxWorker, which is {workers}"));
            }
        };
        let written = if let Switch::At(most) = registering { Some(most) } else { None };
        at_most("maxConcurrentProvisioning", starting);
        at_most("maxConcurrentRegistering", written);
    }
    let starting = starting.unwrap_or_else(|| section.default_number("maxConcurrentProvisioning"));
    let limits = Limits { workers, starting, size: rookery_fleet::capacity::Limits::default() };
    (limits, registering.number())
}

fn worker(section: &mut Section<'_, '_>) -> Worker {
    let env = variables(section);
    let mut http = section.section("workerApiHttp");
    let insecure = http.flag("insecure");
    let url = common::optional_url(&mut http, "url");
    if insecure && url.is_none() {
        http.warn("insecure", "has no effect without url: workers then do as api.http says");
    }
    http.end();
    let api = url.map(|url| HttpAddress { url: url.to_string(), insecure }).unwrap_or_default();
    let addresses = Addresses { api, cdn: common::cdn(section.section("workerCdn")) };
    let basedir = section.text_or_default("workerBasedir");
    Worker { env, addresses, basedir, logs: worker_logs(section.section("workerLogsOptions")) }
}

fn variables(section: &mut Section<'_, '_>) -> BTreeMap<String, SecretString> {
    let mut variables = BTreeMap::new();
    for (index, entry) in section.texts("injectEnvVars").into_iter().enumerate() {
        let at = format!("injectEnvVars[{index}]");
        match entry.split_once('=') {
            // The entry is not shown: without an equals sign all of it may be a secret.
            None => section.warn(&at, "has no = and is left out"),
            Some(("", _)) => section.warn(&at, "has no name before its = and is left out"),
            Some((name, value)) => {
                if variables.insert(name.to_owned(), value.into()).is_some() {
                    section.warn(&at, format!("sets {name} again; the last one counts"));
                }
            }
        }
    }
    variables
}

fn worker_logs(mut section: Section<'_, '_>) -> LogOptions {
    let level = section.text_or_default("level");
    let mut graylog = section.section("graylog");
    let server = log_server(&mut graylog);
    let extra_key = graylog.text_or_default("extraKey");
    let extra_value = graylog.secret("extraValue").unwrap_or_default();
    graylog.end();
    let mut syslog = section.section("syslog");
    let syslog_server = log_server(&mut syslog);
    let extra_tag = syslog.text_or_default("extraTag");
    syslog.end();
    section.end();
    LogOptions {
        level,
        graylog: server,
        graylog_extra_key: extra_key,
        graylog_extra_value: extra_value,
        syslog: syslog_server,
        syslog_extra_tag: extra_tag,
    }
}

fn log_server(section: &mut Section<'_, '_>) -> LogServer {
    let host = section.text_or_default("host");
    let number = section.natural_or_default("port");
    let port = u16::try_from(number).unwrap_or_else(|_| {
        section.problem("port", format!("{number} is not a port"));
        0
    });
    let protocol = section.text_or_default("protocol");
    if !matches!(protocol.as_str(), "tcp" | "udp") {
        section.problem("protocol", format!("{protocol:?} is neither \"tcp\" nor \"udp\""));
    }
    if !host.is_empty() && port == 0 {
        section.warn("port", "is not set, so that host is of no use");
    }
    LogServer { host, port, protocol }
}
