//! Routes.

use rookery_sim::{Request, percent_decode};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::io::Reply;
use crate::job::Protocol;
use crate::refusal::{Answer, Refusal};
use crate::world::World;
use crate::{auth, models, queue_v1, queue_v2, sockets, workers};

/// One call, taken apart.
pub(crate) struct Call<'r> {
    pub(crate) request: &'r Request,
    pub(crate) query: Vec<(String, String)>,
}

impl Call<'_> {
    /// What the body says. No body counts as null.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let body = if self.request.body.is_empty() { b"null".as_slice() } else { &self.request.body };
        serde_json::from_slice(body).map_err(|error| Refusal::WRONG_REQUEST.from(error.to_string()))
    }

    /// All values of a query parameter.
    pub(crate) fn all<'c>(&'c self, name: &'c str) -> impl Iterator<Item = &'c str> {
        self.query.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a query parameter, if it says something.
    pub(crate) fn one<'c>(&'c self, name: &'c str) -> Option<&'c str> {
        self.all(name).next().filter(|value| !value.is_empty())
    }

    pub(crate) fn api_url(&self, world: &World) -> String {
        if world.state.config.url.is_empty() {
            format!("http://{}", self.request.header("host").unwrap_or("cds-sim"))
        } else {
            world.state.config.url.clone()
        }
    }
}

/// Answers a request; nothing if there is no such route.
pub(crate) fn answer(world: &mut World, request: &Request, request_id: &str) -> Option<Reply> {
    let call = Call { request, query: request.parameters() };
    let segments: Vec<String> = request.path.trim_start_matches('/').split('/').map(percent_decode).collect();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    let answered = anybody(world, &call, &path)
        .or_else(|| v1(world, &call, &path))
        .or_else(|| v2(world, &call, &path))
        .or_else(|| worker(world, &call, &path));
    answered.map(|answered| answered.unwrap_or_else(|refusal| refusal.reply(request_id)))
}

fn anybody(world: &mut World, call: &Call<'_>, path: &[&str]) -> Option<Answer> {
    Some(match (call.request.method.as_str(), path) {
        ("POST", ["auth", "consumer", "builtin", "signin"]) => auth::sign_in_v1(world, call),
        ("POST", ["v2", "auth", "consumer", "hatchery", "signin"]) => auth::sign_in_v2(world, call),
        ("POST", ["auth", "consumer", "signout"]) => auth::sign_out(world, call),
        ("GET", ["mon", "version"]) => Ok(Reply::json(
            200,
            &json!({
                "version": world.state.config.version, "architecture": "amd64", "os": "linux",
                "git_hash": "", "build_time": "",
            }),
        )),
        ("GET", ["mon", "status"]) => {
            Ok(Reply::json(200, &json!({ "now": world.now.to_string(), "lines": [] })))
        }
        ("GET", ["action", "requirement"]) => {
            let all = world.state.config.binaries.iter().map(|binary| models::capability(0, binary));
            Ok(Reply::json(200, &all.collect::<Vec<_>>()))
        }
        ("GET", ["download", "worker", os, arch]) => download(os, arch),
        _ => return None,
    })
}

fn v1(world: &mut World, call: &Call<'_>, path: &[&str]) -> Option<Answer> {
    Some(match (call.request.method.as_str(), path) {
        ("POST", ["services", "heartbeat"]) => auth::heartbeat_v1(world, call),
        ("GET", ["config", "cdn"]) => world.anybody_of(call.request, Protocol::V1).map(|()| cdn(world)),
        ("GET", ["worker", "model", "enabled"]) => models::enabled(world, call),
        ("GET", ["worker", "model", group, name]) => models::one(world, call, group, name),
        ("GET", ["worker", "model", group, name, "secret"]) => models::secrets(world, call, group, name),
        ("PUT", ["worker", "model", group, name, "book"]) => models::book(world, call, group, name),
        ("PUT", ["worker", "model", group, name, "error"]) => models::error(world, call, group, name),
        ("GET", ["queue", "workflows"]) => queue_v1::list(world, call),
        ("GET", ["queue", "workflows", "count"]) => queue_v1::count(world, call),
        ("GET", ["queue", "workflows", id, "infos"]) => queue_v1::infos(world, call, id),
        ("POST", ["queue", "workflows", id, "book"]) => queue_v1::book(world, call, id),
        ("DELETE", ["queue", "workflows", id, "book"]) => queue_v1::release(world, call, id),
        ("POST", ["queue", "workflows", id, "spawn", "infos"]) => queue_v1::spawn_infos(world, call, id),
        ("POST", ["queue", "workflows", id, "result"]) => queue_v1::result(world, call, id),
        ("GET", ["ws"]) => sockets::open_v1(world, call),
        ("GET", ["worker"]) => workers::list_v1(world, call),
        ("GET", ["worker", _] | ["v2", "worker", _]) => {
            world.caller(call.request).and(Err(Refusal::FORBIDDEN.from("this is for the CDN")))
        }
        ("POST", ["worker", id, "disable"]) => workers::disable(world, call, id),
        _ => return None,
    })
}

fn v2(world: &mut World, call: &Call<'_>, path: &[&str]) -> Option<Answer> {
    Some(match (call.request.method.as_str(), path) {
        ("POST", ["v2", "hatchery", "heartbeat"]) => auth::heartbeat_v2(world, call),
        ("GET", ["v2", "hatchery", "ws"]) => sockets::open_v2(world, call),
        ("GET", ["v2", "config", "cdn"]) => world.anybody_of(call.request, Protocol::V2).map(|()| cdn(world)),
        ("GET", ["v2", "project", project, "vcs", vcs, "repository", repository, "workermodel", name]) => {
            models::from_code(world, call, &format!("{project}/{vcs}/{repository}/{name}"))
        }
        ("GET", ["v2", "worker"]) => workers::list_v2(world, call),
        ("GET", ["v2", "queue", region]) => queue_v2::list(world, call, region),
        ("GET", ["v2", "queue", region, "job", id]) => queue_v2::detail(world, call, region, id),
        ("POST", ["v2", "queue", region, "job", id, "hatchery", "take"]) => {
            queue_v2::take(world, call, region, id)
        }
        ("DELETE", ["v2", "queue", region, "job", id, "hatchery", "take"]) => {
            queue_v2::release(world, call, region, id)
        }
        ("POST", ["v2", "queue", region, "job", id, "info"]) => queue_v2::info(world, call, region, id),
        ("POST", ["v2", "queue", region, "job", id, "result"]) => queue_v2::result(world, call, region, id),
        _ => return None,
    })
}

fn worker(world: &mut World, call: &Call<'_>, path: &[&str]) -> Option<Answer> {
    Some(match (call.request.method.as_str(), path) {
        ("POST", ["auth", "consumer", "worker", "signin"]) => workers::sign_in_v1(world, call),
        ("POST", ["auth", "consumer", "worker", "signout"]) => workers::sign_out_v1(world, call),
        ("POST", ["worker", "refresh"]) => workers::refresh_v1(world, call),
        ("POST", ["worker", "waiting"]) => workers::waiting(world, call),
        ("POST", ["queue", "workflows", id, "take"]) => queue_v1::worker_take(world, call, id),
        ("POST", ["queue", "workflows", id, "step"]) => workers::step(world, call, Protocol::V1, id),
        ("GET", ["project", project, "workflows", workflow, "runs", number]) => {
            queue_v1::run(world, call, project, workflow, number)
        }
        ("POST", ["v2", "queue", region, "job", id, "worker", "signin"]) => {
            workers::sign_in_v2(world, call, region, id)
        }
        ("POST", ["v2", "queue", _, "job", id, "worker", "signout"]) => workers::sign_out_v2(world, call, id),
        ("POST", ["v2", "queue", _, "job", id, "worker", "refresh"]) => workers::refresh_v2(world, call, id),
        ("POST", ["v2", "queue", _, "job", id, "worker", "take"]) => queue_v2::worker_take(world, call, id),
        ("POST", ["v2", "queue", _, "job", id, "step"]) => workers::step(world, call, Protocol::V2, id),
        ("GET", ["v2", "plugin", name]) => world.caller(call.request).map(|_| {
            let yaml = format!("name: {name}\ntype: action\n");
            Reply::new(200, "application/x-yaml", yaml)
        }),
        ("GET", ["download", "plugin", _, "binary", _, _]) => {
            Ok(Reply::new(200, "application/octet-stream", "#!/bin/sh\nexec sh\n".to_owned()))
        }
        ("GET", ["sim", "job", id, "script"]) => workers::script(world, call, id),
        ("POST", ["sim", "job", id, "log"]) => workers::log(world, call, id),
        _ => return None,
    })
}

fn cdn(world: &World) -> Reply {
    let cdn = &world.state.config.cdn;
    Reply::json(
        200,
        &json!({
            "tcp_url": cdn.tcp_url, "tcp_url_enable_tls": cdn.tcp_url_enable_tls, "http_url": cdn.http_url,
        }),
    )
}

fn download(os: &str, arch: &str) -> Answer {
    if !matches!(os, "windows" | "darwin" | "linux" | "freebsd" | "openbsd") {
        return Err(Refusal::BAD_OS.from(os));
    }
    if !matches!(arch, "amd64" | "arm" | "386" | "arm64" | "ppc64le" | "x86_64" | "i386" | "i686") {
        return Err(Refusal::BAD_ARCH.from(arch));
    }
    let file = format!("attachment; filename=\"cds-worker-{os}-{arch}\"");
    Ok(Reply::new(200, "application/octet-stream", crate::worker::SCRIPT.to_owned())
        .with("content-disposition", file))
}
