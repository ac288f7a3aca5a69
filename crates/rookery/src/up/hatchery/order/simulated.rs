//! Orders in which a simulator takes the place of a server.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use rookery_daemon::settings::Problems;
use rookery_fleet_vsphere::{SiteNames, Vcenters};
use rookery_hatchery::run::site_names;
use rookery_hatchery::settings::{ModelRef, Settings};
use rookery_vim_client::GuestUser;
use rookery_vim_sim::Model;
use tokio_util::sync::CancellationToken;

use super::super::choose::{self, Choice, Requested, choose};
use super::super::overlay::{self, Login, RealVcenter};
use super::super::{cds, survey};
use super::{Cds, Order, Vcenter, read};
use crate::hatchery::vcenter_of;
use crate::settings::Loaded;
use crate::up::Args;
use crate::up::vcenter::{self, Guests, real_programs};

/// The file that a hatchery between the two simulators would have, without what is known only once they run.
const SETTINGS: &str = r#"
iprange = "10.20.30.0/26"
gateway = "10.20.30.1"
subnetMask = "255.255.255.0"
dns = "10.20.30.1"
workerProvisioningInterval = 2
workerProvisioningPoolSize = 3
killAwolServersInterval = 2
finishedWorkerGracePeriod = 1
workerTTL = 2
workerRegistrationTTL = 1
maxCpus = 96
maxMemoryMB = 196608
countSmallerFlavorToKeep = 1

[flavors.small]
cpus = 2
memoryMB = 4096
[flavors.large]
cpus = 8
memoryMB = 16384

[commonConfiguration.provision]
maxWorker = 16
maxConcurrentProvisioning = 10
registerFrequency = 2

[[workerProvisioning]]
modelVMWare = "debian-12"
number = 3
[[workerProvisioning]]
modelVMWare = "rocky-9"
number = 2
[[workerProvisioning]]
modelPath = "shared.infra/builder"
number = 1

[[guestCredentials]]
modelVMWare = "debian-12"
username = "ci"
password = "simulated"
[[guestCredentials]]
modelVMWare = "rocky-9"
username = "ci"
password = "simulated"
"#;

/// What a hatchery on somebody's vCenter is told if no file says more: few machines, gone soon, and addresses by DHCP.
const MODEST: &str = "
killAwolServersInterval = 5
finishedWorkerGracePeriod = 5
[commonConfiguration.provision]
maxWorker = 4
maxConcurrentProvisioning = 4
";

impl Order {
    pub(super) async fn between_simulators(args: &Args) -> anyhow::Result<Self> {
        let vcenter = vcenter::Simulation {
            guests: args.simulated.guests.settle().await?,
            model: vcenter::model()?,
            guest_login: Some(vcenter::guest_login()),
        };
        let cds = cds::Simulation::beside_simulated_vcenter()?;
        let file = SETTINGS.parse().context("the built-in settings are wrong")?;
        let path = args.real.hatchery.clone();
        Ok(Self { vcenter: Vcenter::Simulated(vcenter), cds: Cds::Simulated(cds), file, path })
    }

    /// A real CDS; the vCenter has the templates that the file names.
    pub(super) async fn on_cds(args: &Args, url: &str) -> anyhow::Result<Self> {
        let (path, file) = (args.real.hatchery.clone(), read(args.real.hatchery.as_deref())?);
        if let Err(why) = real_programs().await {
            bail!("the jobs of a real CDS need guests that run them, and this machine cannot run any: {why}");
        }
        // The file's users are as right as any.
        let vcenter =
            vcenter::Simulation { guests: Guests::Real, model: Model::default(), guest_login: None };
        let mut order =
            Self { vcenter: Vcenter::Simulated(vcenter), cds: Cds::Real(url.to_owned()), file, path };
        let settings = order.check()?;
        let mut templates = templates(&settings);
        templates.extend(args.real.templates.iter().cloned());
        if templates.is_empty() {
            let mut problems = Problems::new();
            problems.push(
                "template",
                "the file names none that the simulated vCenter could have; name one with --template, or in the file:\
                 \n    [[guestCredentials]]\n    modelVMWare = \"…\"\n    username = \"…\"\n    password = \"…\"",
            );
            return Err(problems.into());
        }
        if let Vcenter::Simulated(vcenter) = &mut order.vcenter {
            vcenter.model = vcenter::model_with(&templates)?;
        }
        Ok(order)
    }

    /// A real vCenter, on whose templates sample jobs run.
    pub(super) async fn on_vcenter(
        args: &Args,
        loaded: &Loaded,
        vcenters: &Vcenters,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let real = &args.real;
        let mut file = match &real.hatchery {
            Some(path) => read(Some(path))?,
            None => MODEST.parse().context("the built-in settings are wrong")?,
        };
        let ours = overlay::ours(&mut file).cloned().unwrap_or_default();
        let mut vcenter = RealVcenter::of(args, loaded, &ours)?;
        let cds = cds::Simulation::beside_real_vcenter(real.listen, &ours)?;
        let name = cds.sign_in.name.clone();
        let in_file = overlay::text(&ours, "datacenterString").map(str::to_owned);
        let in_general = loaded.settings.text("vcenter.datacenter").map(str::to_owned);
        let datacenter = vcenter.datacenter.clone().or(in_file).or(in_general);
        vcenter.datacenter = Some(datacenter.clone().unwrap_or_else(|| "the only one".to_owned()));
        let mut order = Self {
            vcenter: Vcenter::Real(vcenter),
            cds: Cds::Simulated(cds),
            file,
            path: real.hatchery.clone(),
        };
        let settings = order.check()?;
        let target = crate::vcenter::Vcenter { datacenter: datacenter.clone(), ..vcenter_of(&settings) };
        let places =
            SiteNames { datacenter: datacenter.clone().unwrap_or_default(), ..site_names(&settings) };
        let Some(seen) = survey::survey(vcenters, &target, &places, &name, stop).await? else {
            return Ok(None);
        };
        let guest = loaded.guest_user().ok();
        let said = Requested {
            file: real.hatchery.is_some().then(|| templates(&settings)),
            known_guests: settings.models.credentials.keys().filter_map(template).collect(),
            templates: real.templates.clone(),
            guest: guest.is_some(),
            datacenter,
            spared: overlay::common(&ours, &[], "name").filter(|_| !real.take_over).map(str::to_owned),
        };
        let chosen = choose(&said, &seen)?;
        order.settle(chosen, guest);
        order.check()?;
        Ok(Some(order))
    }

    /// Takes over what was chosen on a real vCenter.
    fn settle(&mut self, chosen: Choice, guest: Option<GuestUser>) {
        if let Cds::Simulated(cds) = &mut self.cds {
            cds.models = choose::models(&chosen.templates);
            cds.kinds = choose::kinds(&cds.models);
        }
        let Vcenter::Real(vcenter) = &mut self.vcenter else { return };
        vcenter.datacenter = Some(chosen.datacenter);
        if let Some(guest) = guest {
            let login = Login { user: guest.name, password: guest.password };
            let entered = chosen.unknown_guests.into_iter();
            vcenter.guests = entered.map(|template| (template, login.clone())).collect();
        }
    }
}

fn template(model: &ModelRef) -> Option<String> {
    match model {
        ModelRef::V2(template) => Some(template.clone()),
        ModelRef::V1(_) => None,
    }
}

/// The templates that settings name anywhere.
fn templates(settings: &Settings) -> BTreeSet<String> {
    let models = settings.models.templates.iter().cloned();
    let guests = settings.models.credentials.keys().filter_map(template);
    let pools = settings.warm.pools.iter().filter_map(|pool| template(&pool.model));
    models.chain(guests).chain(pools).collect()
}
