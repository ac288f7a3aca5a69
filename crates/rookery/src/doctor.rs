//! `rookery doctor`: everything that stands in the way, in one run, and what to do about each.
//!
//! ```text
//!   observe (I/O: results inside) ─► diagnose (pure: a list of checks) ─► report
//! ```
//!
//! It changes nothing. What is to be examined is a plain list ([`Scope`]), so that others who have such a list may
//! hand over theirs.

mod check;
mod diagnose;
mod observe;
mod observed;
pub mod privileges;
mod properties;
mod report;
mod scope;

use rookery_daemon::Clock;
use rookery_fleet_vsphere::Vcenter as LoggedIn;

use crate::Ending;
use crate::cli::Connect;
use crate::output::{Format, Out, Paint};
use crate::session::with_vcenter;
use crate::settings::Loaded;
use crate::vcenter::Vcenter;

#[cfg(feature = "hatchery")]
pub(crate) use check::Finding;
pub use check::{CHECKS, Check, Group, State};
pub use diagnose::diagnose;
pub use observed::Observed;
pub use scope::{Scope, Source};

/// The arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The datastore that VMs go to, or a cluster of them
    #[arg(long, value_name = "NAME")]
    datastore: Option<String>,
    /// A network that VMs are connected to; may be given several times
    #[arg(long, value_name = "NAME")]
    network: Vec<String>,
    /// A template or VM that is cloned; may be given several times
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,
    /// The resource pool that VMs go to
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// The folder that VMs go to
    #[arg(long, value_name = "NAME")]
    folder: Option<String>,
    /// How to show what was found; table=state,check,seen shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&CHECKS))]
    output: Format,
    /// How to reach vCenter.
    #[command(flatten)]
    pub(crate) connect: Connect,
}

impl Args {
    fn scope(&self, vcenter: &Vcenter) -> Scope {
        Scope {
            datacenter: vcenter.datacenter.clone(),
            datastore: self.datastore.clone(),
            networks: self.network.clone(),
            pool: self.pool.clone(),
            folder: self.folder.clone(),
            templates: self.template.clone(),
            source: Source::Flags,
        }
    }
}

pub(crate) async fn run(loaded: &Loaded, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vcenter = loaded.vcenter_or_advice()?;
    let scope = args.scope(vcenter);
    let ended = with_vcenter(vcenter, "doctor", async |connected| {
        let checks = look_at(vcenter, connected, &scope, &Clock::system()).await;
        tell(&checks, &args.output, out).await
    });
    Ok(ended.await?.unwrap_or(Ending::Interrupted))
}

/// All that is to be said of a vCenter, whether there is a session or not.
pub(crate) async fn look_at(
    vcenter: &Vcenter,
    connected: anyhow::Result<LoggedIn>,
    scope: &Scope,
    clock: &Clock,
) -> Vec<Check> {
    diagnose(&observe::observe(vcenter, connected, scope, clock).await, scope)
}

/// Shows what was found, and how it stands.
pub(crate) async fn tell(checks: &[Check], format: &Format, out: &mut Out) -> anyhow::Result<Ending> {
    let shown = if format.is_for_people() {
        report::lines(checks, Paint::of_stdout())
    } else {
        format.list(&CHECKS, checks)?
    };
    out.lines(&shown).await?;
    // Warnings are for people; only problems fail.
    let problem = checks.iter().any(|check| check.state == State::Problem);
    Ok(if problem { Ending::Failed } else { Ending::Done })
}
