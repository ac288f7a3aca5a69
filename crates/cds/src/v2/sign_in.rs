//! Signing in as a hatchery, and what the server tells a hatchery about jobs.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Answer;
use crate::error::CdsError;
use crate::feed::{Feed, Heard};
use crate::identity::{Identity, MODEL_TYPE};
use crate::job::V2JobId;
use crate::json;
use crate::session::Protocol;

/// Signs in with the token of a hatchery consumer.
#[derive(Debug)]
pub(crate) struct Consumer;

#[derive(Deserialize)]
struct SignedIn {
    token: String,
    region: String,
}

impl Protocol for Consumer {
    /// The region that CDS has given to the hatchery.
    type Registered = String;
    const NAME: &'static str = "V2";
    const SIGN_IN: &'static str = "/v2/auth/consumer/hatchery/signin";

    fn introduction(identity: &Identity, token: &SecretString) -> Value {
        let mut config = identity.config.clone();
        // The server looks for the systems here and nowhere else: without them it sends jobs for linux/amd64 only.
        if !identity.os_arch.is_empty() {
            config.insert("osArch".to_owned(), json!(identity.os_arch));
        }
        json!({
            "token": token.expose_secret(),
            "name": identity.name,
            "type": MODEL_TYPE,
            "http_url": identity.http_url,
            "config": config,
            "public_key": identity.key.public(),
            "version": identity.version,
        })
    }

    fn registered(answer: &Answer) -> Result<(SecretString, String), CdsError> {
        let SignedIn { token, region } = answer.object()?;
        Ok((token.into(), region))
    }
}

#[derive(Deserialize)]
struct Message {
    job_run_id: String,
}

impl Feed for Consumer {
    type Job = V2JobId;
    const ROUTE: &'static str = "/v2/hatchery/ws";

    /// The server knows from the sign-in what to send.
    fn filters() -> Option<String> {
        None
    }

    fn hear(text: &[u8]) -> Result<Heard<V2JobId>, serde_json::Error> {
        let Message { job_run_id } = json::read(text)?;
        Ok(V2JobId::try_from(job_run_id).map_or(Heard::Other, Heard::Job))
    }
}
