//! From settings to the parts of a hatchery.

use std::sync::Arc;

use anyhow::Context as _;
use rookery_cds::ApiAddress;
use rookery_daemon::Clock;
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{Parts, Policy};
use rookery_hatchery::settings::Settings;
use rookery_vim_client::{Dial, TcpDial};

use super::folder;
use crate::session::random;
use crate::{VERSION, proxies};

/// All that a hatchery is made of, without pages.
pub(crate) fn parts(
    settings: Settings,
    vcenters: &Vcenters,
    instance: String,
    hostname: String,
    policy: Policy,
) -> anyhow::Result<Parts> {
    let vcenter = TcpDial::new(settings.vcenter.endpoint.clone(), &settings.vcenter.trust)?
        .through(proxies::of_this_process());
    let cds = cds_dial(&settings)?;
    Ok(Parts {
        settings,
        vcenters: vcenters.clone(),
        // It is the only kind of front that there is.
        beside: Vec::new(),
        vcenter: Arc::new(vcenter),
        cds,
        clock: Clock::system(),
        random: random()?,
        pages: None,
        instance,
        hostname,
        version: VERSION.to_owned(),
        policy,
        folder: Some(folder::state()?),
    })
}

/// The way to CDS.
pub(super) fn cds_dial(settings: &Settings) -> anyhow::Result<Arc<dyn Dial>> {
    let api = ApiAddress::parse(settings.api.url.as_str()).context("commonConfiguration.api.http.url")?;
    let dial = TcpDial::new(api.endpoint().clone(), &settings.api.trust)?;
    Ok(Arc::new(dial.through(proxies::of_this_process())))
}

/// The name of this machine.
pub(crate) fn hostname() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let told = told.trim();
    if told.is_empty() { "localhost".to_owned() } else { told.to_owned() }
}
