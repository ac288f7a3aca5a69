//! Control over HTTP.

use rookery_sim::Request;
use rookery_sim::control::{self, body};
use serde::Deserialize;

use super::{Control, handle};
use crate::io::Reply;
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
    if let Err(reply) = control::admit(request, &token.0) {
        return reply;
    }
    match read(request) {
        Ok(control) => handle(world, control),
        Err(reply) => reply,
    }
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
            id.parse().map(Control::RemoveRule).map_err(|_| Reply::error(404, "there is no such rule"))
        }
        ("POST", "deeds", None) => body(request).map(Control::Do),
        ("POST", "time", None) => match body(request)? {
            Time { advance: Span::Constant(by) } => Ok(Control::Advance(by)),
            Time { .. } => Err(Reply::error(400, "the simulator advances by a fixed time only, such as 5m")),
        },
        ("PATCH", "settings", None) => body(request).map(Box::new).map(Control::Set),
        ("GET", "check", None) => Ok(Control::Check),
        ("GET", "world", None) => Ok(Control::Dump),
        ("PUT", "world", None) => match std::str::from_utf8(&request.body) {
            Ok(text) => Ok(Control::Load(text.to_owned())),
            Err(_) => Err(Reply::error(400, "the dump is not UTF-8 text")),
        },
        (_, "" | "rules" | "deeds" | "time" | "settings" | "check" | "world", None) => {
            Err(Reply::error(405, "this method is not allowed here"))
        }
        _ => Err(Reply::error(404, "there is nothing here")),
    }
}
