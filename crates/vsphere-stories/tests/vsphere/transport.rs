//! How answers may come: recorded from vcsim once, then dressed up and replayed over an in-memory pipe.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_kit::{PipeDial, Recording, Vcsim, VcsimOptions, options, split_answers};
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::{CurrentTime, Logout, WaitForUpdatesEx};
use rookery_vim_client::{CallError, Client, Dial, HttpError, TagError, Tags, TcpDial, Trust};
use tokio::time::Instant;

const UNAVAILABLE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 7\r\n\r\nno vpxd";

/// What vcsim says to a connection and one call: versions, content, login, time.
fn recorded() -> Vec<Vec<u8>> {
    let real = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    real.block_on(async {
        let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
        let options = options(vcsim.address());
        let tcp = TcpDial::new(options.endpoint.clone(), &Trust::Insecure).expect("no TLS");
        let recording = Arc::new(Recording::new(Arc::new(tcp)));
        let client =
            Client::connect(options, Arc::clone(&recording) as Arc<dyn Dial>).await.expect("connected");
        client.call(&CurrentTime { this: service_instance() }).await.expect("an answer");
        let heard = recording.heard();
        assert_eq!(heard.len(), 1, "one connection is kept and used again");
        client.close().await.expect("logged out");
        split_answers(&heard[0])
    })
}

/// Runs on simulated time: back-offs cost nothing, and can be measured exactly.
fn on_paused_time<T>(story: impl Future<Output = T>) -> T {
    let paused = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    paused.expect("a runtime").block_on(story)
}

async fn connected(answers: Vec<Vec<u8>>) -> Client {
    let dial = Arc::new(PipeDial::new(answers, Supervisor::new()));
    Client::connect(options("http://pipe"), dial).await.expect("connected")
}

/// The recorded answer with its body compressed.
fn zipped(answer: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(answer.to_vec()).expect("text");
    let (head, mut body) = text.split_once("\r\n\r\n").expect("a header");
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return with_gzip(body.as_bytes());
    }
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let (chunk, rest) = rest.split_at(usize::from_str_radix(size, 16).expect("a size"));
        whole.push_str(chunk);
        body = rest.trim_start_matches("\r\n");
    }
    with_gzip(whole.as_bytes())
}

fn with_gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).expect("memory");
    let body = encoder.finish().expect("memory");
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend(body);
    answer
}

#[test]
fn a_read_is_repeated_until_vcenter_is_back_and_a_change_is_not() {
    let recorded = recorded();
    let [versions, content, login, time] = recorded.as_slice() else { panic!("four answers") };
    let start = || vec![versions.clone(), content.clone(), login.clone()];
    on_paused_time(async {
        let mut answers = start();
        answers.extend([UNAVAILABLE.to_vec(), Vec::new(), UNAVAILABLE.to_vec(), time.clone()]);
        let client = connected(answers).await;
        let began = Instant::now();
        client.call(&CurrentTime { this: service_instance() }).await.expect("the fourth attempt succeeds");
        let waited = began.elapsed();
        let (least, most) = (Duration::from_millis(700), Duration::from_millis(1401));
        assert!(waited >= least && waited < most, "three doubling, jittered delays: {waited:?}");

        let mut answers = start();
        answers.extend(vec![UNAVAILABLE.to_vec(); 4]);
        answers.push(time.clone());
        let client = connected(answers).await;
        let error = client.call(&CurrentTime { this: service_instance() }).await.expect_err("it gives up");
        assert!(matches!(error, CallError::Unavailable { .. }) && error.is_transient());
        client.call(&CurrentTime { this: service_instance() }).await.expect("the next call is a new chance");

        let mut answers = start();
        answers.extend([UNAVAILABLE.to_vec(), time.clone()]);
        let client = connected(answers).await;
        let vm = rookery_vim::MoRef::new("VirtualMachine", "vm-1");
        let change = rookery_vim::methods::PowerOnVmTask { this: vm, host: None };
        let error = client.call(&change).await.expect_err("one attempt");
        assert!(error.may_have_happened(), "{error:?}");
        client
            .call(&CurrentTime { this: service_instance() })
            .await
            .expect("its repeat would have taken this answer");
    });
}

#[test]
fn calls_wait_for_their_turn_and_long_polls_do_not() {
    let recorded = recorded();
    let time = recorded[3].clone();
    let timed_out =
        b"<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\"><soapenv:Body>\
        <WaitForUpdatesExResponse xmlns=\"urn:vim25\"/></soapenv:Body></soapenv:Envelope>";
    let timed_out = with_gzip(timed_out);
    on_paused_time(async {
        let mut answers = recorded[..3].to_vec();
        answers.extend([timed_out.clone(), timed_out, time.clone(), time.clone(), time]);
        let mut options = options("http://pipe");
        options.calls_per_second = std::num::NonZeroU32::new(2);
        let began = Instant::now();
        let dial = Arc::new(PipeDial::new(answers, Supervisor::new()));
        let client = Client::connect(options, dial).await.expect("connected");
        assert_eq!(began.elapsed(), Duration::from_millis(500), "the content counts, the login does not");
        let collector = client.content().property_collector.clone();
        let poll = WaitForUpdatesEx { this: collector, version: None, options: None };
        for _ in 0..2 {
            client.call(&poll).await.expect("nothing has changed");
        }
        assert_eq!(began.elapsed(), Duration::from_millis(500));
        for number in 2..=4 {
            let call = CurrentTime { this: service_instance() };
            let mut call = Box::pin(client.call(&call));
            assert!(futures_util::poll!(call.as_mut()).is_pending());
            call.await.expect("an answer");
            assert_eq!(began.elapsed(), Duration::from_millis(500) * number);
        }
    });
}

#[test]
fn compressed_answers_are_understood_and_damaged_ones_are_errors() {
    let recorded = recorded();
    let compressed: Vec<_> = recorded.iter().map(|answer| zipped(answer)).collect();
    // The cookie stands in the header of the login, which was replaced: the session's key will do.
    on_paused_time(async {
        let client = connected(compressed.clone()).await;
        client.call(&CurrentTime { this: service_instance() }).await.expect("a compressed answer");
        for cut in [1, 9, 10, 30] {
            let mut answers = compressed.clone();
            let last = answers.pop().expect("four");
            let text = String::from_utf8_lossy(&last).into_owned();
            let head = text.find("\r\n\r\n").expect("a header") + 4;
            let body = &last[head..last.len() - cut];
            let mut damaged = format!(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )
            .into_bytes();
            damaged.extend(body);
            answers.push(damaged);
            let client = connected(answers).await;
            let deadline = Duration::from_secs(15);
            let error = client.call_once(&CurrentTime { this: service_instance() }, deadline).await;
            let error = error.expect_err("its check sum is missing");
            assert!(matches!(error, CallError::Lost { source: HttpError::Damaged(_), .. }), "{error:?}");
        }
    });
}

#[test]
fn an_error_that_cannot_be_unpacked_keeps_its_status_and_an_unknown_encoding_is_named() {
    let recorded = recorded();
    let answer = |status: &str, encoding: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Encoding: {encoding}\r\nContent-Length: 7\r\n\r\nno vpxd")
            .into_bytes()
    };
    on_paused_time(async {
        for (answer, expected) in [
            (answer("502 Bad Gateway", "gzip"), "HTTP status 502"),
            (answer("500 Internal Server Error", "br"), "HTTP status 500"),
            (answer("200 OK", "br"), "content encoding is \"br\""),
        ] {
            let mut answers = recorded[..3].to_vec();
            answers.push(answer);
            let client = connected(answers).await;
            let time = CurrentTime { this: service_instance() };
            let error = client.call_once(&time, Duration::from_secs(15)).await.expect_err("no answer");
            let told = rookery_daemon::telemetry::chain(&error);
            assert!(told.contains(expected), "{told}");
        }
    });
}

#[test]
fn an_answer_that_is_too_large_is_refused_compressed_or_not() {
    let recorded = recorded();
    let limit = 256 << 10;
    let plain = [b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n".to_vec(), vec![b' '; 400_000]].concat();
    // A few hundred bytes that unpack to a hundred megabytes.
    let bomb = with_gzip(&vec![b' '; 100 << 20]);
    on_paused_time(async {
        for large in [plain, bomb] {
            let mut answers = recorded[..3].to_vec();
            answers.push(large);
            let mut options = options("http://pipe");
            options.limits.bytes = limit;
            let dial = Arc::new(PipeDial::new(answers, Supervisor::new()));
            let client = Client::connect(options, dial).await.expect("connected");
            let deadline = Duration::from_secs(15);
            let error = client.call_once(&CurrentTime { this: service_instance() }, deadline).await;
            let error = error.expect_err("too large");
            assert!(matches!(error, CallError::Lost { source: HttpError::TooLarge { .. }, .. }), "{error:?}");
        }
    });
}

#[test]
fn a_password_that_was_refused_is_not_tried_again_at_once() {
    let recorded = recorded();
    let fault = |kind: &str| {
        let body = format!(
            "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body><soapenv:Fault>\
             <faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail><{kind}Fault \
             xmlns=\"urn:vim25\" xsi:type=\"{kind}\"/></detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>"
        );
        format!("HTTP/1.1 500 Internal Server Error\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            .into_bytes()
    };
    on_paused_time(async {
        // The password was changed while the session lasted: the renewal is refused, once for all who wait for it.
        let mut answers = recorded[..3].to_vec();
        answers.extend(vec![fault("NotAuthenticated"); 3]);
        answers.push(fault("InvalidLogin"));
        answers.extend(vec![fault("NotAuthenticated"), recorded[2].clone(), recorded[3].clone()]);
        let client = connected(answers).await;
        let time = CurrentTime { this: service_instance() };
        let (a, b, c) = tokio::join!(client.call(&time), client.call(&time), client.call(&time));
        for refused in [a, b, c] {
            assert!(matches!(refused, Err(CallError::Credentials { .. })), "{refused:?}");
        }
        // A minute later it is tried again, and this time it is right.
        tokio::time::sleep(Duration::from_secs(61)).await;
        client.call(&time).await.expect("renewed");
        let logout = Logout { this: client.content().session_manager.clone().expect("a manager") };
        assert!(client.call_once(&logout, Duration::from_secs(1)).await.is_err(), "no answers are left");
    });
}

#[test]
fn a_password_that_the_rest_service_refused_is_not_tried_again_at_once() {
    let recorded = recorded();
    let json =
        |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    on_paused_time(async {
        let refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_vec();
        let mut answers = recorded[..3].to_vec();
        answers.extend([refused, recorded[3].clone(), json(r#"{"value":"x"}"#), json(r#"{"value":[]}"#)]);
        let client = connected(answers).await;
        let tags = Tags::new(client.clone());
        let (a, b) = tokio::join!(tags.category("zone"), tags.category("zone"));
        for outcome in [a, b, tags.category("zone").await] {
            assert!(matches!(outcome, Err(TagError::Call(CallError::Credentials { .. }))), "{outcome:?}");
        }
        let time = CurrentTime { this: service_instance() };
        client.call(&time).await.expect("a second attempt would have taken this answer");
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert_eq!(tags.category("zone").await.expect("a minute later it is right"), None);
    });
}
