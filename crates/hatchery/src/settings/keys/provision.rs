//! The keys of `commonConfiguration.provision`.

use super::{Effective, Key, key, open, opt, reloading, seconds, secret};
use crate::launch::config::{Addresses, LogOptions};
use crate::settings::Settings;

/// The path of a key of this section.
macro_rules! at {
    ($name:literal) => {
        concat!("commonConfiguration.provision.", $name)
    };
}

pub(super) const KEYS: &[Key] = &[
    reloading(key(at!("maxWorker"), "10", "workers at once; 0: as many as the other limits allow", |s| {
        open(s.limits.workers.unwrap_or(0))
    })),
    reloading(key(
        at!("maxConcurrentProvisioning"),
        "10",
        "workers that are on their way at once, at most maxWorker; below 1: the default",
        |s| open(s.limits.starting),
    )),
    reloading(key(
        at!("maxConcurrentRegistering"),
        "2",
        "V1 models that are registered at once, at most maxWorker; -1: none ever",
        |s| switchable(s.queue.registering),
    )),
    key(at!("registerFrequency"), "60", "seconds between two looks at models that need registration", |s| {
        seconds(s.queue.register_every)
    }),
    key(
        at!("maxAttemptsNumberBeforeFailure"),
        "5",
        "spawns that are tried for a job before it is failed; -1: no end",
        |s| switchable(s.queue.attempts),
    ),
    key(at!("region"), "", "region that V1 jobs may ask for; V2 has it from CDS", |s| {
        opt(s.queue.region.as_ref())
    }),
    key(at!("ignoreJobWithNoRegion"), "false", "whether V1 jobs that name no region are left alone", |s| {
        open(s.queue.ignore_jobs_without_region)
    }),
    key(at!("disableV2QueuePolling"), "false", "whether V2 jobs are left alone", |s| open(!s.queue.poll_v2)),
    key(at!("injectEnvVars"), "", "variables of the workers' environment, each `NAME=value`", variables),
    key(at!("workerApiHttp.url"), "", "the CDS server as workers see it; api.http.url if not set", |s| {
        open(&servers(s).api.url)
    }),
    key(
        at!("workerApiHttp.insecure"),
        "false",
        "whether workers trust any certificate of that server",
        |s| open(servers(s).api.insecure),
    ),
    key(at!("workerCdn.url"), "", "where workers send logs over HTTP", |s| open(&servers(s).cdn.http_url)),
    key(at!("workerCdn.tcp.url"), "", "where workers send logs over TCP", |s| open(&servers(s).cdn.tcp_url)),
    key(at!("workerCdn.tcp.enableTLS"), "false", "whether that TCP connection is encrypted", |s| {
        open(servers(s).cdn.tcp_url_enable_tls)
    }),
    key(at!("workerBasedir"), "", "folder that workers work in; the guest's temporary one if not set", |s| {
        open(&s.worker.basedir)
    }),
    key(at!("workerLogsOptions.level"), "", "how much workers log", |s| open(&logs(s).level)),
    key(at!("workerLogsOptions.graylog.host"), "", "Graylog server of the workers", |s| {
        open(&logs(s).graylog.host)
    }),
    key(at!("workerLogsOptions.graylog.port"), "0", "its port", |s| open(logs(s).graylog.port)),
    key(
        at!("workerLogsOptions.graylog.protocol"),
        "tcp",
        "`tcp` or `udp`; only reported: workers are not told, nor does the Go hatchery tell them",
        |s| open(&logs(s).graylog.protocol),
    ),
    key(at!("workerLogsOptions.graylog.extraKey"), "", "name of a field that is added to each line", |s| {
        open(&logs(s).graylog_extra_key)
    }),
    key(at!("workerLogsOptions.graylog.extraValue"), "", "value of that field, often a token", |s| {
        secret(Some(&logs(s).graylog_extra_value))
    }),
    key(at!("workerLogsOptions.syslog.host"), "", "syslog server of the workers", |s| {
        open(&logs(s).syslog.host)
    }),
    key(at!("workerLogsOptions.syslog.port"), "0", "its port", |s| open(logs(s).syslog.port)),
    key(at!("workerLogsOptions.syslog.protocol"), "tcp", "`tcp` or `udp`", |s| {
        open(&logs(s).syslog.protocol)
    }),
    key(at!("workerLogsOptions.syslog.extraTag"), "", "tag that is added to each line", |s| {
        open(&logs(s).syslog_extra_tag)
    }),
];

/// The values may be secrets: they are compared but not shown.
fn variables(settings: &Settings) -> Effective {
    use secrecy::ExposeSecret;
    let lines = settings.worker.env.iter().map(|(name, value)| format!("{name}={}", value.expose_secret()));
    Effective::Hidden(lines.collect::<Vec<_>>().join("\n").into())
}

fn switchable(value: Option<u32>) -> Effective {
    opt(value.map(i64::from).or(Some(-1)))
}

fn servers(settings: &Settings) -> &Addresses {
    &settings.worker.addresses
}

fn logs(settings: &Settings) -> &LogOptions {
    &settings.worker.logs
}
