//! From settings to a session.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rand::SeedableRng as _;
use rand::rngs::{StdRng, SysRng};
use rookery_daemon::Lease;
use rookery_fleet_vsphere::{Login, Sharing, Vcenter as LoggedIn, Vcenters};
use rookery_vim::Limits;
use rookery_vim_client::{Ceilings, Deadlines, Options, TcpDial};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::proxies;
use crate::vcenter::Vcenter;

/// How long a login that a signal interrupts may go on: the session that it may have made must be ended.
const LOGIN_GRACE: Duration = Duration::from_secs(5);

/// Logs in. After a signal there is a session only if the login was already on its way: the caller ends it.
pub(super) async fn connect(
    vcenters: &Vcenters,
    vcenter: &Vcenter,
    purpose: &str,
    stop: &CancellationToken,
) -> anyhow::Result<Option<LoggedIn>> {
    let dial = TcpDial::new(vcenter.endpoint.clone(), &vcenter.trust)?.through(proxies::of_this_process());
    let connecting = vcenters.connect(Login {
        options: options(vcenter, purpose)?,
        dial: Arc::new(dial),
        trust: vcenter.trust.clone(),
        sharing: Sharing::Shared,
        ceilings: Ceilings::default(),
    });
    tokio::pin!(connecting);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        connected = &mut connecting => return Ok(Some(connected?)),
    }
    Ok(timeout(LOGIN_GRACE, connecting).await.ok().and_then(Result::ok))
}

pub(crate) fn random() -> anyhow::Result<StdRng> {
    StdRng::try_from_rng(&mut SysRng).context("the system gives no random numbers")
}

fn options(vcenter: &Vcenter, purpose: &str) -> anyhow::Result<Options> {
    Ok(Options {
        endpoint: vcenter.endpoint.clone(),
        user: vcenter.user.clone(),
        password: vcenter.password.clone(),
        user_agent: format!("rookery/{} ({purpose})", env!("CARGO_PKG_VERSION")),
        deadlines: Deadlines { call: vcenter.call_timeout, ..Deadlines::default() },
        limits: Limits::default(),
        calls_per_second: vcenter.calls_per_second,
        lease: Lease::unlimited(),
        random: random()?,
    })
}
