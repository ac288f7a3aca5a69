//! Control over HTTP.

use jiff::SignedDuration;
use rookery_sim::Request;
use rookery_sim::control::{self, body};

use super::{AdvanceTime, Control, RestartOptions, handle};
use crate::io::Reply;
use crate::world::World;

const PREFIX: &str = "/control/";

/// Whether a request is for the simulator itself.
pub(crate) fn is_for(request: &Request) -> bool {
    request.path.starts_with(PREFIX)
}

pub(crate) fn serve(world: &mut World, request: &Request) -> Reply {
    let Some(token) = &world.state.config.control_token else {
        return Reply::error(404, "there is nothing here");
    };
    if let Err(reply) = control::admit(request, &token.0) {
        return reply;
    }
    match read(request) {
        Ok(control) => handle(world, control),
        Err(reply) => reply,
    }
}

fn read(request: &Request) -> Result<Control, Reply> {
    let path = request.path.strip_prefix(PREFIX).unwrap_or_default();
    match (request.method.as_str(), path) {
        ("GET", "jobs") => Ok(Control::Jobs),
        ("POST", "jobs") => body(request).map(Box::new).map(Control::Enqueue),
        ("GET", "workers") => Ok(Control::Workers),
        ("GET", "requests") => Ok(Control::Requests),
        ("DELETE", "requests") => Ok(Control::ForgetRequests),
        ("PUT", "models") => body(request).map(Box::new).map(Control::PutModel),
        ("PUT", "code-models") => body(request).map(Box::new).map(Control::PutCodeModel),
        ("PUT", "builtin") => body(request).map(Box::new).map(Control::PutBuiltin),
        ("PUT", "hatcheries") => body(request).map(Control::PutHatchery),
        ("POST", "faults") => body(request).map(Control::AddFault),
        ("DELETE", "faults") => Ok(Control::ClearFaults),
        ("PUT", "capacity") => body(request).map(Some).map(Control::SetCapacity),
        ("DELETE", "capacity") => Ok(Control::SetCapacity(None)),
        ("POST", "time") => body(request)
            .map(|time: AdvanceTime| Control::Advance(SignedDuration::from_secs(time.advance_seconds))),
        ("POST", "sessions/expire") => Ok(Control::ExpireSessions),
        ("POST", "restart") => body(request)
            .map(|restart: RestartOptions| Control::Restart { keep_sessions: restart.keep_sessions }),
        ("POST", "sockets/drop") => Ok(Control::DropSockets { politely: false }),
        ("POST", "sockets/close") => Ok(Control::DropSockets { politely: true }),
        ("POST", "sockets/freeze") => Ok(Control::FreezeSockets(true)),
        ("POST", "sockets/thaw") => Ok(Control::FreezeSockets(false)),
        ("GET", "check") => Ok(Control::Check),
        ("GET", "world") => Ok(Control::Dump),
        ("PUT", "world") => body(request).map(Control::Load),
        (method, path) => {
            let job = path.strip_prefix("jobs/");
            match (method, job, job.and_then(|job| job.strip_suffix("/stop"))) {
                ("GET", Some(id), _) => Ok(Control::Job(id.to_owned())),
                ("POST", _, Some(id)) => Ok(Control::Stop(id.to_owned())),
                _ => Err(Reply::error(404, "there is nothing here")),
            }
        }
    }
}
