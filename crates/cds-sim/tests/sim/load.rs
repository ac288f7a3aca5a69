//! A server that bears only so much.

use rookery_cds_sim::{Body, Capacity, Control, NewJob, Reply, Status};
use serde_json::Value;

use super::kit::{Lab, PATH, request};

fn bear(lab: &mut Lab, service_milliseconds: u32) {
    let capacity = Capacity { service_milliseconds, worker_patience_milliseconds: 10_000 };
    lab.control(Control::SetCapacity(Some(capacity)));
}

fn ask(lab: &mut Lab, session: &str, method: &str, uri: &str) {
    assert_eq!(lab.request(request(session, method, uri, &Value::Null)), None, "it waits for its turn");
}

fn statuses(replies: Vec<(rookery_cds_sim::RequestId, Reply)>) -> Vec<u16> {
    replies.into_iter().map(|(_, reply)| if reply.body == Body::Cut { 0 } else { reply.status }).collect()
}

#[test]
fn calls_wait_in_one_queue_and_each_takes_its_time() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    bear(&mut lab, 2_000);
    for _ in 0..3 {
        ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    }
    lab.control(Control::Jobs);
    let answered: Vec<_> = (0..7).map(|_| statuses(lab.pass(1)).len()).collect();
    assert_eq!(answered, [0, 1, 0, 1, 0, 1, 0]);
    ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    assert_eq!(statuses(lab.pass(2)), [200], "an idle server begins at once");
    lab.control(Control::SetCapacity(None));
    lab.ok(&session, "GET", "/v2/queue/rbx", &Value::Null);
}

#[test]
fn a_worker_that_is_not_given_its_job_in_time_gives_up_and_the_job_is_stopped() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let of_job = format!("/v2/queue/rbx/job/{id}");
    lab.ok(&session, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    let worker = lab.worker_v2(&id);
    bear(&mut lab, 4_000);
    for _ in 0..2 {
        ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    }
    ask(&mut lab, &worker, "POST", &format!("{of_job}/worker/take"));
    assert_eq!(statuses(lab.pass(10)), [200, 200, 0], "after ten seconds it hangs up");
    assert_eq!(lab.job(&id).status, Status::Scheduling);
    assert!(statuses(lab.pass(2)).is_empty(), "its turn comes all the same");
    assert_eq!(lab.job(&id).status, Status::Building);
    lab.pass(60);
    assert_eq!(lab.job(&id).status, Status::Stopped, "and not queued again");
}

#[test]
fn a_worker_that_is_answered_in_time_goes_on() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    let id = lab.enqueue(NewJob::v2("true", PATH, "rbx"));
    let of_job = format!("/v2/queue/rbx/job/{id}");
    lab.ok(&session, "POST", &format!("{of_job}/hatchery/take"), &Value::Null);
    let worker = lab.worker_v2(&id);
    bear(&mut lab, 5_000);
    ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    ask(&mut lab, &worker, "POST", &format!("{of_job}/worker/take"));
    assert_eq!(statuses(lab.pass(10)), [200, 200]);
    lab.pass(60);
    assert_eq!(lab.job(&id).status, Status::Building);
}

#[test]
fn a_restart_ends_the_calls_that_wait() {
    let mut lab = Lab::new();
    let session = lab.v2("one");
    bear(&mut lab, 60_000);
    for _ in 0..2 {
        ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    }
    lab.control(Control::Restart { keep_sessions: true });
    ask(&mut lab, &session, "GET", "/v2/queue/rbx");
    assert_eq!(statuses(lab.pass(60)), [200], "there was no queue any more");
}
