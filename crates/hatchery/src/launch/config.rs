//! What a worker is told when it starts: a JSON document, base64 in the variable `CDS_CONFIG`.
//!
//! Keys, order and omissions are those of the Go worker's own type. The document holds the worker's token: it leaves
//! this module only as a secret.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rookery_cds::{Cdn, JobId};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

/// The variable that workers read.
pub const VARIABLE: &str = "CDS_CONFIG";

/// Everything a worker is told.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    pub name: String,
    /// Where it works; if empty, in the temporary folder of its system.
    pub base_dir: String,
    pub log: LogOptions,
    pub hatchery_name: String,
    /// Where it finds its servers.
    pub addresses: Addresses,
    /// The token that it registers with.
    pub token: SecretString,
    /// V1: `group/name`; V2: the name; empty without a model.
    pub model: String,
    /// The job that it is started for; none: it tells the API what its model can do.
    pub job: Option<JobId>,
    /// V1: from the settings; V2: as the API says. May be empty.
    pub region: String,
    /// What its jobs find in their environment.
    pub injected: BTreeMap<String, SecretString>,
}

/// `provision.workerLogsOptions`.
#[derive(Debug, Clone, Default)]
pub struct LogOptions {
    /// Empty for the worker's own default.
    pub level: String,
    pub graylog: LogServer,
    /// The name of a field that each message gets.
    pub graylog_extra_key: String,
    /// The value of that field, often a token.
    pub graylog_extra_value: SecretString,
    pub syslog: LogServer,
    /// A tag that each message gets.
    pub syslog_extra_tag: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogServer {
    pub host: String,
    pub port: u16,
    /// `tcp` or `udp`. That of Graylog is not passed on: the Go hatchery does not do so either.
    pub protocol: String,
}

/// An HTTP server, and whether its certificate goes unchecked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpAddress {
    pub url: String,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// The servers of a worker. An address that is empty is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    pub api: HttpAddress,
    pub cdn: Cdn,
}

impl Addresses {
    /// These, except where `other` gives an address. A flag comes with its address: it never stays behind with the
    /// address of another.
    #[must_use]
    pub fn overridden_by(mut self, other: &Self) -> Self {
        if !other.api.url.is_empty() {
            self.api.clone_from(&other.api);
        }
        if !other.cdn.http_url.is_empty() {
            self.cdn.http_url.clone_from(&other.cdn.http_url);
        }
        if !other.cdn.tcp_url.is_empty() {
            self.cdn = Cdn { http_url: self.cdn.http_url, ..other.cdn.clone() };
        }
        self
    }
}

impl WorkerConfig {
    /// The value of [`VARIABLE`].
    pub fn encoded(&self) -> SecretString {
        STANDARD.encode(self.json()).into()
    }

    #[expect(clippy::expect_used, reason = "texts, flags and numbers under keys of text always make JSON")]
    fn json(&self) -> String {
        serde_json::to_string(&Document::of(self)).expect("a worker's configuration is plain JSON")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    basedir: &'a str,
    log: Log<'a>,
    hatchery_name: &'a str,
    api_endpoint: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    api_endpoint_insecure: bool,
    api_token: &'a str,
    cdn_endpoint: &'a str,
    gelf_service_addr: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    gelf_service_addr_enable_tls: bool,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    booked_job_id: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_job_id: Option<String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    region: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    inject_env_vars: BTreeMap<&'a str, &'a str>,
}

/// The type behind it has no JSON names, so that its keys are Go's.
#[derive(Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Log<'a> {
    level: &'a str,
    format: &'a str,
    text_fields: Option<()>,
    skip_text_fields: Option<()>,
    graylog_host: &'a str,
    graylog_port: String,
    graylog_protocol: &'a str,
    graylog_extra_key: &'a str,
    graylog_extra_value: &'a str,
    #[serde(rename = "GraylogFieldCDSServiceType")]
    service_type: &'a str,
    #[serde(rename = "GraylogFieldCDSServiceName")]
    service_name: &'a str,
    #[serde(rename = "GraylogFieldCDSVersion")]
    version: &'a str,
    #[serde(rename = "GraylogFieldCDSOS")]
    os: &'a str,
    #[serde(rename = "GraylogFieldCDSArch")]
    arch: &'a str,
    syslog_host: &'a str,
    syslog_port: String,
    syslog_protocol: &'a str,
    syslog_extra_tag: &'a str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> Document<'a> {
    fn of(config: &'a WorkerConfig) -> Self {
        let (booked_job_id, run_job_id) = match &config.job {
            Some(JobId::V1(id)) => (Some(id.number()), None),
            Some(JobId::V2(id)) => (None, Some(id.to_string())),
            None => (None, None),
        };
        let exposed = |(name, value): (&'a String, &'a SecretString)| (name.as_str(), value.expose_secret());
        Self {
            name: &config.name,
            basedir: &config.base_dir,
            log: Log::of(&config.log, &config.name),
            hatchery_name: &config.hatchery_name,
            api_endpoint: &config.addresses.api.url,
            api_endpoint_insecure: config.addresses.api.insecure,
            api_token: config.token.expose_secret(),
            cdn_endpoint: &config.addresses.cdn.http_url,
            gelf_service_addr: &config.addresses.cdn.tcp_url,
            gelf_service_addr_enable_tls: config.addresses.cdn.tcp_url_enable_tls,
            model: &config.model,
            booked_job_id,
            run_job_id,
            region: &config.region,
            inject_env_vars: config.injected.iter().map(exposed).collect(),
        }
    }
}

impl<'a> Log<'a> {
    fn of(options: &'a LogOptions, worker: &'a str) -> Self {
        Self {
            level: &options.level,
            graylog_host: &options.graylog.host,
            graylog_port: options.graylog.port.to_string(),
            graylog_extra_key: &options.graylog_extra_key,
            graylog_extra_value: options.graylog_extra_value.expose_secret(),
            service_type: "worker",
            service_name: worker,
            syslog_host: &options.syslog.host,
            syslog_port: options.syslog.port.to_string(),
            syslog_protocol: &options.syslog.protocol,
            syslog_extra_tag: &options.syslog_extra_tag,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
