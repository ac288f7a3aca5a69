//! Hatcheries sign in, and register with the same breath.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Hatchery, Service, Who};
use crate::config::BuiltinConsumer;
use crate::io::Reply;
use crate::refusal::Refusal;
use crate::render::{ZERO_TIME, time};
use crate::route::Call;
use crate::token;
use crate::world::World;

/// What both protocols say of a hatchery.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Form {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    http_url: String,
    config: Value,
    public_key: String,
    version: Option<String>,
    /// First protocol only.
    region: Option<String>,
    /// First protocol only.
    ignore_job_with_no_region: Option<bool>,
    /// Second protocol only: the first has it beside the form.
    token: String,
}

impl Form {
    fn check_key(&self) -> Result<(), Refusal> {
        match token::public_key(&self.public_key) {
            Some(_) => Ok(()),
            None => Err(Refusal::FORBIDDEN.from("public_key is not base64 of a PKCS#1 RSA PUBLIC KEY block")),
        }
    }
}

/// `POST /auth/consumer/builtin/signin`
pub(crate) fn sign_in_v1(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let body: Value = call.body()?;
    let token = body["token"].as_str().unwrap_or_default();
    let consumers = &world.state.config.builtin;
    let consumer = consumers.iter().find(|c| !token.is_empty() && c.token.0 == token);
    let consumer =
        consumer.filter(|c| !c.disabled).cloned().ok_or(Refusal::FORBIDDEN.from("bad sign-in token"))?;
    let form = Option::<Form>::deserialize(&body["service"])
        .map_err(|error| Refusal::WRONG_REQUEST.from(error.to_string()))?;
    let service = match form {
        Some(form) => register(world, &consumer, form)?,
        None if consumer.is_pinned() => {
            return Err(Refusal::FORBIDDEN.from("the consumer must register its service"));
        }
        None => Value::Null,
    };
    let seconds = world.state.config.times.session;
    let session = world.open_session(Who::Builtin(consumer.name.clone()), &consumer.name, seconds);
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

    fn check_pins(&self, form: &Form) -> Result<(), Refusal> {
        fn pinned<T: PartialEq>(pin: Option<&T>, given: Option<&T>) -> bool {
            pin.is_none_or(|pin| given == Some(pin))
        }
        let ignores = self.service_ignore_job_with_no_region.as_ref();
        let checks = [
            ("name", pinned(self.service_name.as_ref(), Some(&form.name))),
            ("type", pinned(self.service_type.as_ref(), Some(&form.kind))),
            ("region", pinned(self.service_region.as_ref(), form.region.as_ref())),
            ("ignore_job_with_no_region", pinned(ignores, form.ignore_job_with_no_region.as_ref())),
        ];
        match checks.iter().find(|(_, holds)| !holds) {
            Some((what, _)) => {
                Err(Refusal::FORBIDDEN.from(format!("service {what} does not match the consumer's")))
            }
            None => Ok(()),
        }
    }
}

fn register(world: &mut World, consumer: &BuiltinConsumer, form: Form) -> Result<Value, Refusal> {
    if form.name.is_empty() {
        return Err(Refusal::WRONG_REQUEST.from("missing service name"));
    }
    consumer.check_pins(&form)?;
    if form.kind != "hatchery" {
        return Err(
            Refusal::FORBIDDEN.from(format!("only an admin may register a service of type {}", form.kind))
        );
    }
    form.check_key()?;
    let (id, region, ignore_job_with_no_region, status) = match world.state.services.get(&consumer.name) {
        // Region and flag stay as they were first.
        Some(row) if row.kind == form.kind => {
            (row.id, row.region.clone(), row.ignore_job_with_no_region, row.status.clone())
        }
        Some(_) => return Err(Refusal::FORBIDDEN.from("service type does not match the registered one")),
        None => {
            let status = json!({ "now": ZERO_TIME, "lines": null });
            (world.state.number(), form.region, form.ignore_job_with_no_region, status)
        }
    };
    let row = Service {
        id,
        name: form.name,
        kind: form.kind,
        http_url: form.http_url,
        config: form.config,
        public_key: form.public_key,
        region,
        ignore_job_with_no_region,
        last_heartbeat: world.now,
        status,
        version: form.version.unwrap_or_default(),
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

/// `POST /v2/auth/consumer/hatchery/signin`
///
/// The hatchery in the answer is the row as it was before: so it was captured.
pub(crate) fn sign_in_v2(world: &mut World, call: &Call<'_>) -> Result<Reply, Refusal> {
    let form: Form = call.body()?;
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
    form.check_key()?;
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
    let seconds = world.state.config.times.session;
    let session = world.open_session(Who::Hatchery(consumer.name.clone()), &before.id, seconds);
    let answer = json!({
        "api_url": call.api_url(world), "token": session, "region": region,
        "up_to_date": form.version.unwrap_or_default() == world.state.config.version,
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
