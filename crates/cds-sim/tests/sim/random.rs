//! Whatever is asked in whatever order: nothing panics, no identifier comes twice, a job has one holder at most, and
//! statuses move as they may.

use proptest::prelude::*;
use rookery_cds_sim::{Control, NewJob, Protocol};
use serde_json::{Value, json};

use super::kit::{Lab, PATH, claims_v2, form, header, mint, sign_in_v1, sign_in_v2};

/// One thing that somebody does: which, by whom, to which job, with which worker.
type Step = (u8, usize, usize, usize);

struct Story {
    lab: Lab,
    hatcheries: [(String, String); 2],
    jobs: Vec<(Protocol, String)>,
    workers: Vec<String>,
    /// How many workers tried to sign in: each has a name of its own.
    names: usize,
}

impl Story {
    fn new() -> Self {
        let mut lab = Lab::new();
        let hatcheries = sign_in(&mut lab);
        Self { lab, hatcheries, jobs: Vec::new(), workers: Vec::new(), names: 0 }
    }

    fn step(&mut self, (what, who, job, worker): Step) {
        let (v1, v2) = self.hatcheries[who % 2].clone();
        let (protocol, id) = match self.jobs.get(job % self.jobs.len().max(1)) {
            Some((protocol, id)) => (*protocol, id.clone()),
            None => (Protocol::V1, "nothing".to_owned()),
        };
        let nobody = String::new();
        let worker = self.workers.get(worker % self.workers.len().max(1)).unwrap_or(&nobody).clone();
        let (of_v1, of_v2) = (format!("/queue/workflows/{id}"), format!("/v2/queue/rbx/job/{id}"));
        let (of_job, session) = if protocol == Protocol::V1 { (&of_v1, &v1) } else { (&of_v2, &v2) };
        let hold = if protocol == Protocol::V1 { "book" } else { "hatchery/take" };
        let lab = &mut self.lab;
        let build = id.parse::<i64>().unwrap_or_default();
        let result = |status: &str| json!({ "buildID": build, "status": status });
        match what % 20 {
            0 => self.jobs.push((Protocol::V1, lab.enqueue(NewJob::v1("true")))),
            1 => self.jobs.push((Protocol::V2, lab.enqueue(NewJob::v2("true", PATH, "rbx")))),
            2..=4 => drop(lab.call(session, "POST", &format!("{of_job}/{hold}"), &Value::Null)),
            5 => drop(lab.call(session, "DELETE", &format!("{of_job}/{hold}"), &Value::Null)),
            6..=8 => {
                let name = ["one", "two"][who % 2];
                let mut claims = claims_v2(&id);
                claims["job_id"] = id.parse::<i64>().unwrap_or_default().into();
                claims["hatchery_name"] = name.into();
                self.names += 1;
                claims["worker_model"] = format!("w{}", self.names).into();
                let uri = match protocol {
                    Protocol::V1 => "/auth/consumer/worker/signin".to_owned(),
                    Protocol::V2 => format!("{of_v2}/worker/signin"),
                };
                let reply = lab.reply(&mint(&claims), "POST", &uri, &form());
                self.workers.extend(header(&reply, "x-cds-jwt"));
            }
            9..=11 => {
                let take = if protocol == Protocol::V1 { "take" } else { "worker/take" };
                drop(lab.call(&worker, "POST", &format!("{of_job}/{take}"), &Value::Null));
            }
            12 => drop(lab.call(&worker, "POST", &format!("{of_job}/result"), &result("Success"))),
            13 => drop(lab.call(session, "POST", &format!("{of_job}/result"), &result("Fail"))),
            14 => drop(lab.call(&worker, "POST", "/auth/consumer/worker/signout", &Value::Null)),
            15 => drop(lab.call(&worker, "POST", &format!("{of_v2}/worker/signout"), &Value::Null)),
            16 => drop(lab.pass(i64::try_from(job * 7).unwrap_or_default())),
            17 => drop(lab.call(&worker, "POST", "/worker/waiting", &Value::Null)),
            18 => drop(lab.call(session, "GET", &format!("/{}", "%".repeat(job % 4)), &json!([job]))),
            _ => self.hatcheries = sign_in(lab),
        }
    }
}

fn sign_in(lab: &mut Lab) -> [(String, String); 2] {
    ["one", "two"].map(|name| {
        let mut session = |uri, body| lab.ok("", "POST", uri, &body)["token"].as_str().unwrap().to_owned();
        (
            session("/auth/consumer/builtin/signin", sign_in_v1(name)),
            session("/v2/auth/consumer/hatchery/signin", sign_in_v2(name)),
        )
    })
}

fn check(lab: &mut Lab) {
    assert_eq!(lab.control(Control::Check)["findings"], json!([]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_world_stays_sound(steps in prop::collection::vec((0u8..20, 0usize..2, 0usize..40, 0usize..8), 1..80)) {
        let mut story = Story::new();
        for step in steps {
            story.step(step);
            check(&mut story.lab);
        }
    }

    #[test]
    fn the_same_steps_make_the_same_world(steps in prop::collection::vec((0u8..20, 0usize..2, 0usize..40, 0usize..8), 1..40)) {
        let tell = || {
            let mut story = Story::new();
            for step in &steps {
                story.step(*step);
            }
            (story.lab.control(Control::Dump), story.lab.control(Control::Requests), story.workers)
        };
        prop_assert_eq!(tell(), tell());
    }

    #[test]
    fn no_request_makes_it_panic(path in "(/[a-z0-9%./-]{0,12}){0,9}", query in "[a-z=&%+]{0,20}", body in ".{0,40}") {
        let mut lab = Lab::new();
        let session = lab.v1("one");
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let mut call = super::kit::request(&session, method, &format!("{path}?{query}"), &Value::Null);
            call.body = body.clone().into();
            prop_assert!(lab.request(call).is_some());
        }
    }
}
