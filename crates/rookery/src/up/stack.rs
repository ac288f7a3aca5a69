//! What `up` starts, and in which order; and how it all ends.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::Vcenters;
use tokio::net::TcpListener;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::Args;
use super::follow::{Options, follow};
use super::hatchery::order::{Cds, Order, Vcenter};
use super::hatchery::page::OWN_GUESTS;
use super::hatchery::{Hatchery, Identity};
use super::part::{Part, Removal};
#[cfg(feature = "sim")]
use super::{
    hatchery::{cds, jobs},
    vcenter,
};
use crate::Ending;
use crate::live::{Audience, Page, on_page, took};
use crate::output::{Out, OutputError};
use crate::session::signals;
use crate::settings::Loaded;

/// How long tasks get to end.
const LINGER: Duration = Duration::from_secs(2);
/// How long a logout may take that nobody waited for.
const LAST_LOGOUT: Duration = Duration::from_secs(5);
/// How long a start that a signal interrupts may go on: the session that it may have made must be ended.
const START_GRACE: Duration = Duration::from_secs(5);

/// What all parts share.
pub(super) struct Process {
    pub(super) supervisor: Supervisor,
    pub(super) vcenters: Vcenters,
}

impl Process {
    fn new() -> Self {
        let supervisor = Supervisor::new();
        Self { vcenters: Vcenters::new(&supervisor), supervisor }
    }
}

/// Runs all parts until a signal comes, or until what `--exit` waits for is done.
pub(super) async fn run(args: &Args, loaded: &Loaded, out: &mut Out) -> anyhow::Result<Ending> {
    let options = args.options();
    let audience = if options.once { Audience::Reader } else { Audience::of_stdout() };
    on_page(audience, out, async |page| {
        signals::heeding(async |stop| Box::pin(run_until(args, loaded, &options, stop, page)).await).await
    })
    .await
}

async fn run_until(
    args: &Args,
    loaded: &Loaded,
    options: &Options,
    stop: &CancellationToken,
    page: &mut Page<'_>,
) -> anyhow::Result<Ending> {
    if let Some(folder) = &options.dump {
        // Now, and not after all jobs.
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let process = Process::new();
    // Not dropped at a signal: it may be logged in somewhere.
    let ordered = Box::pin(Order::of(args, loaded, &process.vcenters, stop)).await?;
    let Some(order) = ordered else { return Ok(Ending::Interrupted) };
    order.warn();
    let identity = Identity::of(&order, stop).await?;
    let mut starting = Box::pin(start(&order, identity, args, loaded, &process));
    let started = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        started = &mut starting => Some(started?),
    };
    let Some(parts) = started else {
        process.supervisor.token().cancel();
        // It may have logged in somewhere, and has made nothing yet.
        if let Ok(Ok(parts)) = timeout(START_GRACE, starting).await {
            end(parts, Removal::Nothing, page).await?;
        }
        return Ok(Ending::Interrupted);
    };
    let (abandoned, since) = (page.abandoned(), Instant::now());
    let followed = tokio::select! {
        biased;
        () = stop.cancelled() => None,
        () = abandoned => Some(Err(OutputError::ReaderGone.into())),
        followed = Box::pin(follow(&parts, options, page)) => Some(followed),
    };
    // A batch that was recounted has told its result.
    let summary = followed.is_none().then(|| summary(&parts, since.elapsed()));
    // The live view is ended by a signal; a batch of jobs that was cut short is not done.
    let followed = followed.unwrap_or(Ok(if args.exit { Ending::Interrupted } else { Ending::Done }));
    let ended = Box::pin(end(parts, Removal::WhatItMade, page)).await;
    // A session that is still being ended is ended.
    process.supervisor.shutdown(LAST_LOGOUT).await.ok();
    if let Some(summary) = summary.filter(|_| page.audience() == Audience::Person) {
        page.result(&summary).await?;
    }
    let followed = match followed {
        // That nobody reads any more is no failure; what the end leaves behind may be one.
        Err(error) if matches!(error.downcast_ref(), Some(OutputError::ReaderGone)) => Ending::Done,
        // What went wrong first is told; the rest was shown.
        followed => followed?,
    };
    match followed {
        Ending::Done => ended,
        other @ (Ending::Failed | Ending::Interrupted | Ending::Exited(_)) => ended.map(|_| other),
    }
}

/// What was achieved, for whoever has just seen the page go.
fn summary(parts: &[Box<dyn Part>], ran: Duration) -> String {
    let ran = std::iter::once(format!("ran          {}", took(ran)));
    ran.chain(parts.iter().rev().flat_map(|part| part.summary())).collect::<Vec<_>>().join("\n")
}

/// Starts all parts, each of which may use those before it. If one fails, all are stopped.
async fn start(
    order: &Order,
    identity: Identity,
    args: &Args,
    loaded: &Loaded,
    process: &Process,
) -> anyhow::Result<Vec<Box<dyn Part>>> {
    let started = Box::pin(list(order, identity, args, loaded, process)).await;
    if started.is_err() {
        process.supervisor.shutdown(LINGER).await.ok();
    }
    started
}

/// The list. A part of another front is one more entry.
async fn list(
    order: &Order,
    identity: Identity,
    args: &Args,
    loaded: &Loaded,
    process: &Process,
) -> anyhow::Result<Vec<Box<dyn Part>>> {
    let mut parts: Vec<Box<dyn Part>> = Vec::new();
    #[cfg(feature = "sim")]
    let (seed, faults) = (args.simulated.seed, args.simulated.faults);
    #[cfg(feature = "sim")]
    let mut simulated = (None, None);

    let (vcenter, guests) = match &order.vcenter {
        #[cfg(feature = "sim")]
        Vcenter::Simulated(simulation) => {
            let part = vcenter::Vcenter::start(simulation, seed, faults, process.supervisor.child()).await?;
            let url = part.url.clone();
            simulated.0 = Some(part.running.clone());
            parts.push(Box::new(part));
            (url, simulation.guests.in_words(order.cds.kind()))
        }
        Vcenter::Real(real) => (real.endpoint.to_string(), OWN_GUESTS),
    };
    let cds = match &order.cds {
        #[cfg(feature = "sim")]
        Cds::Simulated(simulation) => {
            let part = cds::Cds::start(simulation, seed, faults, process.supervisor.child()).await?;
            let url = part.url.clone();
            simulated.1 = Some((part.running.clone(), simulation));
            parts.push(Box::new(part));
            url
        }
        Cds::Real(url) => url.clone(),
    };
    let default_file = loaded.default_file.as_deref();
    let hatchery =
        Hatchery::start(order, identity, (vcenter, cds), guests, args, default_file, process).await?;
    #[cfg(feature = "sim")]
    let jobs = match simulated {
        (vcenter, Some((cds, simulation))) => {
            Some(jobs::Jobs::new(cds, simulation, &hatchery, vcenter, &args.simulated))
        }
        (_, None) => None,
    };
    parts.push(Box::new(hatchery));
    #[cfg(feature = "sim")]
    parts.extend(jobs.map(|jobs| Box::new(jobs) as Box<dyn Part>));
    Ok(parts)
}

/// Stops all parts, those first that use the others.
async fn end(mut parts: Vec<Box<dyn Part>>, removal: Removal, page: &mut Page<'_>) -> anyhow::Result<Ending> {
    let mut ended = Ok(Ending::Done);
    while let Some(part) = parts.pop() {
        let others = if parts.is_empty() { String::new() } else { format!(", then {} more", parts.len()) };
        page.stopping(&format!("{} is stopped{others}", part.name()));
        let stopped = part.stop(removal, page).await;
        if matches!(ended, Ok(Ending::Done)) {
            ended = stopped;
        }
    }
    ended
}

/// Listens there, and gives the URL of it.
pub(super) async fn listen(at: SocketAddr) -> anyhow::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}"))?;
    let url = format!("http://{}", listener.local_addr().context("the listener has no address")?);
    Ok((listener, url))
}
