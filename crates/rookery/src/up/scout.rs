//! A look at a real vCenter, with a session of its own that ends again.

use rookery_daemon::Clock;
use rookery_fleet_vsphere::{Site, SiteError, SiteNames};
use rookery_hatchery::machine::Observer;
use rookery_hatchery::machine::View;
use rookery_vim_client::{FindError, Kind, Places};
use tokio_util::sync::CancellationToken;

use super::choose::Seen;
use crate::fleet::{Fleet, with_fleet_until};
use crate::vcenter::Vcenter;

/// What is there before anything is done; none if a signal came first.
pub(super) async fn look(
    vcenter: &Vcenter,
    places: &SiteNames,
    name: &str,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Seen>> {
    let looked = with_fleet_until(stop, vcenter, "up", async |fleet| {
        let unclear = match Site::find(&fleet.client, places).await {
            Ok(_) => vec![],
            Err(SiteError::Unclear(problems)) => problems,
            Err(error @ SiteError::Call(_)) => return Err(error.into()),
        };
        let places = Places::load(&fleet.client).await?;
        let datacenters = match places.find(Kind::Datacenter, None, &fleet.client.content().root_folder) {
            Ok(only) => vec![places.path(&only.id)],
            Err(FindError::NoDefault { candidates, .. }) => candidates,
            Err(error @ (FindError::Missing { .. } | FindError::Ambiguous { .. })) => {
                return Err(error.into());
            }
        };
        let templates = fleet.first.vms().filter(|vm| vm.is_template()).map(|vm| vm.name.clone()).collect();
        let owned = view(fleet).owned(&mark::owner(name)).map(|(machine, _)| machine.name.clone()).collect();
        Ok(Seen { datacenters, unclear, templates, owned })
    });
    looked.await
}

/// The machines of a fleet.
pub(super) fn view(fleet: &Fleet) -> View {
    Observer::new(fleet.inventory.clone(), mark::recogniser()).view(Clock::system().now())
}
