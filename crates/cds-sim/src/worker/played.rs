//! A worker that is played inside this process: it is downloaded, signs in, takes its job, tells how it went and signs out
//! over HTTP as the real one does, but runs nothing.

use std::future::ready;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::script;

/// How often something is tried while no answer comes or the server is in trouble.
const TRIES: u32 = 10;
/// How long is waited in between.
const PAUSE: Duration = Duration::from_millis(300);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(60);
/// How often a worker polls whether its job is over.
const POLL: Duration = Duration::from_secs(5);
/// After how many polls it sends a heartbeat.
const POLLS: u32 = 6;
/// Answers larger than this are not read.
const LARGEST: usize = 4 << 20;

/// Why a worker gave up.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// What it was told cannot be read.
    #[error("CDS_CONFIG cannot be read")]
    Config,
    /// It could not do something.
    #[error("the worker could not {what}: {why}")]
    Call {
        /// Such as `sign in`.
        what: &'static str,
        /// What the server said, or that it said nothing.
        why: String,
    },
}

/// What a worker is told in `CDS_CONFIG`.
#[derive(Deserialize)]
#[expect(missing_debug_implementations, reason = "it holds a token")]
pub struct Task {
    #[serde(default)]
    name: String,
    api_endpoint: String,
    api_token: String,
    #[serde(default)]
    booked_job_id: i64,
    #[serde(default)]
    run_job_id: String,
    #[serde(default)]
    region: String,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It has taken its job.
    Taken,
    /// It is done with its job, or somebody else has ended that.
    Over,
}

/// Where a worker turns to.
struct Paths {
    sign_in: String,
    take: String,
    refresh: String,
    poll: String,
    result: String,
    sign_out: String,
    job: String,
}

/// Plays a worker to its end, over TCP. `config` is what `CDS_CONFIG` holds; one that `registers` takes no job.
pub async fn play(config: &str, registers: bool) -> Result<(), PlayError> {
    let task = Task::read(config)?;
    let host = task.host().0.to_owned();
    let dial = || async {
        let stream = TcpStream::connect(&host).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    task.play(registers, dial, ready(()), |_| ()).await
}

impl Task {
    /// Reads what `CDS_CONFIG` holds.
    pub fn read(config: &str) -> Result<Self, PlayError> {
        let json = STANDARD.decode(config).map_err(|_| PlayError::Config)?;
        serde_json::from_slice(&json).map_err(|_| PlayError::Config)
    }

    /// What the worker is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The job that the worker is for.
    pub fn job(&self) -> String {
        paths(self).job
    }

    /// The host of the API, and the path under which it is.
    fn host(&self) -> (&str, &str) {
        let api = self.api_endpoint.as_str();
        api.strip_prefix("http://")
            .map_or((api, ""), |rest| rest.find('/').map_or((rest, ""), |at| rest.split_at(at)))
    }

    /// Plays a worker to its end, over whatever streams. `works` happens between its script and its result;
    /// `tell` is called when it has taken its job, and when it has nothing to lose any more.
    pub async fn play<S: AsyncRead + AsyncWrite + Unpin + Send, D: Future<Output = io::Result<S>>>(
        &self,
        registers: bool,
        dial: impl Fn() -> D,
        works: impl Future<Output = ()>,
        tell: impl Fn(Step),
    ) -> Result<(), PlayError> {
        let paths = paths(self);
        let mut worker = Worker { host: self.host(), session: self.api_token.clone(), dial };
        worker.download().await?;
        let form = r#"{"BinaryCapabilities":["sh","git"],"Version":"snapshot","OS":"linux","Arch":"amd64"}"#;
        let answer = worker.post("sign in", &paths.sign_in, form).await?;
        worker.session = answer.session.ok_or_else(|| failed("sign in", "no session came".to_owned()))?;
        if registers {
            return worker.post("sign out", &paths.sign_out, "").await.map(drop);
        }
        worker.post("take its job", &paths.take, "").await?;
        tell(Step::Taken);
        let answer =
            worker.call("get its script", Method::GET, &format!("/sim/job/{}/script", paths.job), "").await?;
        let played = script::play(&String::from_utf8_lossy(&answer.body));
        let (mut left, mut polls) = (played.lasts, 0);
        while !left.is_zero() {
            let nap = left.min(POLL);
            sleep(nap).await;
            left = left.saturating_sub(nap);
            if worker.is_over(&paths.poll).await {
                tell(Step::Over);
                return worker.post("sign out", &paths.sign_out, "").await.map(drop);
            }
            polls += 1;
            if polls % POLLS == 0 {
                worker.post("say that it is there", &paths.refresh, "").await?;
            }
        }
        works.await;
        tell(Step::Over);
        worker.post("send its log", &format!("/sim/job/{}/log", paths.job), &played.log).await?;
        let status = if played.succeeds { "Success" } else { "Fail" };
        let result = if self.run_job_id.is_empty() {
            format!(r#"{{"buildID":{},"status":"{status}","duration":"0s"}}"#, paths.job)
        } else {
            format!(r#"{{"status":"{status}"}}"#)
        };
        worker.post("tell the result", &paths.result, &result).await?;
        worker.post("sign out", &paths.sign_out, "").await.map(drop)
    }
}

fn paths(config: &Task) -> Paths {
    if config.run_job_id.is_empty() {
        let job = config.booked_job_id.to_string();
        let of_job = format!("/queue/workflows/{job}");
        return Paths {
            sign_in: "/auth/consumer/worker/signin".to_owned(),
            take: format!("{of_job}/take"),
            refresh: "/worker/refresh".to_owned(),
            poll: format!("{of_job}/infos"),
            result: format!("{of_job}/result"),
            sign_out: "/auth/consumer/worker/signout".to_owned(),
            job,
        };
    }
    let of_job = format!("/v2/queue/{}/job/{}", config.region, config.run_job_id);
    Paths {
        sign_in: format!("{of_job}/worker/signin"),
        take: format!("{of_job}/worker/take"),
        refresh: format!("{of_job}/worker/refresh"),
        poll: of_job.clone(),
        result: format!("{of_job}/result"),
        sign_out: format!("{of_job}/worker/signout"),
        job: config.run_job_id.clone(),
    }
}

struct Worker<'a, D> {
    host: (&'a str, &'a str),
    session: String,
    dial: D,
}

struct Answer {
    status: StatusCode,
    session: Option<String>,
    body: Bytes,
}

fn failed(what: &'static str, why: String) -> PlayError {
    PlayError::Call { what, why }
}

impl<S, D, F> Worker<'_, D>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
    D: Fn() -> F,
    F: Future<Output = io::Result<S>>,
{
    async fn post(&self, what: &'static str, path: &str, body: &str) -> Result<Answer, PlayError> {
        self.call(what, Method::POST, path, body).await
    }

    /// The program that a worker is comes from the server, too, and may take its time.
    async fn download(&self) -> Result<(), PlayError> {
        for _ in 0..TRIES {
            let answer = self.once(Method::GET, "/download/worker/linux/amd64", "").await;
            if answer.is_ok_and(|answer| answer.status.is_success()) {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        Err(failed("be downloaded", format!("{TRIES} tries failed")))
    }

    /// Whether somebody has ended its job. Trouble is no end.
    async fn is_over(&self, path: &str) -> bool {
        match timeout(ANSWER, self.once(Method::GET, path, "")).await {
            Ok(Ok(answer)) if answer.status.is_success() => {
                !String::from_utf8_lossy(&answer.body).contains(r#""status":"Building""#)
            }
            Ok(Ok(answer)) => matches!(answer.status.as_u16(), 403 | 404),
            Ok(Err(_)) | Err(_) => false,
        }
    }

    /// Tries until there is an answer from a server that is not in trouble.
    async fn call(
        &self,
        what: &'static str,
        method: Method,
        path: &str,
        body: &str,
    ) -> Result<Answer, PlayError> {
        let mut why = String::new();
        for _ in 0..TRIES {
            match timeout(ANSWER, self.once(method.clone(), path, body)).await {
                Ok(Ok(answer)) if answer.status.is_success() => return Ok(answer),
                Ok(Ok(answer)) => {
                    why = format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body));
                    if answer.status.is_client_error() {
                        break;
                    }
                }
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => why = format!("no answer within {} s", ANSWER.as_secs()),
            }
            sleep(PAUSE).await;
        }
        Err(failed(what, why))
    }

    async fn once(&self, method: Method, path: &str, body: &str) -> io::Result<Answer> {
        let (host, base) = self.host;
        let stream = (self.dial)().await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", base.trim_end_matches('/')))
            .header(HOST, host)
            .header(AUTHORIZATION, format!("Bearer {}", self.session))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body.to_owned())))
            .map_err(io::Error::other)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            let status = response.status();
            let session = response.headers().get("x-cds-jwt").and_then(|jwt| jwt.to_str().ok());
            let session = session.map(str::to_owned);
            let body =
                Limited::new(response.into_body(), LARGEST).collect().await.map_err(io::Error::other)?;
            Ok(Answer { status, session, body: body.to_bytes() })
        };
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            // The answer may have come with the end of the connection.
            _ = connection => exchange.await,
        }
    }
}
