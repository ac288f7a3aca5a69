//! Looks at a real vCenter before anything is started on it, in a session of its own.

use rookery_daemon::Clock;
use rookery_fleet_vsphere::{Site, SiteError, SiteNames, Vcenters};
use rookery_hatchery::machine::Observer;
use rookery_hatchery::machine::View;
use rookery_hatchery::mark;
use rookery_vim_client::{FindError, Kind, Places};
use tokio_util::sync::CancellationToken;

use super::choose::Found;
use crate::session::{Session, with_session_until};
use crate::vcenter::Vcenter;

/// `None` if a signal came first.
pub(super) async fn survey(
    vcenters: &Vcenters,
    vcenter: &Vcenter,
    places: &SiteNames,
    name: &str,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Found>> {
    let looked = with_session_until(stop, vcenters, vcenter, "up", async |session| {
        let unclear = match Site::find(session.client(), places).await {
            Ok(_) => vec![],
            Err(SiteError::Unclear(problems)) => problems,
            Err(error @ SiteError::Call(_)) => return Err(error.into()),
        };
        let places = Places::load(session.client()).await?;
        let datacenters = match places.find(Kind::Datacenter, None, &session.client().content().root_folder) {
            Ok(only) => vec![places.path(&only.id)],
            Err(FindError::NoDefault { candidates, .. }) => candidates,
            Err(error @ (FindError::Missing { .. } | FindError::Ambiguous { .. })) => {
                return Err(error.into());
            }
        };
        let templates = session.first.vms().filter(|vm| vm.is_template()).map(|vm| vm.name.clone()).collect();
        let owned =
            view(session).owned(&mark::owner(name)).map(|(machine, _)| machine.name.clone()).collect();
        Ok(Found { datacenters, unclear, templates, owned })
    });
    looked.await
}

/// The machines as the planner sees them.
pub(super) fn view(session: &Session) -> View {
    Observer::new(session.inventory.clone(), mark::recogniser()).view(Clock::system().now())
}
