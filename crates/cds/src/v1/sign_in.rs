//! Signing in as a service, and what the server tells a service about jobs.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Answer;
use crate::error::CdsError;
use crate::feed::{Feed, Heard};
use crate::identity::{Identity, MODEL_TYPE};
use crate::job::{JobStatus, V1JobId};
use crate::json::{self, ZERO_TIME};
use crate::session::Protocol;

/// Signs in with the token of a builtin consumer.
#[derive(Debug)]
pub(crate) struct Builtin;

/// What CDS knows a hatchery as.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Service {
    /// Its number: what its bookings carry.
    pub id: i64,
    /// Its region, as the first sign-in gave it: later ones change nothing.
    pub region: Option<String>,
    /// Whether jobs without a region are left to others, as the first sign-in said.
    #[serde(default)]
    pub ignore_job_with_no_region: bool,
}

#[derive(Deserialize)]
struct SignedIn {
    token: String,
    service: Service,
}

impl Protocol for Builtin {
    type Registered = Service;
    const NAME: &'static str = "V1";
    const SIGN_IN: &'static str = "/auth/consumer/builtin/signin";

    fn introduction(identity: &Identity, token: &SecretString) -> Value {
        json!({
            "token": token.expose_secret(),
            "service": {
                "id": 0,
                "name": identity.name,
                "type": "hatchery",
                "http_url": identity.http_url,
                "config": identity.config,
                "public_key": identity.key.public(),
                "region": identity.region,
                "ignore_job_with_no_region": identity.ignore_job_with_no_region.then_some(true),
                "last_heartbeat": ZERO_TIME,
                "monitoring_status": { "now": ZERO_TIME, "lines": null },
                "version": "",
                "up_to_date": false,
            },
        })
    }

    fn registered(answer: &Answer) -> Result<(SecretString, Service), CdsError> {
        let SignedIn { token, mut service } = answer.object()?;
        service.region.take_if(|region| region.is_empty());
        Ok((token.into(), service))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    status: String,
    error: String,
    event: Event,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    #[serde(rename = "type_event")]
    kind: String,
    status: JobStatus,
    payload: Value,
}

impl Feed for Builtin {
    type Job = V1JobId;
    const ROUTE: &'static str = "/ws";

    /// Which events to send: a new connection sends none.
    fn filters() -> Option<String> {
        let filters = json!([{
            "type": "queue", "project_key": "", "application_name": "", "pipeline_name": "", "environment_name": "",
            "workflow_name": "", "workflow_run_num": 0, "workflow_node_run_id": 0, "operation_uuid": "",
            "hatchery_type": MODEL_TYPE,
        }]);
        Some(filters.to_string())
    }

    fn hear(text: &[u8]) -> Result<Heard<V1JobId>, serde_json::Error> {
        let Message { status, error, event } = json::read(text)?;
        if status == "KO" {
            return Ok(Heard::Complaint(error));
        }
        if event.kind != "sdk.EventRunWorkflowJob" || event.status != JobStatus::Waiting {
            return Ok(Heard::Other);
        }
        let id = event.payload.get("id").and_then(Value::as_i64);
        Ok(id.and_then(|id| V1JobId::try_from(id).ok()).map_or(Heard::Other, Heard::Job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Option<i64> {
        match Builtin::hear(text.as_bytes()).unwrap() {
            Heard::Job(job) => Some(job.number()),
            Heard::Other | Heard::Complaint(_) => None,
        }
    }

    #[test]
    fn only_a_job_that_waits_is_news() {
        let event = |kind: &str, status: &str| {
            format!(
                r#"{{"status":"OK","error":"","event":{{"type_event":"{kind}","payload":{{"id":1234,"status":"x"}},
               "status":"{status}","event_integrations_id":null,"region":"rbx"}}}}"#
            )
        };
        assert_eq!(heard(&event("sdk.EventRunWorkflowJob", "Waiting")), Some(1234));
        assert_eq!(heard(&event("sdk.EventRunWorkflowJob", "Building")), None);
        assert_eq!(heard(&event("sdk.EventRunWorkflow", "Waiting")), None);
        assert_eq!(heard("{}"), None);
        let complaint = Builtin::hear(br#"{"status":"KO","error":"bad filter","event":null}"#).unwrap();
        assert!(matches!(complaint, Heard::Complaint(text) if text == "bad filter"));
        assert!(Builtin::hear(b"<html>").is_err());
    }
}
