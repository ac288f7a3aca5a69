//! One exchange with vCenter: a SOAP request or a GET, under one deadline.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HeaderName, SET_COOKIE};
use hyper::{Method, StatusCode};
use rookery_dial::{Http, HttpError, read_whole, whole};
use tokio::time::timeout;

#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) path: &'a str,
    /// `None`: a GET.
    pub(crate) body: Option<String>,
    pub(crate) soap_action: &'a str,
    pub(crate) cookie: Option<&'a str>,
    pub(crate) deadline: Duration,
    pub(crate) max_bytes: usize,
}

/// What came back, decompressed.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: Bytes,
}

/// Asks, and reads the whole answer.
pub(crate) async fn exchange(http: &Http, exchange: Exchange<'_>) -> Result<Reply, HttpError> {
    let deadline = exchange.deadline;
    timeout(deadline, run(http, exchange)).await.unwrap_or(Err(HttpError::TimedOut(deadline)))
}

async fn run(http: &Http, exchange: Exchange<'_>) -> Result<Reply, HttpError> {
    let Exchange { path, soap_action, cookie, max_bytes, .. } = exchange;
    let mut headers = vec![(ACCEPT_ENCODING, "gzip")];
    let method = if exchange.body.is_some() { Method::POST } else { Method::GET };
    if exchange.body.is_some() {
        headers.push((CONTENT_TYPE, "text/xml; charset=\"utf-8\""));
        headers.push((HeaderName::from_static("soapaction"), soap_action));
    }
    headers.extend(cookie.map(|cookie| (COOKIE, cookie)));
    let body = whole(exchange.body.unwrap_or_default());
    let response = http.send(method, path, &headers, body).await?;
    let status = response.status();
    let cookies = response.headers().get_all(SET_COOKIE).iter();
    let cookies = cookies.filter_map(|c| c.to_str().ok().map(str::to_owned)).collect();
    let body = read_whole(response, max_bytes).await?;
    Ok(Reply { status, cookies, body })
}
