//! The keys of `commonConfiguration`, and of `log`.

use rookery_daemon::telemetry::LogFormat;
use rookery_vim_client::Trust;

use super::{Key, key, list, mandatory, open, reloading, seconds, secret};

pub(super) const KEYS: &[Key] = &[
    mandatory(
        "commonConfiguration.name",
        "name of this hatchery, which marks what it owns; for V2 the name that CDS knows it by",
        |s| open(&s.identity.name),
    ),
    key("commonConfiguration.osArch", "linux/amd64", "systems that the workers run on", |s| {
        list(&s.identity.os_arch)
    }),
    mandatory(
        "commonConfiguration.rsaPrivateKey",
        "RSA key that signs for workers, in PEM (PKCS#1 or PKCS#8, without a passphrase)",
        |s| secret(Some(&s.identity.private_key)),
    ),
    key("commonConfiguration.url", "http://localhost:8086", "where CDS is told to find this hatchery", |s| {
        open(&s.identity.url)
    }),
    key("commonConfiguration.http.addr", "", "address to listen on; all if not set", |s| {
        open(&s.listen.address)
    }),
    key("commonConfiguration.http.port", "8081", "port to listen on", |s| open(s.listen.port)),
    key(
        "commonConfiguration.http.headerXForwardedFor",
        "X-Forwarded-For",
        "header in which a proxy names the caller; it is logged (debug)",
        |s| open(&s.listen.forwarded_header),
    ),
    mandatory("commonConfiguration.api.http.url", "the CDS server", |s| open(&s.api.url)),
    key("commonConfiguration.api.http.insecure", "false", "whether any certificate of it is trusted", |s| {
        open(s.api.trust == Trust::Insecure)
    }),
    key(
        "commonConfiguration.api.http.caFile",
        "",
        "PEM file of the authorities to trust for it, instead of the system's",
        |s| ca_file(&s.api.trust),
    ),
    reloading(key(
        "commonConfiguration.api.token",
        "",
        "token of the builtin consumer, for V1 jobs; this one or tokenV2 must be set",
        |s| secret(s.api.token.as_ref()),
    )),
    reloading(key(
        "commonConfiguration.api.tokenV2",
        "",
        "token of the hatchery consumer, for V2 jobs",
        |s| secret(s.api.token_v2.as_ref()),
    )),
    key("commonConfiguration.api.requestTimeout", "10", "seconds that a request may take", |s| {
        seconds(s.api.request_timeout)
    }),
    key("commonConfiguration.api.maxHeartbeatFailures", "10", "heartbeats in a row that may fail", |s| {
        open(s.api.max_heartbeat_failures)
    }),
    key("commonConfiguration.cdn.url", "", "where logs are sent over HTTP; asked of CDS if not set", |s| {
        open(&s.cdn.http_url)
    }),
    key(
        "commonConfiguration.cdn.tcp.url",
        "",
        "where logs are sent over TCP; asked of CDS if not set",
        |s| open(&s.cdn.tcp_url),
    ),
    key("commonConfiguration.cdn.tcp.enableTLS", "false", "whether that TCP connection is encrypted", |s| {
        open(s.cdn.tcp_url_enable_tls)
    }),
    key(
        "commonConfiguration.logOptions.spawnOptions.thresholdCritical",
        "480",
        "seconds after which a spawn is logged as an error",
        |s| seconds(s.queue.slow_spawn.critical),
    ),
    key(
        "commonConfiguration.logOptions.spawnOptions.thresholdWarning",
        "360",
        "seconds after which a spawn is logged as a warning",
        |s| seconds(s.queue.slow_spawn.warning),
    ),
    reloading(key(
        "log.level",
        "info",
        "how much is logged: `error`, `warn`, `info`, `debug` or `trace`; always at the top of the file",
        |s| open(s.log.level.as_str()),
    )),
    key("log.format", "text", "`text`, `json`, or `discard` for no log at all", |s| {
        open(match s.log.format {
            LogFormat::Human => "text",
            LogFormat::Json => "json",
        })
    }),
];

pub(super) fn ca_file(trust: &Trust) -> super::Effective {
    match trust {
        Trust::CaFile(path) => open(path.display()),
        Trust::SystemRoots | Trust::Thumbprint(_) | Trust::Insecure => open(""),
    }
}
