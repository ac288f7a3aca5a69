//! What vCenter and CDS show.

use anyhow::Context as _;
use rookery_cds::{HatcheryKey, MODEL_TYPE, V1Model};
use rookery_daemon::Supervisor;
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::settings::Settings;
use rookery_vim::MoRef;
use rookery_vim_client::{Kind, Places};
use tokio_util::sync::CancellationToken;

use crate::hatchery::check::client;
use crate::hatchery::sign_in::{self, TokensOf};
use crate::session::with_session_until;
use crate::vcenter::Vcenter;

/// What a vCenter has.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) places: Places,
    pub(super) root: MoRef,
    /// The templates, with the folder of each.
    templates: Vec<(String, Option<MoRef>)>,
}

/// `None` if the token was cancelled first.
pub(super) async fn vcenter(vcenter: &Vcenter, stop: &CancellationToken) -> anyhow::Result<Option<Seen>> {
    let tasks = Supervisor::new();
    with_session_until(stop, &Vcenters::new(&tasks), vcenter, "hatchery init", async |session| {
        let places = Places::load(session.client()).await?;
        let templates = session.first.vms().filter(|vm| vm.is_template());
        let mut templates: Vec<_> = templates.map(|vm| (vm.name.clone(), vm.parent.clone())).collect();
        templates.sort();
        Ok(Seen { places, root: session.client().content().root_folder.clone(), templates })
    })
    .await
}

impl Seen {
    /// The names of the templates in a datacenter, or of all.
    pub(super) fn templates_in(&self, datacenter: Option<&str>) -> Vec<String> {
        let datacenter =
            datacenter.and_then(|name| self.places.find(Kind::Datacenter, Some(name), &self.root).ok());
        let is_there = |folder: &Option<MoRef>| match (datacenter, folder) {
            (Some(datacenter), Some(folder)) => self.is_inside(folder, &datacenter.id),
            (None, _) | (_, None) => true,
        };
        let there = self.templates.iter().filter(|(_, folder)| is_there(folder));
        let mut names: Vec<String> = there.map(|(name, _)| name.clone()).collect();
        names.dedup();
        names
    }

    fn is_inside(&self, place: &MoRef, container: &MoRef) -> bool {
        let above = |id: &MoRef| self.places.get(id)?.parent.clone();
        // Bounded, should a server ever answer with a circle.
        std::iter::successors(Some(place.clone()), above).take(64).any(|id| id == *container)
    }
}

/// The region that CDS gives to V2 jobs of this hatchery.
pub(super) async fn v2_region(settings: &Settings) -> anyhow::Result<String> {
    let cds = client(settings, &key(settings)?)?;
    let v2 = cds.v2().context("there is no token for V2 jobs")?;
    Ok(sign_in::v2_region(v2, settings, TokensOf::Flags).await?)
}

/// The service that CDS knows this hatchery as, and the V1 models that it has.
pub(super) async fn v1_service(settings: &Settings) -> anyhow::Result<(i64, Vec<String>)> {
    let cds = client(settings, &key(settings)?)?;
    let v1 = cds.v1().context("there is no token for V1 jobs")?;
    let looked = async {
        let service = sign_in::v1_service(v1, settings, TokensOf::Flags).await?;
        let models = v1
            .models()
            .await
            .context("the worker models cannot be read, which needs the scope WorkerModel")?;
        let ours = models.iter().filter(|model| model.kind == MODEL_TYPE);
        Ok((service.id, ours.map(V1Model::path).collect()))
    };
    let looked = looked.await;
    v1.sign_out().await.ok();
    looked
}

fn key(settings: &Settings) -> anyhow::Result<HatcheryKey> {
    HatcheryKey::from_pem(&settings.identity.private_key).context("the key cannot be used")
}
