//! Transfers of a guest's files over HTTP: to which server, how that is verified, and how they ended.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use hyper::{Method, Response, StatusCode};
use rookery_dial::{Body, Http, HttpError, TcpDial, Thumbprint, Trust, TrustError, read_whole, whole};
use rookery_vim::{Hidden, MoRef, Wire as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::timeout;

use super::route::{Route, RouteError, route, thumbprint};
use crate::client::Client;
use crate::endpoint::Endpoint;
use crate::error::CallError;
use crate::properties::property_of;
use crate::transfer::{self, AS_IT_IS, Length, TransferError, Watch};

/// A transfer may take as long as it needs, as long as it moves.
const STALL: Duration = Duration::from_secs(120);

/// How much of a refusal is read, and how much of it is told.
const LARGEST_REASON: usize = 64 * 1024;
const LONGEST_REASON: usize = 300;

/// Why a file's content did not get through.
#[derive(Debug, thiserror::Error)]
pub enum GuestFileError {
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("vCenter does not show the certificate of the VM's host, so the host cannot be verified")]
    NoCertificate,
    #[error("TLS could not be set up")]
    Trust(#[from] TrustError),
    #[error("the server answered with HTTP status {status}{}", reason(*status, said))]
    Status {
        status: StatusCode,
        /// Its own words, if it had any.
        said: String,
    },
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error("{received} of {expected} bytes came; the file may have become shorter meanwhile")]
    Short { expected: u64, received: u64 },
    #[error("{size} bytes are more than a file can have")]
    TooLarge { size: u64 },
}

impl GuestFileError {
    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Call(error) => error.is_transient(),
            Self::Transfer(error) => error.is_transient(),
            Self::Short { .. } => true,
            Self::Status { status, .. } => *status == StatusCode::SERVICE_UNAVAILABLE,
            Self::Route(_) | Self::NoCertificate | Self::Trust(_) | Self::TooLarge { .. } => false,
        }
    }

    pub(super) fn call(&self) -> Option<&CallError> {
        if let Self::Call(error) = self { Some(error) } else { None }
    }
}

/// Sends exactly `size` bytes to an address.
pub(super) async fn send(
    client: &Client,
    vm: &MoRef,
    url: &Hidden,
    size: u64,
    content: impl AsyncRead + Unpin,
) -> Result<(), GuestFileError> {
    let way = FileHost::to(client, vm, url).await?;
    let length = size.to_string();
    let headers = [(CONTENT_LENGTH, length.as_str()), (CONTENT_TYPE, "application/octet-stream")];
    let put = |body| way.request("PUT", Method::PUT, &headers, body);
    let watch = Watch { progress: &watch::Sender::new(0), stall: STALL };
    let answer = transfer::upload(content, size, put, watch).await?;
    match answer.status() {
        status if status.is_success() => Ok(()),
        _ => Err(refused(answer).await),
    }
}

/// Writes what is at an address, and gives its size.
pub(super) async fn fetch(
    client: &Client,
    vm: &MoRef,
    url: &Hidden,
    into: &mut (impl AsyncWrite + Unpin),
) -> Result<u64, GuestFileError> {
    let way = FileHost::to(client, vm, url).await?;
    let lost = |_| CallError::Lost { method: "GET", source: HttpError::TimedOut(STALL) };
    let asked = timeout(STALL, way.request("GET", Method::GET, &AS_IT_IS, whole("")));
    let answer = asked.await.map_err(lost)??;
    if !answer.status().is_success() {
        return Err(refused(answer).await);
    }
    let watch = Watch { progress: &watch::Sender::new(0), stall: STALL };
    Ok(transfer::download("GET", answer, Length::Optional, into, watch).await?)
}

/// A refusal, with what the server says about it: the status alone does not tell a full disk from a missing folder.
async fn refused(answer: Response<Incoming>) -> GuestFileError {
    let status = answer.status();
    let body = timeout(STALL, read_whole(answer, LARGEST_REASON)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    GuestFileError::Status { status, said: words(&String::from_utf8_lossy(&body)) }
}

/// The text of a page, without its tags, on one line.
fn words(page: &str) -> String {
    let mut outside = String::new();
    let mut in_tag = false;
    for c in page.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                outside.push(' ');
            }
            c if !in_tag => outside.push(c),
            _ => {}
        }
    }
    let text = outside.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(LONGEST_REASON).collect()
}

fn reason(status: StatusCode, said: &str) -> String {
    let advice = match status {
        StatusCode::INSUFFICIENT_STORAGE => "make room there, or choose another disk",
        _ => "is there such a file or folder, and may the user use it?",
    };
    if said.is_empty() { format!("; {advice}") } else { format!(": {said}; {advice}") }
}

/// The server that a file is transferred to or from.
enum FileHost<'a> {
    /// Through the server that was asked.
    Asked { client: &'a Client, path: String },
    /// Straight to the host of the VM.
    Host { http: Box<Http>, host: Endpoint, path: String },
}

impl<'a> FileHost<'a> {
    async fn to(client: &'a Client, vm: &MoRef, url: &Hidden) -> Result<Self, GuestFileError> {
        Ok(match route(&url.0, client.endpoint())? {
            Route::Asked { path } => Self::Asked { client, path },
            Route::Host { host, path } => {
                let trust = Trust::Thumbprint(certificate_of_host(client, vm).await?);
                let dial = TcpDial::new(host.clone(), &trust)?.through(client.proxies());
                Self::Host { http: Box::new(Http::new(&host, Arc::new(dial), "rookery")), host, path }
            }
        })
    }

    /// One request; the answer's content is still to be read.
    async fn request(
        &self,
        what: &'static str,
        method: Method,
        headers: &[(HeaderName, &str)],
        body: Body,
    ) -> Result<Response<Incoming>, CallError> {
        match self {
            Self::Asked { client, path } => client.send(what, method, path, headers, body).await,
            // The token in the path is enough for the host; vCenter's session is none of its business.
            Self::Host { http, host, path } => {
                let sent = http.send(method, path, headers, body).await;
                sent.map_err(|error| CallError::of_http(host, what, error))
            }
        }
    }
}

/// The certificate that the host of a VM must show: vCenter has it from when the host was added.
async fn certificate_of_host(client: &Client, vm: &MoRef) -> Result<Thumbprint, GuestFileError> {
    let host = property_of(client, vm, "runtime.host").await?;
    let host = host.and_then(|host| MoRef::from_node(host).ok()).ok_or(GuestFileError::NoCertificate)?;
    let certificate = property_of(client, &host, "config.certificate").await?;
    certificate.and_then(thumbprint).ok_or(GuestFileError::NoCertificate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_servers_own_words() {
        let check = |status, page: &str, expected: &str| {
            let error = GuestFileError::Status { status, said: words(page) };
            assert_eq!(error.to_string(), format!("the server answered with HTTP status {expected}"));
        };
        let full = StatusCode::INSUFFICIENT_STORAGE;
        check(
            full,
            "File /tmp/x does not fit on the guest's disk\n",
            "507 Insufficient Storage: File /tmp/x does not fit on the guest's disk; make room there, or choose another disk",
        );
        check(full, "", "507 Insufficient Storage; make room there, or choose another disk");
        let page = "<html><head><title>500</title></head>\n<body>No  space left\non device</body></html>";
        let advice = "is there such a file or folder, and may the user use it?";
        check(
            StatusCode::INTERNAL_SERVER_ERROR,
            page,
            &format!("500 Internal Server Error: 500 No space left on device; {advice}"),
        );
        assert_eq!(words(&"x".repeat(9999)).len(), LONGEST_REASON);
        check(StatusCode::NOT_FOUND, "", &format!("404 Not Found; {advice}"));
    }
}
