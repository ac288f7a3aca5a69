//! What is asked of a file over HTTP, and what its statuses mean.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, HeaderMap, LAST_MODIFIED};
use hyper::{Method, Response, StatusCode};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use rookery_dial::{HttpError, whole};
use tokio::time::timeout;

use super::{DatastoreError, DatastoreFiles, FileInfo, FilePath};
use crate::client::RETRIES;
use crate::error::CallError;
use crate::properties::property_of;
use crate::transfer::AS_IT_IS;

impl DatastoreFiles {
    /// What a file is like; `None`: there is none.
    pub async fn stat(&self, file: &FilePath) -> Result<Option<FileInfo>, DatastoreError> {
        let deadline = self.machines.client.deadlines().call;
        let response = self.ask(Method::HEAD, "looking at", file, deadline).await?;
        match response.status() {
            StatusCode::OK => match info(response.headers()) {
                Some(info) => Ok(Some(info)),
                None => Err(DatastoreError::Unclear { doing: self.doing("looking at", file) }),
            },
            // So it answers about a datastore that it does not know, too.
            StatusCode::NOT_FOUND => self.confirm_place().await.map(|()| None),
            status if status.is_redirection() => Err(DatastoreError::Folder { file: self.text(file) }),
            status => Err(self.refused("looking at", file, status, 0).await),
        }
    }

    /// The answer that brings a file.
    pub(super) async fn fetch(&self, file: &FilePath) -> Result<Response<Incoming>, DatastoreError> {
        let response = self.ask(Method::GET, "downloading", file, super::STALL).await?;
        match response.status() {
            StatusCode::OK => Ok(response),
            StatusCode::NOT_FOUND => {
                self.confirm_place().await?;
                Err(DatastoreError::Missing { file: self.text(file) })
            }
            status if status.is_redirection() => Err(DatastoreError::Folder { file: self.text(file) }),
            status => Err(self.refused("downloading", file, status, 0).await),
        }
    }

    /// Asks until there is an answer; an expired session is renewed once.
    async fn ask(
        &self,
        method: Method,
        verb: &str,
        file: &FilePath,
        deadline: Duration,
    ) -> Result<Response<Incoming>, DatastoreError> {
        let client = &self.machines.client;
        let what = if method == Method::HEAD { "HEAD" } else { "GET" };
        let address = self.place.address(file);
        let mut delays = RETRIES.delays(client.fork_random());
        let mut renewed = false;
        loop {
            let sent = client.send(what, method.clone(), &address, &AS_IT_IS, whole(""));
            let lost = || CallError::Lost { method: what, source: HttpError::TimedOut(deadline) };
            match timeout(deadline, sent).await.unwrap_or_else(|_| Err(lost())) {
                Ok(response) if is_denied(response.status()) && !renewed => {
                    self.confirm_place().await?;
                    renewed = true;
                }
                Ok(response) => return Ok(response),
                Err(source) => match delays.next().filter(|_| source.is_transient()) {
                    Some(delay) => tokio::time::sleep(delay).await,
                    None => return Err(DatastoreError::Call { doing: self.doing(verb, file), source }),
                },
            }
        }
    }

    /// What a status means that is no success. Servers say that a datastore is full in many ways; its free space tells.
    pub(super) async fn refused(
        &self,
        verb: &str,
        file: &FilePath,
        status: StatusCode,
        needed: u64,
    ) -> DatastoreError {
        let doing = self.doing(verb, file);
        if status == StatusCode::NOT_FOUND
            && let Err(error) = self.confirm_place().await
        {
            return error;
        }
        let free = if status.is_server_error() { self.free_space().await } else { None };
        match refusal(status, free, needed) {
            Refusal::Denied => DatastoreError::Denied { doing, status },
            Refusal::Full => {
                DatastoreError::NoSpace { datastore: self.place.name.clone(), doing, needed, free }
            }
            Refusal::Unexplained => DatastoreError::Status { doing, status },
        }
    }

    async fn free_space(&self) -> Option<u64> {
        let free = property_of(&self.machines.client, &self.place.datastore, "summary.freeSpace").await;
        free.ok()??.text.parse().ok()
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Denied,
    Full,
    Unexplained,
}

fn refusal(status: StatusCode, free: Option<u64>, needed: u64) -> Refusal {
    match status {
        status if is_denied(status) => Refusal::Denied,
        StatusCode::INSUFFICIENT_STORAGE => Refusal::Full,
        status if status.is_server_error() && free.is_some_and(|free| free < needed) => Refusal::Full,
        _ => Refusal::Unexplained,
    }
}

/// So a server speaks to a session that it does not know, or to a user who may not.
pub(super) fn is_denied(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn info(headers: &HeaderMap) -> Option<FileInfo> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let modified = text(LAST_MODIFIED).and_then(moment);
    Some(FileInfo { size: text(CONTENT_LENGTH)?.parse().ok()?, modified })
}

fn moment(date: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_judged_together_with_the_free_space() {
        for (status, free, expected) in [
            (401, None, Refusal::Denied),
            (403, Some(0), Refusal::Denied),
            (507, None, Refusal::Full),
            (507, Some(1000), Refusal::Full),
            (500, Some(99), Refusal::Full),
            (500, Some(100), Refusal::Unexplained),
            (500, None, Refusal::Unexplained),
            (404, Some(0), Refusal::Unexplained),
            (411, None, Refusal::Unexplained),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(refusal(status, free, 100), expected, "{status} with {free:?} free");
        }
    }

    #[test]
    fn a_file_has_a_size_and_perhaps_a_date() {
        let check = |length: &'static str, date: &'static str, expected: Option<FileInfo>| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_LENGTH, length.parse().unwrap());
            headers.insert(LAST_MODIFIED, date.parse().unwrap());
            assert_eq!(info(&headers), expected, "{length} {date}");
        };
        let date = "Sun, 15 Nov 2026 07:08:22 GMT";
        let modified = Some("2026-11-15T07:08:22Z".parse().unwrap());
        check("10", date, Some(FileInfo { size: 10, modified }));
        check("10", "yesterday", Some(FileInfo { size: 10, modified: None }));
        check("-1", date, None);
        assert_eq!(info(&HeaderMap::new()), None);
    }
}
