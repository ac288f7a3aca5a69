//! Who calls, and what they may.

mod sign_in;

use jiff::Timestamp;
use rookery_sim::{Request, http_date};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{BuiltinConsumer, HatcheryConsumer, SHARED};
use crate::io::{self, Reply};
use crate::job::Protocol;
use crate::refusal::Refusal;
use crate::route::Call;
use crate::world::World;
pub(crate) use sign_in::{sign_in_v1, sign_in_v2};

/// A service of the first protocol, as it registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Service {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) http_url: String,
    pub(crate) config: Value,
    pub(crate) public_key: String,
    pub(crate) region: Option<String>,
    pub(crate) ignore_job_with_no_region: Option<bool>,
    pub(crate) last_heartbeat: Timestamp,
    pub(crate) status: Value,
    pub(crate) version: String,
}

/// A hatchery of the second protocol, as it registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Hatchery {
    pub(crate) id: String,
    pub(crate) model_type: String,
    pub(crate) http_url: String,
    pub(crate) config: Value,
    pub(crate) public_key: String,
    pub(crate) last_heartbeat: Option<Timestamp>,
    pub(crate) status: Value,
}

/// The session of a consumer or worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) who: Who,
    pub(crate) ends: Timestamp,
}

/// Who a session belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Who {
    /// A builtin consumer, by name.
    Builtin(String),
    /// A hatchery of the second protocol, by name.
    Hatchery(String),
    /// A worker, by its identifier.
    Worker(String),
}

impl World {
    /// The session of the caller. An invalid token counts as none.
    pub(crate) fn session(&self, request: &Request) -> Option<(String, &Session)> {
        let cookie = cookie(request);
        let claims = self.key.verify(cookie.or_else(|| request.bearer())?, self.now).ok()?;
        let id = claims["jti"].as_str()?.to_owned();
        let session = self.state.sessions.get(&id).filter(|session| session.ends > self.now)?;
        Some((id, session))
    }

    /// The name of the caller.
    pub(crate) fn who(&self, request: &Request) -> Option<String> {
        self.session(request).map(|(_, session)| match &session.who {
            Who::Builtin(name) | Who::Hatchery(name) => name.clone(),
            Who::Worker(id) => {
                self.state.workers.get(id).map_or_else(|| id.clone(), |worker| worker.name.clone())
            }
        })
    }

    pub(crate) fn caller(&self, request: &Request) -> Result<Who, Refusal> {
        let Some((_, session)) = self.session(request) else { return Err(Refusal::UNAUTHORIZED) };
        if cookie(request).is_some() && request.method != "GET" {
            return Err(Refusal::FORBIDDEN.from("a session from a cookie needs its XSRF token"));
        }
        let disabled = match &session.who {
            Who::Builtin(name) => self.builtin(name).is_none_or(|consumer| consumer.disabled),
            Who::Hatchery(name) => self.hatchery_consumer(name).is_none_or(|consumer| consumer.disabled),
            Who::Worker(id) => !self.state.workers.contains_key(id),
        };
        if disabled {
            return Err(Refusal::UNAUTHORIZED.from("the consumer is disabled or gone"));
        }
        Ok(session.who.clone())
    }

    /// Admits any caller of that protocol: each has routes of its own.
    pub(crate) fn anybody_of(&self, request: &Request, protocol: Protocol) -> Result<(), Refusal> {
        let speaks = match self.caller(request)? {
            Who::Builtin(_) => Protocol::V1,
            Who::Hatchery(_) => Protocol::V2,
            Who::Worker(id) => self.state.workers.get(&id).ok_or(Refusal::UNAUTHORIZED)?.protocol,
        };
        if speaks == protocol {
            Ok(())
        } else {
            Err(Refusal::FORBIDDEN.from("this is for the other protocol"))
        }
    }

    /// A hatchery of the first protocol that may do such things.
    pub(crate) fn v1_hatchery(
        &self,
        request: &Request,
        scope: &str,
    ) -> Result<(&BuiltinConsumer, &Service), Refusal> {
        let Who::Builtin(name) = self.caller(request)? else {
            return Err(Refusal::FORBIDDEN.from("this is for hatcheries"));
        };
        let consumer = self.builtin(&name).ok_or(Refusal::UNAUTHORIZED)?;
        if !consumer.scopes.is_empty() && !consumer.scopes.iter().any(|s| s == scope) {
            let why = format!("token scopes do not match the expected one: {scope}");
            return Err(Refusal::UNAUTHORIZED.from(why));
        }
        let service = self.state.services.get(&name).filter(|service| service.kind == "hatchery");
        let service =
            service.ok_or_else(|| Refusal::FORBIDDEN.from("the consumer has no service of type hatchery"))?;
        Ok((consumer, service))
    }

    /// A hatchery of the second protocol, with the region that it is granted.
    pub(crate) fn v2_hatchery(&self, request: &Request) -> Result<&HatcheryConsumer, Refusal> {
        let Who::Hatchery(name) = self.caller(request)? else {
            return Err(Refusal::FORBIDDEN.from("this is for hatcheries"));
        };
        self.hatchery_consumer(&name).ok_or(Refusal::UNAUTHORIZED)
    }

    /// The same, for calls that name a region.
    pub(crate) fn v2_hatchery_in(
        &self,
        request: &Request,
        region: &str,
    ) -> Result<&HatcheryConsumer, Refusal> {
        let hatchery = self.v2_hatchery(request)?;
        granted(hatchery, region)?;
        Ok(hatchery)
    }

    pub(crate) fn builtin(&self, name: &str) -> Option<&BuiltinConsumer> {
        self.state.config.builtin.iter().find(|consumer| consumer.name == name)
    }

    pub(crate) fn hatchery_consumer(&self, name: &str) -> Option<&HatcheryConsumer> {
        self.state.config.hatcheries.iter().find(|consumer| consumer.name == name)
    }

    /// Opens a session and gives its token.
    pub(crate) fn open_session(&mut self, who: Who, subject: &str, seconds: i64) -> String {
        let id = self.state.random.uuid();
        let (now, ends) = (self.now, self.after(seconds));
        self.state.sessions.retain(|_, session| session.ends > now);
        self.state.sessions.insert(id.clone(), Session { who, ends });
        self.key.sign(&json!({
            "ID": id, "TokenID": "", "iss": "cds", "sub": subject, "jti": id,
            "iat": self.now.as_second(), "exp": ends.as_second(),
        }))
    }

    /// What a browser would keep of a session.
    fn cookie(&self, token: &str, until: &str) -> String {
        let url = self.state.config.url.as_str();
        let host = url.split_once("://").map_or(url, |(_, rest)| rest).split(['/', ':']).next();
        let host = host.filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
        format!("jwt_token={token}; Path=/; Domain={host}; {until}; HttpOnly; Secure; SameSite=Strict")
    }

    fn signed_in(&self, answer: &Value, token: &str) -> Reply {
        let ends = http_date(self.after(self.state.config.times.session));
        Reply::json(200, answer)
            .with("x-api-pub-signing-key", self.key.public())
            .with("set-cookie", self.cookie(token, &format!("Expires={ends}")))
    }
}

/// A hatchery may start workers in one region.
pub(crate) fn granted(hatchery: &HatcheryConsumer, region: &str) -> Result<(), Refusal> {
    match &hatchery.region {
        None => Err(Refusal::NOT_FOUND.from("no region is granted to the hatchery")),
        Some(its) if its == region => Ok(()),
        Some(_) => Err(Refusal::FORBIDDEN.from(format!("the hatchery is not granted on region {region}"))),
    }
}

fn cookie(request: &Request) -> Option<&str> {
    let cookies = request.header("cookie")?;
    cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("jwt_token="))
}

/// Whether a consumer may see a job of these groups.
pub(crate) fn may_run(consumer: &BuiltinConsumer, groups: &[String]) -> bool {
    (consumer.maintainer && consumer.groups.is_empty())
        || groups.iter().any(|group| consumer.groups.contains(group))
}

/// Whether a consumer may at least look at a job of these groups.
pub(crate) fn may_read(consumer: &BuiltinConsumer, groups: &[String]) -> bool {
    may_run(consumer, groups) || consumer.maintainer || consumer.groups.iter().any(|group| group == SHARED)
}

/// `POST /auth/consumer/signout`
pub(crate) fn sign_out(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    world.anybody_of(call.request, Protocol::V1)?;
    if let Some((id, _)) = world.session(call.request) {
        world.state.sessions.remove(&id);
    }
    Ok(Reply::json(200, &Value::Null).with("set-cookie", world.cookie("", "Max-Age=0")))
}

/// What a heartbeat says: an object with the time and its lines.
fn monitoring_status(call: &Call<'_>) -> Result<Value, Refusal> {
    let status: Value = call.body()?;
    let lines = &status["lines"];
    if !status.is_object() || !(lines.is_null() || lines.is_array()) {
        return Err(Refusal::WRONG_REQUEST.from("a monitoring status has lines"));
    }
    Refusal::of_times(&status, &["now"])?;
    Ok(status)
}

/// `POST /services/heartbeat`
pub(crate) fn heartbeat_v1(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let name = world.v1_hatchery(call.request, "Service")?.0.name.clone();
    let mut status = monitoring_status(call)?;
    let version = world.state.config.version.clone();
    for line in status["lines"].as_array_mut().into_iter().flatten() {
        if line["component"] == "Version" {
            line["status"] = if line["value"] == version.as_str() { "OK" } else { "WARN" }.into();
        }
    }
    let now = world.now;
    if let Some(row) = world.state.services.get_mut(&name) {
        row.last_heartbeat = now;
        row.status = status;
    }
    Ok(io::empty(204))
}

/// `POST /v2/hatchery/heartbeat`
pub(crate) fn heartbeat_v2(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let name = world.v2_hatchery(call.request)?.name.clone();
    let status = monitoring_status(call)?;
    let now = world.now;
    let row = world.state.hatcheries.get_mut(&name).ok_or(Refusal::NOT_FOUND)?;
    row.last_heartbeat = Some(now);
    row.status = status;
    Ok(io::empty(204))
}
