//! Control over HTTP.

use std::net::SocketAddr;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Control, handle, refuse};
use crate::io::{Reply, Request};
use crate::span::Span;
use crate::world::World;

const PREFIX: &str = "/rookery/";

/// Whether a request is for the simulator itself.
pub(crate) fn is_for(request: &Request) -> bool {
    request.path.starts_with(PREFIX)
}

pub(crate) fn serve(world: &mut World, request: &Request) -> Reply {
    let Some(token) = &world.settings.control_token else {
        return Reply::plain(404, "there is nothing here");
    };
    let near = request.peer.parse::<SocketAddr>().is_ok_and(|peer| peer.ip().is_loopback());
    let shown = request.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    if !near {
        return refuse(403, "the simulator is controlled from its own machine only");
    }
    if !shown.is_some_and(|shown| same(shown.trim(), &token.0)) {
        return refuse(401, "show the control token in the header: Authorization: Bearer TOKEN");
    }
    match read(request) {
        Ok(control) => handle(world, control),
        Err(reply) => reply,
    }
}

/// Compares without telling by its time how much is right.
fn same(shown: &str, token: &str) -> bool {
    let differing = shown.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == token.len() && differing == 0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Time {
    advance: Span,
}

fn read(request: &Request) -> Result<Control, Reply> {
    let path = request.path.strip_prefix(PREFIX).unwrap_or_default().trim_end_matches('/');
    let (what, which) = path.split_once('/').map_or((path, None), |(what, which)| (what, Some(which)));
    match (request.method.as_str(), what, which) {
        ("GET", "", None) => Ok(Control::Inspect),
        ("GET", "rules", None) => Ok(Control::Rules),
        ("POST", "rules", None) => body(request).map(Control::AddRule),
        ("DELETE", "rules", None) => Ok(Control::ClearRules),
        ("DELETE", "rules", Some(id)) => {
            id.parse().map(Control::RemoveRule).map_err(|_| refuse(404, "there is no such rule"))
        }
        ("POST", "deeds", None) => body(request).map(Control::Do),
        ("POST", "time", None) => match body(request)? {
            Time { advance: Span::Constant(by) } => Ok(Control::Advance(by)),
            Time { .. } => Err(refuse(400, "time passes by a constant, such as 5m")),
        },
        ("PATCH", "settings", None) => body(request).map(Box::new).map(Control::Set),
        ("GET", "check", None) => Ok(Control::Check),
        ("GET", "world", None) => Ok(Control::Dump),
        ("PUT", "world", None) => match std::str::from_utf8(&request.body) {
            Ok(text) => Ok(Control::Load(text.to_owned())),
            Err(_) => Err(refuse(400, "a world is text")),
        },
        (_, "" | "rules" | "deeds" | "time" | "settings" | "check" | "world", None) => {
            Err(refuse(405, "this cannot be done here"))
        }
        _ => Err(refuse(404, "there is nothing here")),
    }
}

fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Reply> {
    serde_json::from_slice(&request.body).map_err(|error| refuse(400, &error.to_string()))
}
