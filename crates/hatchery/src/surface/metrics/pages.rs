//! Requests to the hatchery's own pages, counted by the names that upstream's handlers have.

use rookery_daemon::metrics::{BYTES, Counter, Counters, Histogram, MILLISECONDS, Samples};
use rookery_daemon::pages::Served;

/// The pages and their handlers. The last one stands for all other paths.
const HANDLERS: [(&str, &str); 9] = [
    ("/mon/version", "service.VersionHandler"),
    ("/mon/status", "hatchery.(*Common).initRouter.getStatusHandler"),
    ("/mon/workers", "hatchery.(*Common).initRouter.getWorkersPoolHandler"),
    ("/mon/metrics", METRICS),
    ("/metrics", METRICS),
    ("/mon/metrics/all", "service.GetMetricsHandler"),
    ("/healthz", "rookery.healthz"),
    ("/readyz", "rookery.readyz"),
    ("", "notFound"),
];
const METRICS: &str = "hatchery.(*Common).initRouter.GetPrometheustMetricsHandler.func6";
const METHODS: [&str; 3] = ["GET", "HEAD", "other"];
const STATUSES: [&str; 5] = ["200", "404", "405", "503", "other"];

#[derive(Debug)]
pub(super) struct Counts {
    hits: Counter,
    handlers: Vec<Handler>,
}

#[derive(Debug)]
pub(super) struct Handler {
    name: &'static str,
    pub(super) methods: Counters,
    pub(super) statuses: Counters,
    pub(super) latency: Histogram,
    pub(super) request_bytes: Histogram,
    pub(super) response_bytes: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        let mut names: Vec<_> = HANDLERS.iter().map(|(_, name)| *name).collect();
        names.dedup();
        let handler = |name| Handler {
            name,
            methods: Counters::new(&METHODS),
            statuses: Counters::new(&STATUSES),
            latency: Histogram::new(&MILLISECONDS),
            request_bytes: Histogram::new(&BYTES),
            response_bytes: Histogram::new(&BYTES),
        };
        Self { hits: Counter::default(), handlers: names.into_iter().map(handler).collect() }
    }
}

impl Counts {
    pub(super) fn count(&self, served: &Served<'_>) {
        self.hits.count();
        let path = served.path.trim_end_matches('/');
        let found = HANDLERS.iter().find(|(known, _)| *known == path);
        let name = found.or(HANDLERS.last()).map(|(_, name)| *name);
        let Some(handler) = self.handlers.iter().find(|handler| Some(handler.name) == name) else { return };
        handler.methods.count(served.method);
        handler.statuses.count(match served.status {
            200 => "200",
            404 => "404",
            405 => "405",
            503 => "503",
            _ => "other",
        });
        handler.latency.time(served.took);
        handler.request_bytes.measure(served.request_bytes);
        handler.response_bytes.measure(served.response_bytes);
    }

    pub(super) fn hits(&self) -> u64 {
        self.hits.get()
    }

    /// Those that somebody has asked for.
    fn asked(&self) -> impl Iterator<Item = &Handler> {
        self.handlers.iter().filter(|handler| handler.latency.count() > 0)
    }

    pub(super) fn requests(&self, out: &mut Samples<'_>) {
        for handler in self.asked() {
            out.labelled(&[handler.name], handler.latency.count());
        }
    }

    pub(super) fn counts(&self, out: &mut Samples<'_>, of: impl Fn(&Handler) -> &Counters) {
        for handler in self.asked() {
            for (word, count) in of(handler).iter().filter(|(_, count)| *count > 0) {
                out.labelled(&[handler.name, word], count);
            }
        }
    }

    pub(super) fn histograms(&self, out: &mut Samples<'_>, of: impl Fn(&Handler) -> &Histogram) {
        self.asked().for_each(|handler| out.histogram(&[handler.name], of(handler)));
    }
}
