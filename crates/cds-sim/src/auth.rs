//! Who signs in, and who calls.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::{BuiltinConsumer, HatcheryConsumer, SHARED};
use crate::io::{Reply, Request};
use crate::refusal::Refusal;
use crate::render::{ZERO_TIME, time};
use crate::route::Call;
use crate::token;
use crate::world::World;

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

/// Somebody signed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) who: Who,
    pub(crate) ends: Timestamp,
}

/// Who somebody is.
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
    /// The session of whoever asks. An invalid token counts as none.
    pub(crate) fn session(&self, request: &Request) -> Option<(String, &Session)> {
        let cookie = cookie(request);
        let claims = self.key.verify(cookie.or_else(|| request.bearer())?, self.now).ok()?;
        let id = claims["jti"].as_str()?.to_owned();
        let session = self.state.sessions.get(&id).filter(|session| session.ends > self.now)?;
        Some((id, session))
    }

    /// What to call whoever asks.
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
        let ends = self.after(seconds);
        self.state.sessions.insert(id.clone(), Session { who, ends });
        self.key.sign(&json!({
            "ID": id, "TokenID": "", "iss": "cds", "sub": subject, "jti": id,
            "iat": self.now.as_second(), "exp": ends.as_second(),
        }))
    }

    fn signed_in(&self, answer: &Value, token: &str) -> Reply {
        Reply::json(200, answer)
            .with("x-api-pub-signing-key", self.key.public())
            .with("set-cookie", format!("jwt_token={token}; Path=/; HttpOnly"))
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

#[derive(Deserialize)]
struct ServiceForm {
    #[serde(default)]
    name: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    http_url: String,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    public_key: String,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    ignore_job_with_no_region: Option<bool>,
    #[serde(default)]
    version: Option<String>,
}

/// `POST /auth/consumer/builtin/signin`
pub(crate) fn sign_in_v1(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let body: Value = call.body()?;
    let token = body["token"].as_str().unwrap_or_default();
    let consumers = &world.state.config.builtin;
    let consumer = consumers.iter().find(|c| !token.is_empty() && c.token.0 == token);
    let consumer =
        consumer.filter(|c| !c.disabled).cloned().ok_or(Refusal::FORBIDDEN.from("bad sign-in token"))?;
    let form = Option::<ServiceForm>::deserialize(&body["service"])
        .map_err(|error| Refusal::WRONG_REQUEST.from(error.to_string()))?;
    let service = match form {
        Some(form) => register(world, &consumer, form)?,
        None if consumer.is_pinned() => {
            return Err(Refusal::FORBIDDEN.from("the consumer must register its service"));
        }
        None => Value::Null,
    };
    let session = world.open_session(
        Who::Builtin(consumer.name.clone()),
        &consumer.name,
        world.state.config.times.session,
    );
    let mut answer = json!({
        "api_url": call.api_url(world),
        "token": session,
        "user": {
            "id": "9d0f1754-4ea4-4209-841b-15f96ab8758b", "username": consumer.name, "fullname": consumer.name,
            "created": "2026-01-01T00:00:00Z", "groups": null,
            "ring": if consumer.maintainer { "MAINTAINER" } else { "USER" },
        },
    });
    if !service.is_null() {
        answer["service"] = service;
    }
    Ok(world.signed_in(&answer, &session))
}

impl BuiltinConsumer {
    fn is_pinned(&self) -> bool {
        self.service_name.is_some()
            || self.service_type.is_some()
            || self.service_region.is_some()
            || self.service_ignore_job_with_no_region.is_some()
    }

    fn check_pins(&self, form: &ServiceForm) -> Result<(), Refusal> {
        fn pinned<T: PartialEq>(pin: Option<&T>, given: Option<&T>) -> bool {
            pin.is_none_or(|pin| given == Some(pin))
        }
        let checks = [
            ("name", pinned(self.service_name.as_ref(), Some(&form.name))),
            ("type", pinned(self.service_type.as_ref(), Some(&form.kind))),
            ("region", pinned(self.service_region.as_ref(), form.region.as_ref())),
            (
                "ignore_job_with_no_region",
                pinned(
                    self.service_ignore_job_with_no_region.as_ref(),
                    form.ignore_job_with_no_region.as_ref(),
                ),
            ),
        ];
        match checks.iter().find(|(_, holds)| !holds) {
            Some((what, _)) => {
                Err(Refusal::FORBIDDEN.from(format!("service {what} does not match the consumer's")))
            }
            None => Ok(()),
        }
    }
}

fn register(world: &mut World, consumer: &BuiltinConsumer, form: ServiceForm) -> Result<Value, Refusal> {
    if form.name.is_empty() {
        return Err(Refusal::WRONG_REQUEST.from("missing service name"));
    }
    consumer.check_pins(&form)?;
    if form.kind != "hatchery" {
        return Err(
            Refusal::FORBIDDEN.from(format!("only an admin may register a service of type {}", form.kind))
        );
    }
    if token::public_key(&form.public_key).is_none() {
        return Err(Refusal::FORBIDDEN.from("public_key is not base64 of a PKCS#1 RSA PUBLIC KEY block"));
    }
    let row = match world.state.services.get(&consumer.name) {
        // Region and flag stay as they were first.
        Some(row) if row.kind == form.kind => row.clone(),
        Some(_) => return Err(Refusal::FORBIDDEN.from("service type does not match the registered one")),
        None => Service {
            id: world.state.number(),
            name: String::new(),
            kind: form.kind,
            http_url: String::new(),
            config: Value::Null,
            public_key: String::new(),
            region: form.region,
            ignore_job_with_no_region: form.ignore_job_with_no_region,
            last_heartbeat: world.now,
            status: json!({ "now": ZERO_TIME, "lines": null }),
            version: String::new(),
        },
    };
    let row = Service {
        name: form.name,
        http_url: form.http_url,
        config: form.config,
        public_key: form.public_key,
        last_heartbeat: world.now,
        version: form.version.unwrap_or_default(),
        ..row
    };
    let answer = json!({
        "id": row.id, "name": row.name, "type": row.kind, "http_url": row.http_url, "config": row.config,
        "public_key": row.public_key, "region": row.region,
        "ignore_job_with_no_region": row.ignore_job_with_no_region,
        "last_heartbeat": time(row.last_heartbeat), "monitoring_status": row.status, "version": row.version,
        "up_to_date": row.version == world.state.config.version,
    });
    world.state.services.insert(consumer.name.clone(), row);
    Ok(answer)
}

#[derive(Deserialize)]
struct HatcheryForm {
    #[serde(default)]
    token: String,
    #[serde(default)]
    name: String,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    http_url: String,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    public_key: String,
    #[serde(default)]
    version: String,
}

/// `POST /v2/auth/consumer/hatchery/signin`
///
/// The hatchery in the answer is the row as it was before: so it was captured.
pub(crate) fn sign_in_v2(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let form: HatcheryForm = call.body()?;
    let consumers = &world.state.config.hatcheries;
    let consumer = consumers.iter().find(|c| !form.token.is_empty() && c.token.0 == form.token);
    let consumer =
        consumer.filter(|c| !c.disabled).cloned().ok_or(Refusal::FORBIDDEN.from("bad sign-in token"))?;
    if consumer.name != form.name {
        return Err(Refusal::FORBIDDEN.from("the hatchery's name does not match"));
    }
    let Some(region) = consumer.region else {
        return Err(Refusal::FORBIDDEN.from("the hatchery is not granted on a region"));
    };
    if token::public_key(&form.public_key).is_none() {
        return Err(Refusal::FORBIDDEN.from("public_key is not base64 of a PKCS#1 RSA PUBLIC KEY block"));
    }
    let before = match world.state.hatcheries.get(&consumer.name) {
        Some(row) => row.clone(),
        None => Hatchery {
            id: world.state.random.uuid(),
            model_type: String::new(),
            http_url: String::new(),
            config: Value::Null,
            public_key: String::new(),
            last_heartbeat: None,
            status: Value::Null,
        },
    };
    let session = world.open_session(
        Who::Hatchery(consumer.name.clone()),
        &before.id,
        world.state.config.times.session,
    );
    let answer = json!({
        "api_url": call.api_url(world), "token": session, "region": region,
        "up_to_date": form.version == world.state.config.version,
        "hatchery": {
            "id": before.id, "name": consumer.name, "model_type": before.model_type, "config": before.config,
            "last_heartbeat": before.last_heartbeat.map_or_else(|| ZERO_TIME.into(), time),
            "public_key": before.public_key, "http_url": before.http_url,
        },
    });
    let row = Hatchery {
        id: before.id,
        model_type: form.kind,
        http_url: form.http_url,
        config: form.config,
        public_key: form.public_key,
        last_heartbeat: Some(world.now),
        status: before.status,
    };
    world.state.hatcheries.insert(consumer.name, row);
    Ok(world.signed_in(&answer, &session))
}

/// `POST /auth/consumer/signout`
pub(crate) fn sign_out(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    world.caller(call.request)?;
    if let Some((id, _)) = world.session(call.request) {
        world.state.sessions.remove(&id);
    }
    Ok(Reply::empty(200))
}

/// `POST /services/heartbeat`
pub(crate) fn heartbeat_v1(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let name = world.v1_hatchery(call.request, "Service")?.0.name.clone();
    let mut status: Value = call.body()?;
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
    Ok(Reply::empty(204))
}

/// `POST /v2/hatchery/heartbeat`
pub(crate) fn heartbeat_v2(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let name = world.v2_hatchery(call.request)?.name.clone();
    let status: Value = call.body()?;
    let now = world.now;
    let row = world.state.hatcheries.get_mut(&name).ok_or(Refusal::NOT_FOUND)?;
    row.last_heartbeat = Some(now);
    row.status = status;
    Ok(Reply::empty(204))
}
