//! Sessions of the REST interface. They are apart from those of the SOAP interface.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::{SignedDuration, Timestamp};
use rookery_sim::Request;
use serde_json::{Value, json};

use super::{Answer, RestError};
use crate::privileges;
use crate::settings::Limits;
use crate::world::World;

const NAME: &str = "vmware-api-session-id";

/// Who is logged in, by what identifies the session.
#[derive(Default)]
pub(crate) struct RestSessions(BTreeMap<String, RestSession>);

#[derive(Debug)]
struct RestSession {
    user: String,
    created: Timestamp,
    last_active: Timestamp,
}

impl std::fmt::Debug for RestSessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // What identifies a session is as good as a password.
        f.debug_list().entries(self.0.values()).finish()
    }
}

pub(super) fn answer(world: &mut World, request: &Request, action: Option<&str>) -> Answer {
    match (request.method.as_str(), action) {
        ("POST", None) => log_in(world, request),
        ("GET", None) | ("POST", Some("get")) => {
            let (_, session) = current(world, request)?;
            Ok(json!({
                "user": session.user,
                "created_time": session.created.to_string(),
                "last_accessed_time": session.last_active.to_string(),
            }))
        }
        ("DELETE", None) => {
            let (id, _) = current(world, request)?;
            world.rest_sessions.0.remove(&id);
            Ok(Value::Null)
        }
        _ => Err(RestError::unknown()),
    }
}

/// Whose session a request is made in.
pub(super) fn user(world: &mut World, request: &Request) -> Result<String, RestError> {
    current(world, request).map(|(_, session)| session.user.clone())
}

/// The session of a request, which thereby shows that it is alive.
fn current<'w>(world: &'w mut World, request: &Request) -> Result<(String, &'w RestSession), RestError> {
    let cookie = || {
        let cookies = request.header("cookie")?.split(';');
        cookies.map(str::trim).find_map(|cookie| cookie.strip_prefix(NAME)?.strip_prefix('='))
    };
    let id = request.header(NAME).or_else(cookie).ok_or_else(RestError::unauthenticated)?;
    let (now, limits) = (world.now, world.settings.limits.clone());
    // Nobody sees a session that is over, so it may go when somebody looks for it.
    world.rest_sessions.0.retain(|_, session| !session.is_over(&limits, now));
    let session = world.rest_sessions.0.get_mut(id).ok_or_else(RestError::unauthenticated)?;
    session.last_active = now;
    Ok((id.to_owned(), session))
}

impl RestSession {
    fn is_over(&self, limits: &Limits, now: Timestamp) -> bool {
        let past = |since: Timestamp, most: Option<SignedDuration>| {
            most.is_some_and(|m| now.duration_since(since) >= m)
        };
        past(self.last_active, limits.idle_session) || past(self.created, limits.session_age)
    }
}

fn log_in(world: &mut World, request: &Request) -> Answer {
    let (user, password) =
        request.header("authorization").and_then(credentials).ok_or_else(RestError::unauthenticated)?;
    if !privileges::may_log_in(world, &user, &password) {
        return Err(RestError::unauthenticated());
    }
    let id = format!("{:032x}", world.uuid());
    let session = RestSession { user, created: world.now, last_active: world.now };
    world.rest_sessions.0.insert(id.clone(), session);
    Ok(Value::String(id))
}

/// User and password of `Basic …`.
fn credentials(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (user, password) = text.split_once(':')?;
    (scheme.eq_ignore_ascii_case("basic") && !user.is_empty()).then(|| (user.to_owned(), password.to_owned()))
}

/// The cookie for whoever has logged in with this answer.
pub(super) fn cookie(answer: &Value) -> Option<(&'static str, String)> {
    let id = answer["value"].as_str().or(answer.as_str())?;
    Some(("set-cookie", format!("{NAME}={id}; Path=/; HttpOnly")))
}

#[cfg(test)]
mod tests {
    use super::credentials;

    #[test]
    fn only_whole_basic_credentials_are_credentials() {
        let check = |header: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(user, password)| (user.to_owned(), password.to_owned()));
            assert_eq!(credentials(header), expected, "{header}");
        };
        check("Basic dXNlcjpwYXNz", Some(("user", "pass")));
        check("basic dXNlcjpwOmFzcw==", Some(("user", "p:ass")));
        for wrong in ["Basic", "Basic !", "Basic dXNlcg==", "Basic OnBhc3M=", "Bearer dXNlcjpwYXNz", ""] {
            check(wrong, None);
        }
    }
}
