use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

/// Reads a page over plain HTTP: its status, what it says that it is, and its text.
pub async fn read_page(url: &str) -> Result<(u16, String, String), String> {
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let address: Uri = url.parse().map_err(|error| format!("{url}: {error}"))?;
    let response = client.get(address).await.map_err(|error| format!("{url}: {error}"))?;
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.to_owned();
    let body = response.into_body().collect().await.map_err(|error| format!("{url}: {error}"))?;
    Ok((status, kind, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}
