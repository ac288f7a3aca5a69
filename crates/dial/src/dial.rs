//! How a byte stream to the server is opened. The only seam between a real server and a simulated one: everything
//! above speaks HTTP over whatever stream it is handed.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, InvalidMessage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::Endpoint;
use crate::certificate::Certificate;
use crate::proxy::{InvalidProxy, Proxies, Refusal, Tunnel};
use crate::tls::{Thumbprint, Trust, TrustError, Verifier, client_config};

/// Name resolution, TCP and TLS together; a server that takes longer is down.
const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// A byte stream to the server.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// What [`Dial::dial`] returns.
pub type Dialing = Pin<Box<dyn Future<Output = Result<Box<dyn Stream>, DialError>> + Send>>;

/// Opens streams to one server.
pub trait Dial: Debug + Send + Sync {
    fn dial(&self) -> Dialing;

    /// The certificate that the server showed last, if it has one.
    fn shown_certificate(&self) -> Option<Certificate> {
        None
    }

    /// The proxies that other servers, too, are reached through.
    fn proxies(&self) -> Proxies {
        Proxies::default()
    }

    /// Why a server that gave no sensible answer without TLS gave none, if it speaks TLS. Nothing is sent to it.
    fn why_no_answer(&self) -> Pin<Box<dyn Future<Output = Option<DialError>> + Send>> {
        Box::pin(std::future::ready(None))
    }
}

/// Why no stream could be opened. Nothing was sent in any of these cases.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    #[error("the name {host} cannot be resolved: {reason}")]
    Resolve { host: String, reason: String },
    #[error("{address} does not accept connections: {reason}")]
    Connect { address: String, reason: String },
    #[error("{address} did not answer within {} s", DIAL_TIMEOUT.as_secs())]
    TimedOut { address: String },
    #[error("{address} is not the server that was pinned: its certificate's thumbprint is {shown}")]
    WrongThumbprint { address: String, shown: Thumbprint },
    #[error(
        "the certificate of {address} {problem}; if it is the right one, give its CA file or pin its thumbprint {shown}"
    )]
    Certificate { address: String, problem: &'static str, shown: Thumbprint },
    #[error("TLS with {address} failed: {reason}")]
    Tls { address: String, reason: String },
    #[error("{address} answers {}", other_scheme(address, *in_tls))]
    Scheme { address: String, in_tls: bool },
    #[error("TLS could not be set up")]
    Trust(#[from] TrustError),
    #[error("the proxy {proxy} does not connect to {address}: {reason}")]
    Proxy { proxy: Box<str>, address: String, reason: Box<str>, is_transient: bool },
    #[error(transparent)]
    InvalidProxy(#[from] InvalidProxy),
}

impl DialError {
    /// Whether the same attempt may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Resolve { .. } | Self::Connect { .. } | Self::TimedOut { .. } => true,
            Self::Proxy { is_transient, .. } => *is_transient,
            Self::WrongThumbprint { .. }
            | Self::Certificate { .. }
            | Self::Tls { .. }
            | Self::Scheme { .. }
            | Self::Trust(_)
            | Self::InvalidProxy(_) => false,
        }
    }

    /// What is wrong with the server, to follow its name: one that answers and is not trusted is not out of reach.
    pub fn in_short(&self) -> &'static str {
        match self {
            Self::Certificate { .. } | Self::WrongThumbprint { .. } => "is not trusted",
            Self::Scheme { .. } | Self::Tls { .. } | Self::Trust(_) => "cannot be connected to",
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::TimedOut { .. }
            | Self::Proxy { .. }
            | Self::InvalidProxy(_) => "cannot be reached",
        }
    }
}

fn other_scheme(address: &str, in_tls: bool) -> String {
    if in_tls {
        format!("in TLS: write https://{address}")
    } else {
        format!("without TLS: correct the port, or write http://{address} if it is a simulator")
    }
}

/// TCP, with TLS unless the address says `http`.
#[derive(Debug)]
pub struct TcpDial {
    endpoint: Endpoint,
    tls: Option<(Arc<ClientConfig>, Arc<Verifier>)>,
    proxies: Proxies,
}

impl TcpDial {
    /// A dialer for one address.
    pub fn new(endpoint: impl Into<Endpoint>, trust: &Trust) -> Result<Self, TrustError> {
        let endpoint = endpoint.into();
        let tls = if endpoint.is_tls() { Some(client_config(trust)?) } else { None };
        Ok(Self { endpoint, tls, proxies: Proxies::default() })
    }

    /// The same, through the proxy that stands before that address, if there is one.
    #[must_use]
    pub fn through(self, proxies: Proxies) -> Self {
        Self { proxies, ..self }
    }
}

impl Dial for TcpDial {
    fn dial(&self) -> Dialing {
        let (endpoint, tls) = (self.endpoint.clone(), self.tls.clone());
        let tunnel = self.proxies.before(&endpoint);
        Box::pin(async move {
            let (address, tunnel) = (endpoint.authority(), tunnel?);
            timeout(DIAL_TIMEOUT, dial(&endpoint, tunnel, tls))
                .await
                .unwrap_or(Err(DialError::TimedOut { address }))
        })
    }

    fn shown_certificate(&self) -> Option<Certificate> {
        let (_, verifier) = self.tls.as_ref()?;
        verifier.shown().map(|certificate| Certificate::read(&certificate))
    }

    fn proxies(&self) -> Proxies {
        self.proxies.clone()
    }

    fn why_no_answer(&self) -> Pin<Box<dyn Future<Output = Option<DialError>> + Send>> {
        let (endpoint, tunnel) = (self.endpoint.clone(), self.proxies.before(&self.endpoint));
        let is_tls = self.tls.is_some();
        Box::pin(async move {
            let tls = client_config(&Trust::Insecure).ok().filter(|_| !is_tls)?;
            let greeted = timeout(DIAL_TIMEOUT, dial(&endpoint, tunnel.ok()?, Some(tls))).await;
            greeted.ok()?.ok().map(|_| DialError::Scheme { address: endpoint.authority(), in_tls: true })
        })
    }
}

/// The certificate that a server shows, whoever it is; none without TLS. Nothing is sent to it.
pub async fn presented_certificate(
    endpoint: &Endpoint,
    proxies: Proxies,
) -> Result<Option<Certificate>, DialError> {
    let dial = TcpDial::new(endpoint.clone(), &Trust::Insecure)?.through(proxies);
    if dial.tls.is_some() {
        dial.dial().await?;
    }
    Ok(dial.shown_certificate())
}

async fn dial(
    endpoint: &Endpoint,
    tunnel: Option<Tunnel>,
    tls: Option<(Arc<ClientConfig>, Arc<Verifier>)>,
) -> Result<Box<dyn Stream>, DialError> {
    let stream = match tunnel {
        Some(tunnel) => tunneled(endpoint, &tunnel).await?,
        None => tcp(endpoint).await?,
    };
    let Some((config, verifier)) = tls else { return Ok(Box::new(stream)) };
    let tls_error = |reason: String| DialError::Tls { address: endpoint.authority(), reason };
    let name =
        ServerName::try_from(endpoint.host().to_owned()).map_err(|error| tls_error(error.to_string()))?;
    match TlsConnector::from(config).connect(name, stream).await {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => {
            let shown = verifier.shown().map(|certificate| Thumbprint::of(&certificate));
            Err(certificate_error(endpoint, &error, shown)
                .or_else(|| without_tls(endpoint, &error))
                .unwrap_or_else(|| tls_error(error.to_string())))
        }
    }
}

async fn tunneled(endpoint: &Endpoint, tunnel: &Tunnel) -> Result<TcpStream, DialError> {
    let failed = |reason: String, is_transient| {
        let (proxy, address) = (tunnel.proxy.authority().into(), endpoint.authority());
        DialError::Proxy { proxy, address, reason: reason.into(), is_transient }
    };
    let mut stream = tcp(&tunnel.proxy).await.map_err(|error| failed(error.to_string(), true))?;
    match tunnel.open(&mut stream, endpoint).await {
        Ok(()) => Ok(stream),
        Err(Refusal::Status { status, line }) => Err(failed(format!("it answers {line:?}"), status >= 500)),
        Err(Refusal::Broken(reason)) => Err(failed(reason, true)),
    }
}

async fn tcp(endpoint: &Endpoint) -> Result<TcpStream, DialError> {
    let addresses: Vec<_> = tokio::net::lookup_host((endpoint.host(), endpoint.port()))
        .await
        .map_err(|error| DialError::Resolve { host: endpoint.host().to_owned(), reason: error.to_string() })?
        .collect();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Calls are small and wait for their answers: delaying them helps nobody.
                stream.set_nodelay(true).ok();
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(DialError::Connect { address: endpoint.authority(), reason: failed.to_string() })
}

/// What a server says that has not understood the beginning of TLS is no TLS either.
fn without_tls(endpoint: &Endpoint, error: &io::Error) -> Option<DialError> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let garbage = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
    (*error == garbage).then(|| DialError::Scheme { address: endpoint.authority(), in_tls: false })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "a foreign, open set: the rest shares one sentence")]
fn certificate_error(endpoint: &Endpoint, error: &io::Error, shown: Option<Thumbprint>) -> Option<DialError> {
    let address = endpoint.authority();
    let rustls::Error::InvalidCertificate(certificate) = error.get_ref()?.downcast_ref()? else {
        return None;
    };
    let shown = shown?;
    let problem = match certificate {
        CertificateError::ApplicationVerificationFailure => {
            return Some(DialError::WrongThumbprint { address, shown });
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "was issued for another name"
        }
        CertificateError::UnknownIssuer => "was issued by an authority that is not trusted",
        _ => "is not acceptable",
    };
    Some(DialError::Certificate { address, problem, shown })
}
