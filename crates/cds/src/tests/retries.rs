use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::kit::{BUILTIN, Kit, REQUEST_TIMEOUT, Reply, answer, empty, refusal};
use crate::{CdsError, InfoLevel, V2JobId};

/// Answers to the calls of interest, one after the other; the last one is repeated.
fn kit(route: &'static str, replies: Vec<Reply>) -> Kit {
    let mut next = 0;
    Kit::new(move |asked| {
        asked.uri.ends_with(route).then(|| {
            next += 1;
            replies[(next - 1).min(replies.len() - 1)].clone()
        })
    })
}

fn html() -> Reply {
    Reply::Answer(502, "<html><h1>502 Bad Gateway</h1></html>".into())
}

fn job() -> V2JobId {
    "6ec08f8c-2b9f-4e0a-81ab-5e980012400a".to_owned().try_into().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_twice_a_quarter_of_a_second_apart() {
    for failure in [html(), Reply::Lost, refusal(500, 1), refusal(409, 164), refusal(503, 60)] {
        let kit = kit("/v2/worker", vec![failure.clone(), failure.clone(), answer(200, &json!([]))]);
        kit.v2().region().await.unwrap();
        let begun = Instant::now();
        assert_eq!(kit.v2().workers().await.unwrap(), [], "{failure:?}");
        assert_eq!(begun.elapsed().as_millis(), 500, "{failure:?}");
        assert_eq!(kit.server.count("/api/v2/worker"), 3, "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_third_failure_a_read_fails() {
    let kit = kit("/v2/worker", vec![html()]);
    let error = kit.v2().workers().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot list the V2 workers: HTTP 502, and not from CDS itself: a proxy answers, or CDS is starting"
    );
    assert!(error.is_transient());
    assert_eq!(kit.server.count("/api/v2/worker"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final() {
    for (status, id) in [(400, 74), (403, 11), (404, 38)] {
        let kit = kit("/v2/worker", vec![refusal(status, id)]);
        let error = kit.v2().workers().await.unwrap_err();
        assert_eq!(error.refusal().map(|refusal| refusal.status), Some(status));
        assert_eq!(kit.server.count("/api/v2/worker"), 1, "{id}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_to_people_is_repeated_only_if_it_was_certainly_not_shown() {
    for (failure, attempts) in
        [(html(), 1), (Reply::Lost, 1), (refusal(500, 1), 1), (refusal(409, 164), 3), (refusal(503, 60), 3)]
    {
        let kit = kit("/info", vec![failure.clone(), failure.clone(), empty()]);
        let outcome = kit.v2().info(&job(), InfoLevel::Info, "starting").await;
        assert_eq!(outcome.is_ok(), attempts == 3, "{failure:?}: {outcome:?}");
        let asked = kit.server.asked();
        assert_eq!(
            asked.iter().filter(|asked| asked.uri.ends_with("/info")).count(),
            attempts,
            "{failure:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up_in_bounded_time() {
    let kit = kit("/v2/worker", vec![Reply::Hang]);
    kit.v2().region().await.unwrap();
    let begun = Instant::now();
    let error = kit.v2().workers().await.unwrap_err();
    assert!(matches!(error, CdsError::Lost { .. }), "{error:?}");
    assert_eq!(begun.elapsed(), 3 * REQUEST_TIMEOUT + Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_reached_did_nothing() {
    let kit = kit("/v2/worker", vec![answer(200, &json!([]))]);
    kit.v2().region().await.unwrap();
    kit.server.refuse_connections(true);
    let error = kit.v2().info(&job(), InfoLevel::Warning, "x").await.unwrap_err();
    assert!(matches!(error, CdsError::Unreachable { .. }), "{error:?}");
    assert!(error.is_transient() && !error.may_have_happened());
    kit.server.refuse_connections(false);
    kit.v2().workers().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_off_is_no_empty_list() {
    for body in ["", "[", "<html>", "{}"] {
        let kit = kit("/v2/worker", vec![Reply::Answer(200, body.into())]);
        let error = kit.v2().workers().await.unwrap_err();
        assert!(matches!(error, CdsError::NotUnderstood { .. }), "{body}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_is_repeated_like_a_read() {
    let failures = Arc::new(Mutex::new(vec![html(), Reply::Lost]));
    let left = Arc::clone(&failures);
    let kit = Kit::new(move |asked| match asked.uri.as_str() {
        BUILTIN => left.lock().unwrap().pop(),
        _ => Some(answer(200, &json!([]))),
    });
    kit.v1().workers().await.unwrap();
    assert_eq!(kit.server.count(BUILTIN), 3);
}
