//! Proxies between us and servers, as the variables that most programs know name them.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::address::{Address, Endpoint};

/// An answer to `CONNECT` has no more to say than this.
const LONGEST_ANSWER: usize = 16 << 10;

/// Which servers are reached through a proxy. By default none is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    direct: Vec<Direct>,
}

/// A proxy as a variable names it. It is read when it is needed: one that no server of ours is behind does no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Proxy {
    variable: &'static str,
    read: Result<Tunnel, String>,
}

/// How a proxy is asked to connect us.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Tunnel {
    pub(crate) proxy: Endpoint,
    /// User and password as the header has them.
    credentials: Option<String>,
}

/// What is never reached through a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Direct {
    what: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Any,
    Network(IpNet),
    /// A domain with all below it.
    Domain(String),
    /// All below a domain.
    Below(String),
}

/// A variable that names no proxy that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} names no proxy: {reason}")]
pub struct InvalidProxy {
    pub(crate) variable: &'static str,
    pub(crate) reason: String,
}

impl Proxies {
    /// Those that variables name: `HTTPS_PROXY` for servers with TLS, `HTTP_PROXY` for the others, but for `NO_PROXY`. Each
    /// may be written in small letters; capitals win.
    pub fn of_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let given: Vec<_> = variables.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
        let first = |names: [&'static str; 2]| {
            let value = |name: &&str| given.iter().find(|(given, _)| given == *name).map(|(_, value)| value);
            names.into_iter().find_map(|name| value(&name).map(|value| (name, value.trim())))
        };
        let proxy = |(variable, text)| Proxy { variable, read: Tunnel::read(text) };
        let direct = first(["NO_PROXY", "no_proxy"]).map_or("", |(_, list)| list);
        Self {
            http: first(["HTTP_PROXY", "http_proxy"]).map(proxy),
            https: first(["HTTPS_PROXY", "https_proxy"]).map(proxy),
            direct: direct.split([',', ' ', '\t']).filter_map(Direct::read).collect(),
        }
    }

    /// The proxy before a server. What is on this machine needs none.
    pub(crate) fn before(&self, server: &Endpoint) -> Result<Option<Tunnel>, InvalidProxy> {
        let proxy = if server.is_tls() { &self.https } else { &self.http };
        let is_direct = || is_loopback(server.host()) || self.direct.iter().any(|direct| direct.is(server));
        match proxy {
            Some(Proxy { variable, read }) if !is_direct() => {
                read.clone().map(Some).map_err(|reason| InvalidProxy { variable, reason })
            }
            Some(_) | None => Ok(None),
        }
    }
}

impl Tunnel {
    fn read(text: &str) -> Result<Self, String> {
        let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        if let Some((scheme, _)) = url.split_once("://").filter(|(scheme, _)| *scheme != "http") {
            return Err(format!("{scheme}:// is not supported, only http:// is"));
        }
        let address = Address::parse(&url).map_err(|error| error.to_string())?;
        let credentials = address.user_info.map(|info| {
            BASE64_STANDARD.encode(format!("{}:{}", info.user, info.password.unwrap_or_default()))
        });
        Ok(Self { proxy: address.endpoint, credentials })
    }

    /// Asks the proxy for a connection; what follows on the stream is the server's.
    pub(crate) async fn open(
        &self,
        stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
        server: &Endpoint,
    ) -> Result<(), Refusal> {
        let to = server.authority();
        let credentials = self.credentials.as_ref();
        let credentials = credentials.map(|given| format!("Proxy-Authorization: Basic {given}\r\n"));
        let credentials = credentials.unwrap_or_default();
        let request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{credentials}\r\n");
        let broke = |error: std::io::Error| Refusal::Broken(error.to_string());
        stream.write_all(request.as_bytes()).await.map_err(broke)?;
        stream.flush().await.map_err(broke)?;
        let mut head = Vec::new();
        // Byte by byte: whatever follows the empty line is not for us.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == LONGEST_ANSWER {
                return Err(Refusal::Broken("its answer does not end".to_owned()));
            }
            head.push(stream.read_u8().await.map_err(broke)?);
        }
        let head = String::from_utf8_lossy(&head);
        let line = head.lines().next().unwrap_or_default().trim();
        let status =
            line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.parse::<u16>().ok());
        match status {
            Some(200..=299) => Ok(()),
            Some(status) => Err(Refusal::Status { status, line: line.to_owned() }),
            None => {
                Err(Refusal::Broken(format!("it does not speak HTTP: {:?}", line.get(..80).unwrap_or(line))))
            }
        }
    }
}

impl fmt::Debug for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tunnel").field("proxy", &self.proxy).finish_non_exhaustive()
    }
}

/// Why a proxy did not connect us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Status { status: u16, line: String },
    Broken(String),
}

impl Direct {
    fn read(entry: &str) -> Option<Self> {
        let entry = entry.trim().trim_end_matches('.').to_lowercase();
        if entry.is_empty() {
            return None;
        }
        let (host, port) = match entry.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, port.parse().ok()),
            Some(_) | None => (entry.as_str(), None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let network = host.parse::<IpNet>().ok().or_else(|| host.parse::<IpAddr>().ok().map(IpNet::from));
        let what = match (host, network) {
            ("*", _) => Host::Any,
            (_, Some(network)) => Host::Network(network),
            (name, None) => match name.strip_prefix("*.").or_else(|| name.strip_prefix('.')) {
                Some(domain) => Host::Below(domain.to_owned()),
                None => Host::Domain(name.to_owned()),
            },
        };
        Some(Self { what, port })
    }

    fn is(&self, server: &Endpoint) -> bool {
        let host = server.host().trim_end_matches('.').to_lowercase();
        let below = |domain: &str| host.strip_suffix(domain).is_some_and(|name| name.ends_with('.'));
        let fits = match &self.what {
            Host::Any => true,
            Host::Network(network) => host.parse::<IpAddr>().is_ok_and(|ip| network.contains(&ip)),
            Host::Domain(domain) => host == *domain || below(domain),
            Host::Below(domain) => below(domain),
        };
        fits && self.port.is_none_or(|port| port == server.port())
    }
}

fn is_loopback(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests;
