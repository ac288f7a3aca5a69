//! `commonConfiguration`: who this hatchery is, where it listens, and which CDS server it serves.

use std::path::PathBuf;
use std::time::Duration;

use rookery_cds::Cdn;
use rookery_vim_client::Trust;
use secrecy::{ExposeSecret, SecretString};

use super::pem;
use super::section::Section;
use super::url::{InvalidAddress, Url, host_port};
use crate::mark;
use rookery_fleet::OwnerId;

/// VM names and marks contain the name. All hatcheries that we know have shorter ones.
const LONGEST_NAME: usize = 128;

#[derive(Debug, Clone)]
pub struct Identity {
    /// Part of the ownership mark.
    pub name: String,
    /// Whose VMs are its own.
    pub owner: OwnerId,
    /// Such as `linux/amd64`.
    pub os_arch: Vec<String>,
    /// The RSA key that signs the tokens of workers, in PEM.
    pub private_key: SecretString,
    /// Where CDS reaches this hatchery.
    pub url: Url,
}

/// Where the hatchery's own HTTP server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    pub address: String,
    pub port: u16,
    /// The header in which a proxy names the client.
    pub forwarded_header: String,
}

#[derive(Debug, Clone)]
pub struct Api {
    pub url: Url,
    pub trust: Trust,
    /// For V1 jobs.
    pub token: Option<SecretString>,
    /// For V2 jobs.
    pub token_v2: Option<SecretString>,
    pub request_timeout: Duration,
    pub max_heartbeat_failures: u32,
}

pub(super) const UNENCRYPTED: &str =
    "http:// is not encrypted: anybody on the way can read credentials and change answers; use https://";

pub(super) fn identity(common: &mut Section<'_, '_>) -> Option<Identity> {
    let name = common.required("name").and_then(|name| legal_name(common, name));
    let mut os_arch = common.texts("osArch");
    for wrong in os_arch.extract_if(.., |text| !is_os_arch(text)) {
        common.problem("osArch", format!("{wrong:?} is not a system such as \"linux/amd64\""));
    }
    if os_arch.is_empty() {
        os_arch.push(common.default("osArch").to_owned());
    }
    let private_key = private_key(common);
    let url = common.text_or_default("url");
    let url = parse_url(common, "url", &url);
    let name = name?;
    Some(Identity { owner: mark::owner(&name), name, os_arch, private_key: private_key?, url: url? })
}

fn legal_name(common: &mut Section<'_, '_>, name: String) -> Option<String> {
    let length = name.chars().count();
    if length > LONGEST_NAME {
        common.problem("name", format!("has {length} characters, at most {LONGEST_NAME} are possible"));
    } else if name.trim() != name || name.chars().any(char::is_control) {
        common.problem("name", "begins or ends with a space, or holds a control character");
    } else {
        return Some(name);
    }
    None
}

fn is_os_arch(text: &str) -> bool {
    text.split_once('/').is_some_and(|(os, arch)| !os.is_empty() && !arch.is_empty() && !arch.contains('/'))
}

fn private_key(common: &mut Section<'_, '_>) -> Option<SecretString> {
    let key = required_secret(common, "rsaPrivateKey")?;
    pem::check(key.expose_secret())
        .map_err(|error| common.problem("rsaPrivateKey", error.to_string()))
        .ok()?;
    Some(key)
}

/// A secret that must be set, inline or in its file.
pub(super) fn required_secret(section: &mut Section<'_, '_>, name: &str) -> Option<SecretString> {
    let known = section.notes.problems.as_slice().len();
    let secret = section.secret(name);
    if secret.is_none() && section.notes.problems.as_slice().len() == known {
        section.problem(name, format!("is not set, and neither is {name}File"));
    }
    secret
}

pub(super) fn listen(mut http: Section<'_, '_>) -> Option<Listen> {
    let address = http.text_or_default("addr");
    let port = http.positive("port");
    let forwarded_header = http.text_or_default("headerXForwardedFor");
    let port = u16::try_from(port).map_err(|_| http.problem("port", format!("{port} is not a port"))).ok();
    http.end();
    Some(Listen { address, port: port?, forwarded_header })
}

pub(super) fn api(mut api: Section<'_, '_>) -> Option<Api> {
    let token = api.secret("token");
    let token_v2 = api.secret("tokenV2");
    let is_token_problem = |path: &str| path.contains(".token");
    let explained = api.notes.problems.as_slice().iter().any(|problem| is_token_problem(&problem.path));
    if token.is_none() && token_v2.is_none() && !explained {
        api.problem("token", "is not set, and neither is tokenV2: one of them is needed (or its file)");
    }
    let request_timeout = api.seconds("requestTimeout");
    let max_heartbeat_failures = api.positive("maxHeartbeatFailures");
    let mut http = api.section("http");
    let url = http.required("url").and_then(|url| parse_url(&mut http, "url", &url));
    if url.as_ref().is_some_and(|url| url.as_str().starts_with("http://")) {
        http.warn("url", UNENCRYPTED);
    }
    let trust = api_trust(&mut http);
    http.end();
    api.end();
    Some(Api { url: url?, trust: trust?, token, token_v2, request_timeout, max_heartbeat_failures })
}

fn api_trust(http: &mut Section<'_, '_>) -> Option<Trust> {
    let insecure = http.flag("insecure");
    match (insecure, http.text("caFile")) {
        (true, Some(_)) => {
            http.problem("caFile", "insecure is set too, which trusts any certificate: keep one of them");
            None
        }
        (true, None) => Some(Trust::Insecure),
        (false, Some(file)) => Some(Trust::CaFile(PathBuf::from(file))),
        (false, None) => Some(Trust::SystemRoots),
    }
}

/// `cdn`, or `workerCdn`, which has the same shape.
pub(super) fn cdn(mut cdn: Section<'_, '_>) -> Cdn {
    let http_url = optional_url(&mut cdn, "url").map(|url| url.to_string()).unwrap_or_default();
    let mut tcp = cdn.section("tcp");
    let tcp_url = tcp
        .text("url")
        .and_then(|text| host_port(&text).map_err(|error| tcp.problem("url", error.to_string())).ok());
    let tcp_url_enable_tls = tcp.flag("enableTLS");
    tcp.end();
    cdn.end();
    Cdn { http_url, tcp_url: tcp_url.unwrap_or_default(), tcp_url_enable_tls }
}

pub(super) fn optional_url(section: &mut Section<'_, '_>, name: &str) -> Option<Url> {
    let text = section.text(name)?;
    parse_url(section, name, &text)
}

fn parse_url(section: &mut Section<'_, '_>, name: &str, text: &str) -> Option<Url> {
    text.parse().map_err(|error: InvalidAddress| section.problem(name, error.to_string())).ok()
}
