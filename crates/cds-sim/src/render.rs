//! Jobs as JSON: every key as it was captured, absent where it was absent.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::job::Job;
use crate::world::World;

/// The zero time, which is sent and not left out.
pub(crate) const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

pub(crate) fn time(at: Timestamp) -> Value {
    at.to_string().into()
}

/// Whether Go reads this as a time: RFC 3339 to the letter, with a `T`, seconds and an offset.
pub(crate) fn is_time(text: &str) -> bool {
    let Some(rest) = text.get(19..) else { return false };
    let zone =
        rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    let offset = zone.len() == 6 && zone.starts_with(['+', '-']) && zone.get(3..4) == Some(":");
    text.get(10..11) == Some("T") && (zone == "Z" || offset) && text.parse::<Timestamp>().is_ok()
}

/// Leaves out what is empty, as Go does where it is told to.
fn put_unless_empty(object: &mut Value, key: &str, value: Value) {
    let empty = match &value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(true) | Value::Array(_) | Value::Object(_) => false,
    };
    if let (false, Some(object)) = (empty, object.as_object_mut()) {
        object.insert(key.to_owned(), value);
    }
}

/// A job of the first protocol.
pub(crate) fn job_v1(world: &World, job: &Job) -> Value {
    let exec_groups = job.asked.exec_groups.iter().map(|name| {
        let mut group = json!({ "id": world.state.group_id(name), "name": name });
        if name != crate::config::SHARED {
            group["organization"] = "default".into();
        }
        group
    });
    let booked = job.booked(world.now);
    let booked = booked.map_or(json!({}), |by| json!({ "id": by.service, "name": by.hatchery }));
    let mut object = json!({
        "project_id": 1, "id": job.number, "workflow_node_run_id": job.number,
        "job": action_v1(job),
        "parameters": parameters_v1(job),
        "status": job.status, "retry": job.retry,
        "queued": time(job.queued),
        "start": job.started.map_or(ZERO_TIME.into(), time),
        "done": ZERO_TIME,
        "bookedby": booked, "spawninfos": null,
        "exec_groups": exec_groups.collect::<Value>(),
        "header": header_v1(job),
    });
    let waited = job.started.unwrap_or(world.now).duration_since(job.queued).as_secs();
    for (key, value) in [
        ("queued_seconds", waited.into()),
        ("model_type", job.model_type.as_str().into()),
        ("region", job.asked.region.as_deref().into()),
        ("contains_service", (!job.asked.services.is_empty()).into()),
        ("hatchery_name", job.hatchery.as_str().into()),
        ("worker_name", job.worker_name.as_str().into()),
    ] {
        put_unless_empty(&mut object, key, value);
    }
    object
}

pub(crate) fn header_v1(job: &Job) -> Value {
    json!({
        "X-Project-Key": job.asked.project, "X-Workflow": job.asked.workflow,
        "X-Workflow-Run": job.number.to_string(),
    })
}

/// The job as its pipeline describes it.
pub(crate) fn action_v1(job: &Job) -> Value {
    let requirements = job.asked.all_requirements().into_iter().zip(1..).map(|(requirement, id)| {
        json!({
            "id": id, "action_id": 0, "name": requirement.name, "type": requirement.kind,
            "value": requirement.value,
        })
    });
    let common = |id: i64, name: &str, kind: &str| {
        json!({
            "id": id, "name": name, "type": kind, "description": "", "enabled": true, "deprecated": false,
            "optional": false, "always_executed": false,
        })
    };
    let mut script = common(13, "Script", "Builtin");
    script["requirements"] = Value::Null;
    script["parameters"] = json!([{
        "id": 49, "name": "script", "type": "text", "value": job.asked.script, "description": "",
    }]);
    let mut action = common(15, &job.asked.name, "Joined");
    action["requirements"] = requirements.collect();
    action["parameters"] = Value::Null;
    action["actions"] = json!([script]);
    json!({
        "pipeline_action_id": 1, "pipeline_stage_id": 1, "enabled": true, "last_modified": 1_794_727_287,
        "action": action, "warnings": null, "step_status": null, "reason": "",
        "worker_name": job.worker_name, "worker_id": job.worker_id,
    })
}

fn parameters_v1(job: &Job) -> Value {
    let number = job.number.to_string();
    let parameters = [
        ("cds.manual", "true"),
        ("cds.node", "root"),
        ("cds.version", number.as_str()),
        ("cds.run", &format!("{number}.0")),
        ("cds.run.number", number.as_str()),
        ("cds.project", job.asked.project.as_str()),
        ("cds.workflow", job.asked.workflow.as_str()),
        ("cds.job", job.asked.name.as_str()),
    ]
    .map(|(name, value)| json!({ "id": 0, "name": name, "type": "string", "value": value }));
    Value::from_iter(parameters)
}

/// A job of the second protocol.
pub(crate) fn job_v2(job: &Job) -> Value {
    let asked = &job.asked;
    let region = asked.region.as_deref().unwrap_or_default();
    let mut spec = json!({ "region": region, "steps": [{ "id": asked.name, "run": asked.script }] });
    let model = asked.model.as_deref().unwrap_or_default();
    let memory = asked.memory.map(|memory| memory.to_string()).unwrap_or_default();
    let flavor = asked.flavor.as_deref().unwrap_or_default();
    // An object only where a string would not do.
    spec["runs-on"] = if memory.is_empty() && flavor.is_empty() {
        model.into()
    } else {
        json!({ "model": model, "memory": memory, "flavor": flavor })
    };
    if !asked.services.is_empty() {
        let services = asked.services.iter().map(|(name, image)| (name.clone(), json!({ "image": image })));
        spec["services"] = services.collect();
    }
    let user = "9d0f1754-4ea4-4209-841b-15f96ab8758b";
    let mut object = json!({
        "id": job.id, "job_id": asked.name, "workflow_run_id": job.run_id, "project_key": asked.project,
        "vcs_server": "vcs", "repository": "org/repo", "workflow_name": asked.workflow,
        "run_number": job.number, "run_attempt": 1, "retry": 0, "status": job.status,
        "queued": time(job.queued), "job": spec, "worker_name": job.worker_name,
        "hatchery_name": job.hatchery, "steps_status": null, "user_id": user, "username": "somebody",
        "admin_mfa": false, "region": region, "model_type": job.model_type, "model_osarch": job.model_osarch,
        "initiator": {
            "is_admin_with_mfa": false, "user": { "email": "somebody@example.org", "username": "somebody" },
            "user_id": user, "vcs": "", "vcs_username": "",
        },
    });
    for (key, at) in [
        ("scheduled", job.scheduled),
        ("started", job.started),
        ("ended", job.history.last().filter(|(_, status)| status.is_final()).map(|(at, _)| *at)),
    ] {
        put_unless_empty(&mut object, key, at.map_or(Value::Null, time));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_go_reads_it() {
        for (text, expected) in [
            (ZERO_TIME, true),
            ("2026-06-23T09:12:03.123456789+02:00", true),
            ("2026-06-23T09:12:03Z", true),
            ("2026-06-23T09:12:03", false),
            ("2026-06-23 09:12:03Z", false),
            ("2026-06-23t09:12:03z", false),
            ("2026-06-23T09:12:03+00:00[UTC]", false),
            ("2026-06-23T09:12Z", false),
            ("2026-06-23T09:12:03+02", false),
            ("1781000000", false),
            ("", false),
        ] {
            assert_eq!(is_time(text), expected, "{text}");
        }
    }
}
