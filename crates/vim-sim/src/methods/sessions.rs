//! Sessions.

use rookery_sim::Request;
use rookery_vim::methods as vim;
use rookery_vim::{Node, envelope};

use super::{Methods, content};
use crate::properties::user_session;
use crate::refusal::Refusal;
use crate::session::COOKIE;
use crate::soap::{self, Call, Handled, Outcome};
use crate::world::{World, uuid_text};
use crate::{limits, privileges};

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, _: vim::RetrieveServiceContent| Ok(content(world)));
    all.answer(|world, _, _: vim::CurrentTime| Ok(world.now));
    all.answer(|world, call, _: vim::Logout| {
        end(world, call.session.unwrap_or_default());
        Ok(())
    });
    all.answer(|world, call, m: vim::TerminateSession| {
        let mut ids = Vec::new();
        for key in &m.session_id {
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
    });
    all.answer(|world, _, m: vim::SessionIsActive| {
        let session = world.sessions.by_key(&m.session_id.0);
        Ok(session.and_then(|id| world.sessions.user(id)).is_some_and(|user| user == m.user_name))
    });
}

/// Answers a login, which is the only call that needs to know more of its caller than the session.
pub(super) fn login(world: &mut World, call: &Call, node: Node, request: &Request) -> Handled {
    let login: vim::Login = soap::read(node)?;
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
    let text = envelope::result::<vim::Login>(&user_session(session));
    Ok(Outcome::Welcome(text, format!("{COOKIE}=\"{cookie}\"; Path=/; HttpOnly")))
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
