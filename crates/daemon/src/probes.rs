//! The probes of a process: whether it lives, and whether it can work. Both are pages, with the paths that Kubernetes and
//! load balancers expect.

use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde_json::json;

use crate::pages::{Page, Pages, Served};

/// Whether a process can work, as `/readyz` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Readiness {
    ready: bool,
    reasons: Vec<String>,
}

impl Readiness {
    /// It is ready unless there are reasons why not.
    pub fn new(reasons: Vec<String>) -> Self {
        Self { ready: reasons.is_empty(), reasons }
    }

    /// As a page, with the status that a probe looks at.
    pub fn page(&self) -> Page {
        Page::json(if self.ready { 200 } else { 503 }, self)
    }
}

/// Answers `/healthz`, and for all pages of a process that is still starting: a caller is told so instead of being left
/// to wait.
#[derive(Debug)]
pub struct Probes<P> {
    /// What is starting, as a subject.
    process: &'static str,
    error: fn(u16, &str) -> Page,
    /// What it does instead of starting, as a predicate.
    standing: Mutex<Option<String>>,
    pages: OnceLock<P>,
}

impl<P> Probes<P> {
    /// For `process`, as in "the operator is still starting". Errors look like `error`.
    pub fn new(process: &'static str, error: fn(u16, &str) -> Page) -> Self {
        Self { process, error, standing: Mutex::default(), pages: OnceLock::new() }
    }

    /// It does not start yet; `why` is a predicate, as in "stands by: another one runs". None: it is starting.
    pub fn waits(&self, why: Option<String>) {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    fn why(&self) -> String {
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let why = standing.as_deref().unwrap_or("is still starting; its log says what it waits for");
        format!("{} {why}", self.process)
    }

    /// It has started, and these are its pages. One of them is `/readyz`.
    pub fn started(&self, pages: P) {
        self.pages.set(pages).ok();
    }
}

impl<P: Pages> Pages for Probes<P> {
    fn page(&self, path: &str) -> Option<Page> {
        match (path.trim_end_matches('/'), self.pages.get()) {
            // That this is answered is all that it tells: whether the servers answer, too, is another page.
            ("/healthz", _) => Some(Page::json(200, &json!({ "alive": true }))),
            (_, Some(pages)) => pages.page(path),
            ("/readyz", None) => Some(Readiness::new(vec![self.why()]).page()),
            (_, None) => Some(self.error(503, &self.why())),
        }
    }

    fn error(&self, status: u16, message: &str) -> Page {
        (self.error)(status, message)
    }

    fn served(&self, served: &Served<'_>) {
        if let Some(pages) = self.pages.get() {
            pages.served(served);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct One;
    impl Pages for One {
        fn page(&self, path: &str) -> Option<Page> {
            (path == "/mon/version").then(|| Page::json(200, &json!({ "version": "1" })))
        }
    }

    #[test]
    fn a_process_that_is_still_starting_says_so() {
        let probes = Probes::new("the process", |status, message| Page::json(status, &message));
        let status = |path| probes.page(path).map(|page| page.status);
        assert_eq!((status("/mon/version"), status("/mon/status")), (Some(503), Some(503)));
        assert_eq!((status("/healthz"), status("/readyz")), (Some(200), Some(503)), "but it is alive");
        let body = |path| probes.page(path).unwrap().body;
        assert!(body("/readyz").contains("the process is still starting"), "{}", body("/readyz"));
        probes.waits(Some("stands by: another one runs".to_owned()));
        for path in ["/readyz", "/mon/status"] {
            assert_eq!(status(path), Some(503));
            assert!(body(path).contains("the process stands by: another one runs"), "{}", body(path));
        }
        assert_eq!(status("/healthz"), Some(200));
        probes.started(One);
        assert_eq!((status("/mon/version"), status("/mon/status")), (Some(200), None));
        assert_eq!((status("/healthz"), status("/readyz")), (Some(200), None), "pages say when it is ready");
    }
}
