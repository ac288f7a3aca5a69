//! `rookery hatchery run`.
//!
//! ```text
//!   settings ─► lock of this machine ─► pages ─► vCenter, CDS ─► SIGHUP: reload ─┐
//!                                                                     ▲           │
//!                                                                     └───────────┘
//!                                       SIGTERM: sign out, log out, 0 ◄──┴──► it cannot go on: see `exit`
//! ```

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use rookery_daemon::Supervisor;
use rookery_daemon::lock::LockError;
use rookery_daemon::probes::Probes;
use rookery_daemon::telemetry::{Filter, chain};
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{InstanceError, Parts, Policy, Running, StartError, lock, serve_pages, start};
use rookery_hatchery::settings::{self, Listen, Loaded, Settings};
use rookery_hatchery::surface::control;
use rookery_hatchery::surface::report::Published;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::exit::cause_of;
use super::parts::{hostname, parts};
use super::{File, filter_of, folder};
use crate::output::{Out, printable_lines};
use crate::session::signals;
use crate::{Ending, failure};

/// How long it waits for whoever reads standard output.
const TELLING: Duration = Duration::from_secs(1);
/// How long a start that a signal interrupts may go on: the session that it may have made must be ended.
const START_GRACE: Duration = Duration::from_secs(5);

/// The arguments of `hatchery run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub(super) file: File,
    /// If a hatchery of this name runs already, wait until it has ended or is silent, and take over
    #[arg(long)]
    standby: bool,
    /// What tells this hatchery from others of its name, the same at each start; needed where the name of the machine
    /// changes, as in a container [default: the name of this machine and the folder of the lock]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Where to serve the monitoring pages [default: commonConfiguration.http of the file]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

pub(super) async fn run(args: &Args, filter: Option<Filter>, out: &mut Out) -> anyhow::Result<Ending> {
    let loaded = settings::load_file(args.file.path()?)?;
    tell(&loaded);
    // Before anything that takes time: without a listener the signal would end the process.
    let hangups = signal(SignalKind::hangup()).context("SIGHUP cannot be listened to")?;
    let served = signals::heeding_as_daemon(async |stop| {
        Box::pin(serve(args, loaded.settings, filter, hangups, stop, out)).await
    });
    let served = served.await;
    let Err(error) = served else { return served };
    let cause = cause_of(&error);
    let error = or_stand_by(error);
    let Some(cause) = cause else { return Err(error) };
    failure::report(&error);
    Ok(Ending::Exited(cause.code()))
}

/// What else can be done if there is another one: this command alone can wait for its end.
fn or_stand_by(error: anyhow::Error) -> anyhow::Error {
    let instance_error = error.chain().find_map(|cause| match cause.downcast_ref::<StartError>() {
        Some(StartError::Instance(instance_error)) => Some(instance_error),
        _ => cause.downcast_ref::<InstanceError>(),
    });
    match instance_error {
        Some(InstanceError::Other { .. } | InstanceError::Lock(LockError::Held { .. })) => {
            anyhow!("{}, or start this one with --standby", chain(error.as_ref()))
        }
        Some(
            InstanceError::Lock(LockError::Unusable { .. })
            | InstanceError::Unseen { .. }
            | InstanceError::Unlisted { .. },
        )
        | None => error,
    }
}

async fn serve(
    args: &Args,
    settings: Settings,
    filter: Option<Filter>,
    mut hangups: Signal,
    stop: &CancellationToken,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let name = settings.identity.name.clone();
    let folder = folder::runtime()?;
    let policy = if args.standby { Policy::Standby } else { Policy::Refuse };
    let supervisor = Supervisor::new();
    let early = if args.standby { early_pages(args.listen, &settings, &supervisor).await? } else { None };
    let _lock = match lock(&folder, &name, policy, stop).await {
        Err(_) if stop.is_cancelled() => return Ok(Ending::Done),
        taken => taken?,
    };
    let (served, pages) = match early {
        Some(early) => early,
        None => serve_on(listen(args.listen, &settings.listen).await?, &settings, &supervisor)?,
    };
    served.waits(None);
    let hostname = hostname();
    let instance = args.instance.clone().unwrap_or_else(|| format!("{hostname}:{}", folder.display()));
    let mut parts = parts(settings.clone(), &Vcenters::new(&supervisor), instance, hostname, policy)?;
    parts.pages = Some(served);
    let socket = control::open(&folder, &name)
        .with_context(|| format!("the control socket cannot be made in {}", folder.display()))?;
    let place = socket.path().display().to_string();
    let begun = tokio::select! {
        biased;
        begun = begin(parts, &supervisor, stop) => begun?,
        () = socket.turn_away("it is still starting; its log says what it waits for") => None,
    };
    let Some(hatchery) = begun else { return Ok(Ending::Done) };
    hatchery.control(socket);
    let (vcenter, cds) = (&settings.vcenter.endpoint, &settings.api.url);
    let told = [
        format!("hatchery {name:?} serves {cds} with VMs of {vcenter}"),
        format!("pages    http://{pages}/mon/status"),
        format!("control  {place}"),
    ];
    // Nobody may be there to read it: a daemon goes on all the same.
    timeout(TELLING, out.line(&printable_lines(&told.join("\n")))).await.ok();
    let mut acting = settings;
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => {
                info!("stopping; workers that run go on");
                hatchery.stop().await;
                return Ok(Ending::Done);
            }
            ended = hatchery.ended() => {
                hatchery.stop().await;
                return Err(ended.into());
            }
            Some(()) = hangups.recv() => {
                // A server that is slow to take new credentials does not hold up the end.
                let taken = reload(args.file.path()?, &acting, &hatchery, filter.as_ref());
                let taken = tokio::select! {
                    biased;
                    () = stop.cancelled() => None,
                    taken = Box::pin(taken) => taken,
                };
                acting = taken.unwrap_or(acting);
            }
        }
    }
}

type ServedPages = (Arc<Probes<Published>>, SocketAddr);

fn serve_on(
    listener: TcpListener,
    settings: &Settings,
    supervisor: &Supervisor,
) -> anyhow::Result<ServedPages> {
    let address = listener.local_addr().context("the listener has no address")?;
    Ok((serve_pages(listener, settings, supervisor), address))
}

/// The pages of one that stands by, from now on. Where another one listens, as the one that leads does on the same machine
/// with the same file, they come once this one leads.
async fn early_pages(
    given: Option<SocketAddr>,
    settings: &Settings,
    supervisor: &Supervisor,
) -> anyhow::Result<Option<ServedPages>> {
    let listener = match listen(given, &settings.listen).await {
        Ok(listener) => listener,
        Err(error) if is_taken(&error) => {
            info!(why = %chain(error.as_ref()), "no pages are served until this hatchery leads; --listen names another address");
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (served, address) = serve_on(listener, settings, supervisor)?;
    served.waits(Some("stands by: another hatchery of this name runs on this machine".to_owned()));
    info!(%address, "pages are served; until this hatchery leads they say that it stands by");
    Ok(Some((served, address)))
}

fn is_taken(error: &anyhow::Error) -> bool {
    let taken = error.downcast_ref().map(io::Error::kind);
    taken == Some(io::ErrorKind::AddrInUse)
}

/// What a person should know about the file.
fn tell(loaded: &Loaded) {
    loaded.warnings.iter().for_each(|warning| warn!("settings: {warning}"));
    loaded.unknown.iter().for_each(|unknown| warn!("settings: {unknown}"));
    loaded.notices.iter().for_each(|notice| info!("settings: {notice}"));
}

async fn listen(given: Option<SocketAddr>, settings: &Listen) -> anyhow::Result<TcpListener> {
    let (bound, place) = if let Some(given) = given {
        (TcpListener::bind(given).await, format!("--listen {given}"))
    } else {
        let (address, port) = (settings.address.as_str(), settings.port);
        let all = if address.is_empty() { "0.0.0.0" } else { address };
        (TcpListener::bind((all, port)).await, format!("{all}:{port} (commonConfiguration.http)"))
    };
    bound.with_context(|| format!("the monitoring pages cannot be served on {place}"))
}

/// Starts it; `None` if a signal came first.
async fn begin(
    parts: Parts,
    supervisor: &Supervisor,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Running>> {
    let mut starting = Box::pin(start(parts, supervisor));
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        started = &mut starting => return Ok(Some(started?)),
    }
    supervisor.token().cancel();
    match timeout(START_GRACE, starting).await {
        Ok(Ok(running)) => running.stop().await,
        Ok(Err(StartError::Stopped)) | Err(_) => {}
        Ok(Err(error)) => warn!(error = %rookery_daemon::telemetry::chain(&error), "the start was stopped"),
    }
    Ok(None)
}

/// Reads the file again, and gives what acts from now on. One that cannot be used changes nothing.
async fn reload(
    file: &Path,
    old: &Settings,
    hatchery: &Running,
    filter: Option<&Filter>,
) -> Option<Settings> {
    let loaded = match settings::load_file(file) {
        Ok(loaded) => loaded,
        Err(problems) => {
            error!(%problems, "the settings cannot be read again; the old ones stay");
            return None;
        }
    };
    tell(&loaded);
    let acting = hatchery.reload(old, &loaded.settings).await;
    if let Some(filter) = filter.filter(|_| acting.log.level != old.log.level)
        && let Err(error) = filter.change(filter_of(acting.log.level))
    {
        warn!(%error, "the log filter stays as it was");
    }
    let changed = settings::differences(old, &acting).join(", ");
    // What was refused has been told; it waits for a better file, not for a restart.
    let waiting =
        settings::differences(&settings::reload(old, &loaded.settings), &loaded.settings).join(", ");
    match (changed.as_str(), waiting.as_str()) {
        ("", "") => info!("settings read again: everything stays as it was"),
        (_, "") => info!(changed, "settings read again"),
        ("", _) => warn!(waiting, "settings read again: the changes take effect after a restart"),
        (_, _) => warn!(changed, waiting, "settings read again: some changes take effect after a restart"),
    }
    Some(acting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_are_where_the_settings_say_unless_the_command_says_otherwise() {
        let at = |address: &str| Listen {
            address: address.to_owned(),
            port: 0,
            forwarded_header: "X-Forwarded-For".to_owned(),
        };
        let place = async |given: Option<SocketAddr>, settings: &Listen| {
            let bound = listen(given, settings).await.expect("a free port");
            bound.local_addr().expect("an address").ip().to_string()
        };
        assert_eq!(place(None, &at("127.0.0.3")).await, "127.0.0.3");
        assert_eq!(place(None, &at("")).await, "0.0.0.0", "all of them");
        let given = SocketAddr::from(([127, 0, 0, 2], 0));
        assert_eq!(place(Some(given), &at("127.0.0.3")).await, "127.0.0.2");
        let taken = TcpListener::bind("127.0.0.3:0").await.expect("a free port");
        let port = taken.local_addr().expect("an address").port();
        let refused = listen(None, &Listen { port, ..at("127.0.0.3") }).await.expect_err("it is taken");
        let told =
            format!("the monitoring pages cannot be served on 127.0.0.3:{port} (commonConfiguration.http)");
        assert_eq!(refused.to_string(), told);
    }
}
