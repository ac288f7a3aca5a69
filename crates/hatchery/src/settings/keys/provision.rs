//! The keys of `commonConfiguration.provision`.

use super::{Effective, Key, key, open, opt, reloading, seconds, secret};
use crate::launch::config::{Addresses, LogOptions};
use crate::settings::Settings;

pub(super) const KEYS: &[Key] = &[
    reloading(key(
        "commonConfiguration.provision.maxWorker",
        "10",
        "workers at once; 0: as many as the other limits allow",
        |s| open(s.limits.workers.unwrap_or(0)),
    )),
    reloading(key(
        "commonConfiguration.provision.maxConcurrentProvisioning",
        "10",
        "workers that are on their way at once, at most maxWorker; below 1: the default",
        |s| open(s.limits.starting),
    )),
    reloading(key(
        "commonConfiguration.provision.maxConcurrentRegistering",
        "2",
        "V1 models that are registered at once, at most maxWorker; -1: none ever",
        |s| switchable(s.queue.registering),
    )),
    key(
        "commonConfiguration.provision.registerFrequency",
        "60",
        "seconds between two looks at models that need registration",
        |s| seconds(s.queue.register_every),
    ),
    key(
        "commonConfiguration.provision.maxAttemptsNumberBeforeFailure",
        "5",
        "spawns that are tried for a job before it is failed; -1: no end",
        |s| switchable(s.queue.attempts),
    ),
    key(
        "commonConfiguration.provision.region",
        "",
        "region that V1 jobs may ask for; V2 has it from CDS",
        |s| opt(s.queue.region.as_ref()),
    ),
    key(
        "commonConfiguration.provision.ignoreJobWithNoRegion",
        "false",
        "whether V1 jobs that name no region are left alone",
        |s| open(s.queue.ignore_jobs_without_region),
    ),
    key(
        "commonConfiguration.provision.disableV2QueuePolling",
        "false",
        "whether V2 jobs are left alone",
        |s| open(!s.queue.poll_v2),
    ),
    key(
        "commonConfiguration.provision.injectEnvVars",
        "",
        "variables of the workers' environment, each `NAME=value`",
        variables,
    ),
    key(
        "commonConfiguration.provision.workerApiHttp.url",
        "",
        "the CDS server as workers see it; api.http.url if not set",
        |s| open(&servers(s).api.url),
    ),
    key(
        "commonConfiguration.provision.workerApiHttp.insecure",
        "false",
        "whether workers trust any certificate of that server",
        |s| open(servers(s).api.insecure),
    ),
    key("commonConfiguration.provision.workerCdn.url", "", "where workers send logs over HTTP", |s| {
        open(&servers(s).cdn.http_url)
    }),
    key("commonConfiguration.provision.workerCdn.tcp.url", "", "where workers send logs over TCP", |s| {
        open(&servers(s).cdn.tcp_url)
    }),
    key(
        "commonConfiguration.provision.workerCdn.tcp.enableTLS",
        "false",
        "whether that TCP connection is encrypted",
        |s| open(servers(s).cdn.tcp_url_enable_tls),
    ),
    key(
        "commonConfiguration.provision.workerBasedir",
        "",
        "folder that workers work in; the guest's temporary one if not set",
        |s| open(&s.worker.basedir),
    ),
    key("commonConfiguration.provision.workerLogsOptions.level", "", "how much workers log", |s| {
        open(&logs(s).level)
    }),
    key(
        "commonConfiguration.provision.workerLogsOptions.graylog.host",
        "",
        "Graylog server of the workers",
        |s| open(&logs(s).graylog.host),
    ),
    key("commonConfiguration.provision.workerLogsOptions.graylog.port", "0", "its port", |s| {
        open(logs(s).graylog.port)
    }),
    key(
        "commonConfiguration.provision.workerLogsOptions.graylog.protocol",
        "tcp",
        "`tcp` or `udp`; only reported: workers are not told, nor does the Go hatchery tell them",
        |s| open(&logs(s).graylog.protocol),
    ),
    key(
        "commonConfiguration.provision.workerLogsOptions.graylog.extraKey",
        "",
        "name of a field that is added to each line",
        |s| open(&logs(s).graylog_extra_key),
    ),
    key(
        "commonConfiguration.provision.workerLogsOptions.graylog.extraValue",
        "",
        "value of that field, often a token",
        |s| secret(Some(&logs(s).graylog_extra_value)),
    ),
    key(
        "commonConfiguration.provision.workerLogsOptions.syslog.host",
        "",
        "syslog server of the workers",
        |s| open(&logs(s).syslog.host),
    ),
    key("commonConfiguration.provision.workerLogsOptions.syslog.port", "0", "its port", |s| {
        open(logs(s).syslog.port)
    }),
    key("commonConfiguration.provision.workerLogsOptions.syslog.protocol", "tcp", "`tcp` or `udp`", |s| {
        open(&logs(s).syslog.protocol)
    }),
    key(
        "commonConfiguration.provision.workerLogsOptions.syslog.extraTag",
        "",
        "tag that is added to each line",
        |s| open(&logs(s).syslog_extra_tag),
    ),
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
