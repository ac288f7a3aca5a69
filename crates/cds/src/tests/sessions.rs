use std::time::Duration;

use futures_util::future::join_all;
use rookery_dial::DialError;
use serde_json::json;
use tokio::time::advance;

use super::kit::{API_TIME, BUILTIN, HATCHERY, Kit, NOW, Reply, answer, empty, identity, refusal};
use crate::{CdsError, V1JobId};

fn workers(asked: &super::kit::ReceivedRequest) -> Option<Reply> {
    matches!(asked.uri.as_str(), "/api/worker" | "/api/v2/worker").then(|| answer(200, &json!(null)))
}

#[tokio::test(start_paused = true)]
async fn many_callers_share_one_sign_in() {
    let kit = Kit::new(workers);
    let outcomes = join_all((0..20).map(|_| kit.v1().workers())).await;
    assert!(outcomes.iter().all(|workers| workers.as_ref().is_ok_and(Vec::is_empty)), "{outcomes:?}");
    assert_eq!((kit.server.count(BUILTIN), kit.server.count("/api/worker")), (1, 20));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_session_is_renewed_with_the_whole_introduction_and_the_call_repeated() {
    let kit = Kit::new(workers);
    kit.v1().workers().await.unwrap();
    kit.server.forget_sessions();
    kit.v1().workers().await.unwrap();
    let asked = kit.server.asked();
    let lines = kit.server.lines();
    let (sign_in, list) = (format!("POST {BUILTIN}"), "GET /api/worker".to_owned());
    assert_eq!(lines, [&sign_in, &list, &list, &sign_in, &list].map(Clone::clone));
    assert_eq!(asked[0].body, asked[3].body);
    assert_eq!(asked[3].body["service"]["name"], "rig-vsphere");
}

#[tokio::test(start_paused = true)]
async fn what_could_be_done_twice_is_left_to_the_caller_after_a_forgotten_session() {
    let kit = Kit::new(|asked| asked.uri.ends_with("/spawn/infos").then(empty));
    let job = V1JobId::try_from(4).unwrap();
    kit.v1().spawn_info(job, &[]).await.unwrap();
    kit.server.forget_sessions();
    assert!(kit.v1().spawn_info(job, &[]).await.unwrap_err().is_unauthorized());
    assert_eq!(kit.server.count("/api/queue/workflows/4/spawn/infos"), 2);
    kit.v1().spawn_info(job, &[]).await.unwrap();
    assert_eq!(kit.server.count(BUILTIN), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_never_accepted_is_an_error_and_not_a_loop() {
    let kit = Kit::new(|asked| (asked.uri == "/api/worker").then(|| refusal(401, 10)));
    assert!(kit.v1().workers().await.unwrap_err().is_unauthorized());
    assert_eq!((kit.server.count(BUILTIN), kit.server.count("/api/worker")), (2, 2));
}

/// Workers got tokens that CDS took for ones of the future, and refused, where its clock was behind.
#[tokio::test(start_paused = true)]
async fn the_time_of_cds_is_what_its_last_answer_told() {
    let kit = Kit::new(workers);
    assert_eq!(kit.cds.now().to_string(), NOW);
    kit.v1().workers().await.unwrap();
    assert_eq!(kit.cds.now().to_string(), API_TIME);
    advance(Duration::from_secs(90)).await;
    assert_eq!(kit.cds.now().to_string(), "2026-11-05T06:56:30Z");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_renewed_before_it_ends() {
    let kit = Kit::new(workers);
    kit.v2().workers().await.unwrap();
    advance(Duration::from_secs(3539)).await;
    kit.v2().workers().await.unwrap();
    assert_eq!(kit.server.count(HATCHERY), 1);
    advance(Duration::from_secs(2)).await;
    kit.v2().workers().await.unwrap();
    assert_eq!(kit.server.count(HATCHERY), 2);
}

#[tokio::test(start_paused = true)]
async fn while_a_session_lives_a_renewal_that_fails_is_no_error() {
    let mut sign_ins = 0;
    let kit = Kit::new(move |asked| {
        sign_ins += usize::from(asked.uri == BUILTIN);
        if asked.uri == BUILTIN && sign_ins > 1 {
            Some(Reply::Answer(502, "<html>".into()))
        } else {
            workers(asked)
        }
    });
    kit.v1().workers().await.unwrap();
    advance(Duration::from_secs(3570)).await;
    kit.v1().workers().await.unwrap();
    assert_eq!(kit.server.count(BUILTIN), 4, "three attempts to renew it");
    advance(Duration::from_secs(60)).await;
    let error = kit.v1().workers().await.unwrap_err();
    assert!(matches!(error, CdsError::NotSignedIn { .. }), "{error:?}");
    assert!(error.is_transient() && !error.may_have_happened(), "the call itself was not sent");
}

#[tokio::test(start_paused = true)]
async fn short_sessions_are_not_renewed_with_every_call() {
    let kit = Kit::new(workers);
    kit.server.set_lifetime(30);
    for _ in 0..10 {
        kit.v1().workers().await.unwrap();
    }
    assert_eq!(kit.server.count(BUILTIN), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_carry_the_headers_of_the_reference_client_and_no_others_that_matter() {
    let kit = Kit::new(workers);
    kit.v2().workers().await.unwrap();
    let asked = kit.server.asked();
    for request in &asked {
        let header = |name: &str| request.headers.get(name).map(String::as_str);
        assert_eq!(header("content-type"), Some("application/json"));
        assert_eq!(header("date"), Some("5 Nov 2026 07:10:00 +0000"));
        assert_eq!(header("x-cds-remotetime"), Some("5 Nov 2026 07:10:00 +0000"));
        // Reads share connections that are kept.
        assert_eq!(header("connection"), (request.method != "GET").then_some("close"));
        assert_eq!(header("user-agent"), Some("rookery-test"));
        assert_eq!((header("accept"), header("cookie")), (None, None));
    }
    assert!(!asked[0].headers.contains_key("authorization"), "a sign-in shows no session");
    assert!(asked[1].headers["authorization"].starts_with("Bearer e30."));
}

#[tokio::test(start_paused = true)]
async fn one_conversation_needs_no_other() {
    let only = |v1, v2| Kit::with(identity(), v1, v2, NOW, workers);
    let kit = only(Some("a"), None);
    kit.v1().workers().await.unwrap();
    assert!(kit.cds.v2().is_none() && kit.server.count(HATCHERY) == 0);
    let kit = only(None, Some("b"));
    kit.v2().workers().await.unwrap();
    assert!(kit.cds.v1().is_none() && kit.server.count(BUILTIN) == 0);
    let kit = only(Some("a"), Some("b"));
    kit.v1().workers().await.unwrap();
    kit.v2().workers().await.unwrap();
    let tokens: Vec<_> = kit.server.asked().iter().map(|asked| asked.body["token"].clone()).collect();
    assert_eq!(tokens, [json!("a"), json!(null), json!("b"), json!(null)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_sign_in_says_what_to_look_at_and_is_shared_for_a_moment() {
    let kit = Kit::new(|asked| (asked.uri == BUILTIN).then(|| refusal(403, 11)));
    let outcomes = join_all((0..5).map(|_| kit.v1().workers())).await;
    for error in outcomes.into_iter().map(Result::unwrap_err) {
        assert!(error.is_forbidden() && !error.is_transient(), "{error:?}");
        assert!(
            error.to_string().starts_with("CDS refused the V1 sign-in of hatchery rig-vsphere:"),
            "{error}"
        );
    }
    assert_eq!(kit.server.count(BUILTIN), 1);
    advance(Duration::from_secs(2)).await;
    kit.v1().workers().await.unwrap_err();
    assert_eq!(kit.server.count(BUILTIN), 2);
}

// It was told as an answer that was lost.
#[tokio::test(start_paused = true)]
async fn a_sign_in_without_tls_to_a_server_that_wants_it_says_so() {
    let kit = Kit::new(|_| None);
    kit.server.want_tls();
    let error = kit.v1().workers().await.unwrap_err();
    let expected = "cannot sign in hatchery rig-vsphere: CDS cannot be connected to: \
                    cds.example.org:8081 answers in TLS: write https://cds.example.org:8081";
    assert_eq!(rookery_daemon::telemetry::chain(&error), expected);
}

// "Cannot be reached" sent people to their firewalls.
#[test]
fn a_certificate_that_is_not_trusted_is_told_as_that() {
    let shown = "ab".repeat(32).parse().unwrap();
    let problem = "was issued by an authority that is not trusted";
    let source = DialError::Certificate { address: "cds:443".into(), problem, shown };
    let error = CdsError::Unreachable { what: "list the V1 queue".into(), source };
    assert_eq!(error.to_string(), "cannot list the V1 queue: CDS is not trusted");
}

#[tokio::test(start_paused = true)]
async fn after_signing_out_no_call_signs_in_again() {
    let kit = Kit::new(|asked| match asked.uri.as_str() {
        "/api/auth/consumer/signout" => Some(answer(200, &json!(null))),
        _ => workers(asked),
    });
    kit.v1().sign_out().await.unwrap();
    assert_eq!(kit.server.lines(), [""; 0], "nobody was signed in");

    let kit = Kit::new(|asked| match asked.uri.as_str() {
        "/api/auth/consumer/signout" => Some(answer(200, &json!(null))),
        _ => workers(asked),
    });
    kit.v1().workers().await.unwrap();
    kit.v1().sign_out().await.unwrap();
    let error = kit.v1().workers().await.unwrap_err();
    assert!(matches!(error, CdsError::SignedOut { .. }), "{error:?}");
    assert_eq!(kit.server.lines().len(), 3);
    assert!(kit.server.asked()[2].headers.contains_key("authorization"));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_not_in_debug_output() {
    let kit = Kit::new(workers);
    kit.v1().workers().await.unwrap();
    let shown = format!("{:?} {:?}", kit.cds, kit.v1().service().await);
    assert!(!shown.contains("token-1") && !shown.contains("e30."), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn the_systems_of_v2_jobs_stand_at_the_top_of_the_configuration() {
    let mut identity = identity();
    identity.os_arch = vec!["linux/amd64".into(), "linux/arm64".into()];
    let kit = Kit::with(identity, None, Some("b"), NOW, workers);
    assert_eq!(kit.v2().region().await.unwrap(), "default");
    let config = &kit.server.asked()[0].body["config"];
    assert_eq!(
        config,
        &json!({"commonConfiguration": {"osArch": []}, "osArch": ["linux/amd64", "linux/arm64"]})
    );
}

#[tokio::test(start_paused = true)]
async fn another_token_signs_in_at_once_and_one_that_is_refused_changes_nothing() {
    let kit = Kit::new(|asked| {
        let refused = asked.uri == BUILTIN && asked.body["token"] == "revoked";
        if refused { Some(refusal(401, 10)) } else { workers(asked) }
    });
    kit.v1().workers().await.unwrap();
    let error = kit.v1().change_token("revoked".into()).await.unwrap_err();
    assert!(matches!(error, CdsError::SignIn { .. }), "{error:?}");
    kit.v1().workers().await.unwrap();
    kit.server.forget_sessions();
    kit.v1().workers().await.unwrap();
    kit.v1().change_token("token-3".into()).await.unwrap();
    kit.v1().workers().await.unwrap();
    kit.server.forget_sessions();
    kit.v1().workers().await.unwrap();
    let asked = kit.server.asked();
    let shown: Vec<_> =
        asked.iter().filter(|asked| asked.uri == BUILTIN).map(|asked| &asked.body["token"]).collect();
    assert_eq!(shown, ["token-1", "revoked", "token-1", "token-3", "token-3"]);
}

#[tokio::test(start_paused = true)]
async fn another_token_that_could_not_be_tried_signs_in_next() {
    let kit = Kit::new(workers);
    kit.v2().workers().await.unwrap();
    kit.server.refuse_connections(true);
    kit.v2().change_token("token-3".into()).await.unwrap_err();
    kit.server.refuse_connections(false);
    kit.v2().workers().await.unwrap();
    assert_eq!(kit.server.count(HATCHERY), 1, "the session before goes on");
    kit.server.forget_sessions();
    kit.v2().workers().await.unwrap();
    let last = kit.server.asked().into_iter().rfind(|asked| asked.uri == HATCHERY).unwrap();
    assert_eq!(last.body["token"], "token-3");
}

#[tokio::test(start_paused = true)]
async fn nobody_signs_in_again_after_the_sign_out() {
    let kit = Kit::new(workers);
    kit.v1().sign_out().await.unwrap();
    let error = kit.v1().change_token("token-3".into()).await.unwrap_err();
    assert!(matches!(error, CdsError::SignedOut { .. }), "{error:?}");
    assert_eq!(kit.server.count(BUILTIN), 0);
}
