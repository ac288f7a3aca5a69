use std::sync::{Arc, Mutex};

use hyper::Method;
use hyper::header::CONTENT_LENGTH;
use rookery_daemon::Supervisor;
use rookery_dial::{Dial, Dialing, Http, Stream, whole};
use tokio::io::{DuplexStream, duplex};

use super::*;
use crate::endpoint::Endpoint;

const STALL: Duration = Duration::from_secs(30);

/// A server for one connection that says what it is told to, once it has heard a whole request.
#[derive(Debug, Clone)]
struct Server {
    answer: &'static [u8],
    /// How many bytes it listens to before it stops listening; then it answers, request or not.
    patience: usize,
    heard: Arc<Mutex<Vec<u8>>>,
    tasks: Supervisor,
}

impl Server {
    fn new(answer: &'static [u8]) -> Self {
        Self { answer, patience: usize::MAX, heard: Arc::default(), tasks: Supervisor::new() }
    }

    fn content() -> Self {
        Self::new(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
    }

    fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }

    fn http(&self) -> Http {
        let (endpoint, _) = Endpoint::parse("http://server").unwrap();
        Http::new(&endpoint, Arc::new(self.clone()), "test")
    }

    async fn serve(self, mut stream: DuplexStream) {
        let mut request = Vec::new();
        while !is_whole(&request) && request.len() < self.patience {
            if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                break;
            }
            self.heard.lock().unwrap().clone_from(&request);
        }
        stream.write_all(self.answer).await.ok();
        // Without an answer it stays, and takes nothing any more.
        if self.answer.is_empty() {
            std::future::pending::<()>().await;
        }
    }
}

impl Dial for Server {
    fn dial(&self) -> Dialing {
        let (ours, theirs) = duplex(4096);
        self.tasks.spawn("server", self.clone().serve(theirs));
        Box::pin(async move { Ok(Box::new(ours) as Box<dyn Stream>) })
    }
}

fn split(request: &[u8]) -> Option<(String, &[u8])> {
    let at = request.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
    Some((String::from_utf8_lossy(&request[..at]).to_ascii_lowercase(), &request[at..]))
}

fn is_whole(request: &[u8]) -> bool {
    let Some((head, body)) = split(request) else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

async fn put<R: AsyncRead + Unpin>(
    server: &Server,
    reader: R,
    size: u64,
) -> (Result<u16, TransferError>, u64) {
    let (progress, seen) = watch::channel(0);
    let http = server.http();
    let length = size.to_string();
    let send = async |body| {
        let failed = |source| CallError::Lost { method: "PUT", source };
        http.send(Method::PUT, "/file", &[(CONTENT_LENGTH, &length)], body).await.map_err(failed)
    };
    let outcome = upload(reader, size, send, Watch { progress: &progress, stall: STALL }).await;
    (outcome.map(|response| response.status().as_u16()), *seen.borrow())
}

fn content(size: u64) -> Vec<u8> {
    (0..size).map(|i| u8::try_from(i % 251).unwrap()).collect()
}

/// Gives what it has, and then nothing more: neither a byte nor an end.
struct Stuck<'a>(&'a [u8]);

impl AsyncRead for Stuck<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.is_empty() { Poll::Pending } else { Pin::new(&mut self.0).poll_read(cx, buf) }
    }
}

#[tokio::test]
async fn a_file_of_any_size_arrives_whole_with_its_length_said_before() {
    for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
        let server = Server::content();
        let sent = content(size);
        let (outcome, progress) = put(&server, sent.as_slice(), size).await;
        assert_eq!(outcome.unwrap(), 201);
        assert_eq!(progress, size);
        let request = server.heard();
        let (head, body) = split(&request).unwrap();
        assert!(head.contains(&format!("content-length: {size}\r\n")), "{head}");
        assert!(!head.contains("transfer-encoding"), "{head}");
        assert!(body == sent, "{} of {size} bytes", body.len());
    }
}

#[tokio::test]
async fn a_source_that_is_not_as_long_as_announced_never_makes_a_whole_file() {
    for (given, announced) in [(0, 1), (5, 10), (3 * CHUNK, 3 * CHUNK + 1)] {
        let server = Server::content();
        let (outcome, _) = put(&server, content(given).as_slice(), announced).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, TransferError::SourceShort { got, .. } if got == given), "{error:?}");
        assert!(split(&server.heard()).is_none_or(|(_, body)| (body.len() as u64) < announced));
    }
    for (given, announced) in [(1, 0), (10, 5), (3 * CHUNK, 2 * CHUNK)] {
        let server = Server::content();
        let (outcome, _) = put(&server, content(given).as_slice(), announced).await;
        let error = outcome.unwrap_err();
        assert!(matches!(error, TransferError::SourceLong { .. }), "{error:?}");
        assert!(split(&server.heard()).is_none_or(|(_, body)| (body.len() as u64) < announced));
    }
}

#[tokio::test]
async fn a_source_that_cannot_be_read_is_not_called_a_broken_connection() {
    struct Unreadable;
    impl AsyncRead for Unreadable {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::Error::other("the disk is on fire")))
        }
    }
    let given = content(CHUNK);
    let (outcome, progress) = put(&Server::content(), given.chain(Unreadable), 3 * CHUNK).await;
    let error = outcome.unwrap_err();
    assert!(
        matches!(&error, TransferError::Source(why) if why.to_string() == "the disk is on fire"),
        "{error:?}"
    );
    assert_eq!(progress, CHUNK);
}

#[tokio::test(start_paused = true)]
async fn bytes_must_keep_moving_and_who_stopped_is_said() {
    let (outcome, _) = put(&Server::content(), Stuck(&content(2 * CHUNK)), 3 * CHUNK).await;
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, TransferError::Stalled { end: TransferEnd::Source, after: STALL, moved } if moved == 2 * CHUNK),
        "{error:?}"
    );

    let deaf = Server { patience: 1000, ..Server::new(b"") };
    let size = 100 * CHUNK;
    let (outcome, progress) = put(&deaf, content(size).as_slice(), size).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::Stalled { end: TransferEnd::Server, .. }), "{error:?}");
    assert!(progress < size);

    let mute = Server::new(b"");
    let (outcome, progress) = put(&mute, content(10).as_slice(), 10).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::Stalled { end: TransferEnd::Server, moved: 10, .. }), "{error:?}");
    assert_eq!(progress, 10);
}

#[tokio::test]
async fn a_server_that_has_heard_enough_is_listened_to() {
    let refusal = b"HTTP/1.1 507 Insufficient Storage\r\ncontent-length: 0\r\n\r\n";
    let full = Server { patience: 1000, ..Server::new(refusal) };
    let size = 100 * CHUNK;
    let (outcome, _) = put(&full, content(size).as_slice(), size).await;
    assert_eq!(outcome.unwrap(), 507);

    let hasty = Server { patience: 1000, ..Server::content() };
    let (outcome, _) = put(&hasty, content(size).as_slice(), size).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::TooEarly { .. }), "{error:?}");

    let gone = Server { patience: 1000, ..Server::new(b"nonsense\r\n\r\n") };
    let (outcome, _) = put(&gone, content(size).as_slice(), size).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::Broken { moved, .. } if moved < size), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_is_lost_after_everything_was_sent_is_told_apart() {
    let (outcome, _) = put(&Server::new(b"HTTP/1.1"), content(10).as_slice(), 10).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::Unanswered(_)), "{error:?}");
}

async fn get(answer: &'static [u8]) -> (Result<u64, TransferError>, Vec<u8>, u64) {
    let server = Server::new(answer);
    let (progress, seen) = watch::channel(0);
    let mut sink = Vec::new();
    let response = server.http().send(Method::GET, "/file", &[], whole("")).await.unwrap();
    let watch = Watch { progress: &progress, stall: STALL };
    let outcome = download("GET", response, Length::Required, &mut sink, watch).await;
    (outcome, sink, *seen.borrow())
}

#[tokio::test]
async fn a_download_is_whole_or_an_error() {
    let (outcome, sink, progress) = get(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    assert_eq!((outcome.unwrap(), sink.as_slice(), progress), (5, b"hello".as_slice(), 5));

    let (outcome, ..) = get(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(outcome.unwrap(), 0);

    let (outcome, sink, _) = get(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello").await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::Broken { moved, .. } if moved == sink.len() as u64), "{error:?}");

    let (outcome, ..) = get(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello").await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransferError::NoLength), "{error:?}");
}

#[tokio::test]
async fn a_file_that_comes_packed_is_refused_instead_of_kept_as_it_came() {
    let (outcome, sink, _) =
        get(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello").await;
    let error = outcome.unwrap_err();
    assert!(matches!(&error, TransferError::Encoded { encoding } if encoding == "gzip"), "{error:?}");
    assert_eq!(sink, b"");
    let (outcome, sink, _) =
        get(b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-length: 5\r\n\r\nhello").await;
    assert_eq!((outcome.unwrap(), sink.as_slice()), (5, b"hello".as_slice()));
}

#[tokio::test]
async fn a_receiver_that_fails_is_named() {
    let server = Server::new(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
    let response = server.http().send(Method::GET, "/file", &[], whole("")).await.unwrap();
    let (progress, _) = watch::channel(0);
    let mut narrow = [0; 3];
    let watch = Watch { progress: &progress, stall: STALL };
    let error = download("GET", response, Length::Required, &mut io::Cursor::new(&mut narrow[..]), watch)
        .await
        .unwrap_err();
    assert!(matches!(error, TransferError::Sink(_)), "{error:?}");
}
