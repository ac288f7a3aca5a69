//! From flags and files to what is started: which server is simulated, and the settings of the hatchery.

#[cfg(feature = "sim")]
mod simulated;

use std::path::{Path, PathBuf};

use anyhow::bail;
use rookery_daemon::settings::{Origin, Problems, read_secret};
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::settings::{self, Settings};
use rookery_vim_client::Endpoint;
use tokio_util::sync::CancellationToken;
use toml::Table;

#[cfg(feature = "sim")]
use super::cds;
use super::overlay::{self, Login, RealVcenter};
use crate::settings::Loaded;
use crate::up::Args;
use crate::up::endpoint_kind::EndpointKind;
use crate::vcenter::{address, check};
#[cfg(feature = "sim")]
use crate::{output::remark, sim::REACH_OF_LOCAL_GUESTS, up::vcenter};

/// Stands for the address of a simulated server that has not started yet, while settings are checked.
const SOMEWHERE: &str = "http://127.0.0.1:1";

/// What is to be started.
pub(in crate::up) struct Order {
    pub(in crate::up) vcenter: Vcenter,
    pub(in crate::up) cds: Cds,
    /// The hatchery's settings file, before the overlay of addresses and logins.
    file: Table,
    /// Where that file is.
    pub(in crate::up) path: Option<PathBuf>,
}

/// The vCenter that the hatchery works on.
pub(in crate::up) enum Vcenter {
    #[cfg(feature = "sim")]
    Simulated(vcenter::Simulation),
    Real(RealVcenter),
}

/// The CDS that it serves.
pub(in crate::up) enum Cds {
    #[cfg(feature = "sim")]
    Simulated(cds::Simulation),
    /// By its URL.
    Real(String),
}

impl Order {
    /// `None` if a signal came during the survey of a real vCenter.
    #[cfg_attr(
        not(feature = "sim"),
        expect(unused_variables, reason = "only sample jobs need a look at a vCenter")
    )]
    pub(in crate::up) async fn of(
        args: &Args,
        loaded: &Loaded,
        vcenters: &Vcenters,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let real = &args.real;
        let path = real.hatchery.clone();
        match (&real.vcenter, &real.cds) {
            #[cfg(feature = "sim")]
            (None, None) => Self::between_simulators(args).await.map(Some),
            #[cfg(feature = "sim")]
            (None, Some(url)) => Self::on_cds(args, url).await.map(Some),
            #[cfg(feature = "sim")]
            (Some(_), None) => Self::on_vcenter(args, loaded, vcenters, stop).await,
            #[cfg(not(feature = "sim"))]
            (None, _) | (_, None) => {
                bail!("this build simulates nothing: --vcenter and --cds name both servers")
            }
            (Some(_), Some(url)) => {
                let mut file = read(real.hatchery.as_deref())?;
                let ours = overlay::ours(&mut file).cloned().unwrap_or_default();
                let vcenter = RealVcenter::of(args, loaded, &ours)?;
                let order = Self { vcenter: Vcenter::Real(vcenter), cds: Cds::Real(url.clone()), file, path };
                order.check()?;
                Ok(Some(order))
            }
        }
    }

    /// The hatchery's settings, with the addresses of simulated servers and of its pages.
    #[cfg_attr(
        not(feature = "sim"),
        expect(unused_variables, reason = "only simulated servers have addresses that no file names")
    )]
    pub(in crate::up) fn settings(&self, vcenter: &str, cds: &str, pages: &str) -> anyhow::Result<Settings> {
        let mut file = self.file.clone();
        // A file without our table is told below.
        if let Some(ours) = overlay::ours(&mut file) {
            match &self.vcenter {
                #[cfg(feature = "sim")]
                Vcenter::Simulated(_) => overlay::lay_simulated_vcenter(ours, vcenter),
                Vcenter::Real(real) => overlay::lay_vcenter(ours, real),
            }
            match &self.cds {
                #[cfg(feature = "sim")]
                Cds::Simulated(simulation) => {
                    overlay::lay_simulated_cds(ours, cds, &simulation.sign_in, pages);
                }
                Cds::Real(url) => overlay::lay_cds(ours, url, pages),
            }
        }
        let origin = self.path.clone().map_or(Origin::Default, Origin::File);
        Ok(settings::load(&file.to_string(), &origin, &read_secret)?.settings)
    }

    /// The hatchery's name, if one of its servers is real.
    pub(in crate::up) fn seen_by_others(&self) -> anyhow::Result<Option<String>> {
        let real = [self.vcenter.kind(), self.cds.kind()].contains(&EndpointKind::Real);
        real.then(|| self.check().map(|settings| settings.identity.name)).transpose()
    }

    /// Warns that jobs of a real CDS run on this machine.
    pub(in crate::up) fn warn(&self) {
        #[cfg(feature = "sim")]
        if let (Vcenter::Simulated(_), Cds::Real(cds)) = (&self.vcenter, &self.cds) {
            remark(&format!("jobs of the CDS at {cds} run on this machine. {REACH_OF_LOCAL_GUESTS}"));
        }
    }

    /// [`Self::settings`] before simulators have addresses: finds out whether the file is valid.
    fn check(&self) -> anyhow::Result<Settings> {
        self.settings(SOMEWHERE, SOMEWHERE, SOMEWHERE)
    }
}

impl Vcenter {
    pub(in crate::up) fn kind(&self) -> EndpointKind {
        match self {
            #[cfg(feature = "sim")]
            Self::Simulated(_) => EndpointKind::Simulated,
            Self::Real(_) => EndpointKind::Real,
        }
    }
}

impl Cds {
    pub(in crate::up) fn kind(&self) -> EndpointKind {
        match self {
            #[cfg(feature = "sim")]
            Self::Simulated(_) => EndpointKind::Simulated,
            Self::Real(_) => EndpointKind::Real,
        }
    }
}

impl RealVcenter {
    /// Login and trust come from flags, else from the hatchery's file, else from the program's settings.
    fn of(args: &Args, loaded: &Loaded, file: &Table) -> anyhow::Result<Self> {
        let said = |keys: &[&str]| {
            keys.iter().any(|key| matches!(loaded.settings.origin(key), Some(Origin::Flag(_))))
        };
        let login_is_said = said(&["vcenter.user", "vcenter.password", "vcenter.password-file"]);
        let given = if login_is_said || overlay::text(file, "user").is_none() {
            Some(loaded.vcenter()?)
        } else {
            None
        };
        let endpoint = match given {
            Some(vcenter) => vcenter.endpoint.clone(),
            None => endpoint(args.real.vcenter.as_deref().unwrap_or_default())?,
        };
        let in_file = ["insecure", "caFile", "thumbprint"].iter().any(|name| overlay::has(file, name));
        let trust = if in_file && !said(&["vcenter.insecure", "vcenter.ca-file", "vcenter.thumbprint"]) {
            None
        } else {
            let mut problems = Problems::new();
            let trust = check::trust(&loaded.settings, &mut problems);
            if !problems.is_empty() {
                return Err(loaded.settings.locate(problems).into());
            }
            trust
        };
        let login =
            given.map(|vcenter| Login { user: vcenter.user.clone(), password: vcenter.password.clone() });
        Ok(Self { endpoint, login, trust, datacenter: args.connect.datacenter.clone(), guests: vec![] })
    }
}

fn read(path: Option<&Path>) -> anyhow::Result<Table> {
    let Some(path) = path else { bail!("-c names no file") };
    match std::fs::read_to_string(path).ok().and_then(|text| text.parse().ok()) {
        Some(table) => Ok(table),
        // It cannot be read or is no TOML, which is told as everywhere.
        None => match settings::load_file(path) {
            Err(problems) => Err(problems.into()),
            Ok(_) => bail!("{} changes while it is read", path.display()),
        },
    }
}

fn endpoint(text: &str) -> Result<Endpoint, Problems> {
    let mut problems = Problems::new();
    let parsed = Endpoint::parse(text).map_err(|error| address::complaint(&error));
    problems.keep("--vcenter", parsed).map(|(endpoint, _)| endpoint).ok_or(problems)
}
