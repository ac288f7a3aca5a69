//! `rookery sim vcenter ctl`: looking into a simulated vCenter that runs, and changing its ways.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rookery_daemon::Supervisor;
use rookery_vim_client::{Dial as _, Endpoint, TcpDial, Trust};
use serde_json::{Value, json};

use super::control_file::ControlFile;
use crate::Ending;
use crate::output::Out;

/// The arguments of `ctl`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file that the simulator wrote (its --control-file)
    #[arg(long, value_name = "FILE")]
    control_file: PathBuf,
    #[command(subcommand)]
    command: Command,
}

/// What to do with it. JSON is explained in docs/simulator-control.md.
#[derive(Debug, Subcommand)]
enum Command {
    /// Show its time, inventory counts, sessions, and calls by method
    Inspect,
    /// List the rules
    Rules,
    /// Add a rule, such as '{"method": "Clone*", "count": 1, "action": "lose-reply"}'
    AddRule {
        /// The rule
        #[arg(value_name = "JSON", value_parser = json)]
        rule: Value,
    },
    /// Remove a rule by its number, or all
    RemoveRule {
        /// Its number; all if none is given
        #[arg(value_name = "NUMBER")]
        id: Option<u64>,
    },
    /// Make something happen, such as '{"host-down": {"host": "esx-1"}}'
    Do {
        /// The incident
        #[arg(value_name = "JSON", value_parser = json)]
        incident: Value,
    },
    /// Let time pass, such as 5m
    Advance {
        /// How much
        #[arg(value_name = "DURATION")]
        by: String,
    },
    /// Change durations, limits or guests, such as '{"durations": {"clone": "20s"}}'
    Set {
        /// What changes
        #[arg(value_name = "JSON", value_parser = json)]
        change: Value,
    },
    /// Write the whole inventory to a file
    Dump {
        /// The file
        file: PathBuf,
    },
    /// Take the inventory from a file that `dump` wrote
    Load {
        /// The file
        file: PathBuf,
    },
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))
}

/// What is asked over HTTP: the method, the path and the body.
fn asked(command: &Command) -> anyhow::Result<(Method, String, String)> {
    let ask = |method, path: &str, body: String| Ok((method, path.to_owned(), body));
    match command {
        Command::Inspect => ask(Method::GET, "/rookery/", String::new()),
        Command::Rules => ask(Method::GET, "/rookery/rules", String::new()),
        Command::AddRule { rule } => ask(Method::POST, "/rookery/rules", rule.to_string()),
        Command::RemoveRule { id: None } => ask(Method::DELETE, "/rookery/rules", String::new()),
        Command::RemoveRule { id: Some(id) } => {
            ask(Method::DELETE, &format!("/rookery/rules/{id}"), String::new())
        }
        Command::Do { incident } => ask(Method::POST, "/rookery/deeds", incident.to_string()),
        Command::Advance { by } => ask(Method::POST, "/rookery/time", json!({ "advance": by }).to_string()),
        Command::Set { change } => ask(Method::PATCH, "/rookery/settings", change.to_string()),
        Command::Dump { .. } => ask(Method::GET, "/rookery/world", String::new()),
        Command::Load { file } => {
            let read = std::fs::read_to_string(file);
            ask(
                Method::PUT,
                "/rookery/world",
                read.with_context(|| format!("{} cannot be read", file.display()))?,
            )
        }
    }
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let control = ControlFile::read(&args.control_file)?;
    let (method, path, body) = asked(&args.command)?;
    let answer = request(&control, method, &path, body).await?;
    if let Command::Dump { file } = &args.command {
        std::fs::write(file, &answer).with_context(|| format!("{} cannot be written", file.display()))?;
    } else {
        let value: Value = serde_json::from_slice(&answer).context("the answer is not JSON")?;
        out.line(&serde_json::to_string_pretty(&value)?).await?;
    }
    Ok(Ending::Done)
}

async fn request(control: &ControlFile, method: Method, path: &str, body: String) -> anyhow::Result<Bytes> {
    let (endpoint, _) = Endpoint::parse(&control.address)?;
    let trust = match &control.thumbprint {
        Some(thumbprint) => Trust::Thumbprint(thumbprint.parse()?),
        // There is no TLS then.
        None => Trust::Insecure,
    };
    let what = || format!("the simulator at {} cannot be asked", control.address);
    let stream = TcpDial::new(endpoint.clone(), &trust)?.dial().await.with_context(what)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.with_context(what)?;
    let tasks = Supervisor::new();
    tasks.spawn("connection to the simulator", async move {
        // Whatever goes wrong shows in the answer.
        connection.await.ok();
    });
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, endpoint.authority())
        .header(AUTHORIZATION, format!("Bearer {}", control.token))
        .body(Full::new(Bytes::from(body)))?;
    let response = sender.send_request(request).await.with_context(what)?;
    let status = response.status();
    let answer = response.into_body().collect().await.with_context(what)?.to_bytes();
    if !status.is_success() {
        let told: Option<Value> = serde_json::from_slice(&answer).ok();
        let why = told.as_ref().and_then(|told| told.get("error")?.as_str()).unwrap_or("no reason is given");
        bail!("the simulator refuses ({status}): {why}");
    }
    Ok(answer)
}
