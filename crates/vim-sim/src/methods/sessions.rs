//! Sessions.

use rookery_sim::Request;
use rookery_vim::methods::{
    CurrentTime, Login, Logout, Method as _, RetrieveServiceContent, SessionIsActive, TerminateSession,
};
use rookery_vim::{Node, envelope};

use super::{Dispatch, content};
use crate::limits;
use crate::privileges;
use crate::properties::user_session;
use crate::refusal::Refusal;
use crate::session::COOKIE;
use crate::soap::{self, Call, Handled, Outcome, answer};
use crate::world::{World, uuid_text};

pub(super) fn handle(world: &mut World, call: &Call, node: Node, request: &Request) -> Dispatch {
    Dispatch::Handled(match call.method.as_str() {
        RetrieveServiceContent::NAME => answer::<RetrieveServiceContent>(node, |_| Ok(content(world))),
        CurrentTime::NAME => answer::<CurrentTime>(node, |_| Ok(world.now)),
        Login::NAME => login(world, call, node, request),
        Logout::NAME => answer::<Logout>(node, |_| {
            end(world, call.session.unwrap_or_default());
            Ok(())
        }),
        TerminateSession::NAME => {
            answer::<TerminateSession>(node, |terminate| terminated(world, call, &terminate))
        }
        SessionIsActive::NAME => answer::<SessionIsActive>(node, |asked| {
            let session = world.sessions.by_key(&asked.session_id.0);
            Ok(session.and_then(|id| world.sessions.user(id)).is_some_and(|user| user == asked.user_name))
        }),
        _ => return Dispatch::Unknown(node),
    })
}

fn login(world: &mut World, call: &Call, node: Node, request: &Request) -> Handled {
    let login: Login = soap::read(node)?;
    let refused =
        || Refusal::new("InvalidLogin", "Cannot complete login due to an incorrect user name or password.");
    let right = privileges::may_log_in(world, &login.user_name, &login.password.0);
    // Who is logged in cannot log in again.
    if !right || call.session.is_some() {
        return Err(refused());
    }
    limits::check_login(world)?;
    if !privileges::has_any(world, &login.user_name) {
        return Err(Refusal::no_permission(world.root, "System.View"));
    }
    let keys = (uuid_text(world.uuid()), format!("{:032x}{:08x}", world.uuid(), world.uuid() >> 96));
    let agent = request.header("user-agent").unwrap_or_default();
    let peer = request.peer.map(|peer| peer.ip().to_string()).unwrap_or_default();
    let (id, cookie) = world.sessions.start(keys, &login.user_name, &peer, agent, world.now);
    limits::watch_session(world, id);
    let session = world.sessions.get(id).ok_or_else(refused)?;
    let text = envelope::result::<Login>(&user_session(session));
    Ok(Outcome::Welcome(text, format!("{COOKIE}=\"{cookie}\"; Path=/; HttpOnly")))
}

fn terminated(world: &mut World, call: &Call, terminate: &TerminateSession) -> Result<(), Refusal> {
    let mut ids = Vec::new();
    for key in &terminate.session_id {
        let id = world.sessions.by_key(key);
        if id.is_some() && id == call.session {
            return Err(Refusal::invalid_argument("sessionId"));
        }
        ids.push(id.ok_or_else(|| Refusal::new("NotFound", "The session was not found."))?);
    }
    for id in ids {
        end(world, id);
    }
    Ok(())
}

/// Ends a session with all that it has.
pub(crate) fn end(world: &mut World, session: u32) {
    if !world.sessions.end(session) {
        return;
    }
    for request in world.collectors.remove_session(session) {
        world.reply(request, soap::refuse(&Refusal::not_authenticated(&envelope::service_instance())));
    }
    world.views.retain(|_, view| view.session != session);
    world.events.collectors.retain(|_, history| history.reader.session != session);
    world.tasks.collectors.retain(|_, history| history.reader.session != session);
}
