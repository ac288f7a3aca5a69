//! What a request is counted as: paths have names of jobs and models in them, and those are no words for metrics.

use hyper::Method;

/// The class of a request.
pub(crate) fn class(method: &Method, path: &str) -> &'static str {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let last = path.rsplit('/').next().unwrap_or_default();
    match (path.trim_start_matches("/v2"), last) {
        (_, "signin") => "sign_in",
        (_, "signout") => "sign_out",
        (_, "heartbeat") => "heartbeat",
        (_, "cdn") => "cdn",
        (path, _) if path.starts_with("/worker/model/") || path.contains("/workermodel/") => "model",
        (path, _) if path.starts_with("/worker") => {
            if *method == Method::GET {
                "workers"
            } else {
                "disable"
            }
        }
        (path, last) if path.starts_with("/queue/") => match last {
            "book" | "take" if *method == Method::DELETE => "release",
            "book" | "take" => "take",
            "infos" | "info" if *method == Method::POST => "tell",
            "result" => "result",
            _ if last == "infos" || path.contains("/job/") => "job",
            _ => "queue",
        },
        _ => "other",
    }
}

/// Whether a request changes a job, a worker or a model. Sessions and heartbeats are about the hatchery alone.
pub(crate) fn changes_something(method: &Method, path: &str) -> bool {
    *method != Method::GET && !["sign_in", "sign_out", "heartbeat"].contains(&class(method, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_what_they_do_and_not_by_what_they_are_about() {
        let table = [
            (Method::POST, "/auth/consumer/builtin/signin", "sign_in"),
            (Method::POST, "/v2/auth/consumer/hatchery/signin", "sign_in"),
            (Method::POST, "/auth/consumer/signout", "sign_out"),
            (Method::POST, "/services/heartbeat", "heartbeat"),
            (Method::POST, "/v2/hatchery/heartbeat", "heartbeat"),
            (Method::GET, "/worker", "workers"),
            (Method::GET, "/v2/worker", "workers"),
            (Method::POST, "/worker/w-1/disable", "disable"),
            (Method::GET, "/worker/model/enabled", "model"),
            (Method::PUT, "/worker/model/shared/debian/book", "model"),
            (Method::GET, "/v2/project/P/vcs/g/repository/r/workermodel/debian?branch=x", "model"),
            (Method::GET, "/config/cdn", "cdn"),
            (Method::GET, "/v2/config/cdn", "cdn"),
            (Method::GET, "/queue/workflows?modelType=vsphere", "queue"),
            (Method::GET, "/v2/queue/default?osarch=linux/amd64", "queue"),
            (Method::GET, "/queue/workflows/12/infos", "job"),
            (Method::GET, "/v2/queue/default/job/abc", "job"),
            (Method::POST, "/queue/workflows/12/book", "take"),
            (Method::DELETE, "/queue/workflows/12/book", "release"),
            (Method::POST, "/v2/queue/default/job/abc/hatchery/take", "take"),
            (Method::DELETE, "/v2/queue/default/job/abc/hatchery/take", "release"),
            (Method::POST, "/queue/workflows/12/spawn/infos", "tell"),
            (Method::POST, "/v2/queue/default/job/abc/info", "tell"),
            (Method::POST, "/queue/workflows/12/result", "result"),
            (Method::POST, "/v2/queue/default/job/abc/result", "result"),
            (Method::GET, "/something/else", "other"),
        ];
        for (method, path, expected) in table {
            assert_eq!(class(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn whatever_changes_a_job_a_worker_or_a_model_needs_a_lease() {
        let table = [
            (Method::POST, "/queue/workflows/12/book", true),
            (Method::DELETE, "/queue/workflows/12/book", true),
            (Method::POST, "/queue/workflows/12/spawn/infos", true),
            (Method::POST, "/queue/workflows/12/result", true),
            (Method::POST, "/v2/queue/default/job/abc/hatchery/take", true),
            (Method::DELETE, "/v2/queue/default/job/abc/hatchery/take", true),
            (Method::POST, "/v2/queue/default/job/abc/info", true),
            (Method::POST, "/worker/w-1/disable", true),
            (Method::PUT, "/worker/model/shared/debian/book", true),
            (Method::POST, "/something/else", true),
            (Method::GET, "/queue/workflows/12/infos", false),
            (Method::GET, "/v2/worker", false),
            (Method::POST, "/auth/consumer/builtin/signin", false),
            (Method::POST, "/auth/consumer/signout", false),
            (Method::POST, "/v2/hatchery/heartbeat", false),
        ];
        for (method, path, expected) in table {
            assert_eq!(changes_something(&method, path), expected, "{method} {path}");
        }
    }
}
