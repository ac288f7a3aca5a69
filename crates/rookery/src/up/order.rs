//! From what was said to what is started: which end is simulated, and the settings of the hatchery between them.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rand::TryRng as _;
use rand::rngs::SysRng;
use rookery_cds_sim::{CodeModel, Protocol};
use rookery_daemon::Clock;
use rookery_daemon::settings::{Origin, Problems, read_secret};
use rookery_fleet_vsphere::SiteNames;
use rookery_hatchery::run::site_names;
use rookery_hatchery::settings::{self, ModelRef, Settings};
use rookery_vim_client::{Endpoint, GuestUser, Trust};
use rookery_vim_sim::Model;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use toml::Table;

use super::choose::{self, Choice, Requested, choose};
use super::endpoint_kind::EndpointKind;
use super::guests::{self, Guests};
use super::overlay::{self, Login};
use super::{Args, stack, survey};
use crate::hatchery::{hostname, vcenter_of};
use crate::settings::Loaded;
use crate::vcenter::{Vcenter, address, check};

/// What a hatchery on somebody's vCenter is told if no file says more: few machines, gone soon, and addresses by DHCP.
const MODEST: &str = "
killAwolServersInterval = 5
finishedWorkerGracePeriod = 5
[commonConfiguration.provision]
maxWorker = 4
maxConcurrentProvisioning = 4
";
/// Where a server would be, while only the rest of the settings is looked at.
const SOMEWHERE: &str = "http://127.0.0.1:1";

/// What is to be started.
pub(super) struct Order {
    pub(super) vcenter: EndpointKind<SimulatedVcenter, RealVcenter>,
    pub(super) cds: EndpointKind<SimulatedCds, String>,
    /// What the hatchery is told; none: what suits two simulators.
    file: Option<Table>,
    /// The file that it comes from.
    pub(super) path: Option<PathBuf>,
}

/// A vCenter in this process.
pub(super) struct SimulatedVcenter {
    pub(super) guests: Guests,
    pub(super) model: Model,
    /// The only one who may enter guests; anybody if there is none.
    pub(super) guest_login: Option<rookery_vim_sim::Login>,
}

/// Somebody's vCenter.
pub(super) struct RealVcenter {
    pub(super) endpoint: Endpoint,
    login: Option<Login>,
    trust: Option<Trust>,
    datacenter: Option<String>,
    guests: Vec<(String, Login)>,
}

/// A CDS in this process.
pub(super) struct SimulatedCds {
    pub(super) listen: SocketAddr,
    pub(super) name: String,
    pub(super) region: String,
    pub(super) tokens: (String, String),
    /// The key that the hatchery signs with, in PEM.
    pub(super) key: SecretString,
    pub(super) models: Vec<CodeModel>,
    /// Whether there is also a model of the first protocol, which must be registered.
    pub(super) registers: bool,
    /// Whether machines may take minutes to start.
    pub(super) patient: bool,
    /// What identifiers follow from, and after which number jobs are numbered, if machines may be left of earlier ones:
    /// they must not seem to be there for these. None: the seed, and from the beginning.
    pub(super) identity: Option<(u64, i64)>,
    /// What sample jobs ask for, in turns.
    pub(super) kinds: Vec<(Protocol, String)>,
}

impl Order {
    /// What the arguments ask for; none if a signal came while a vCenter was looked at.
    pub(super) async fn of(
        args: &Args,
        loaded: &Loaded,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let real = &args.real;
        let path = real.hatchery.clone();
        match (&real.vcenter, &real.cds) {
            (None, None) => {
                let vcenter = SimulatedVcenter {
                    guests: args.guests.settle().await?,
                    model: stack::model()?,
                    guest_login: Some(stack::guest_login()),
                };
                let cds = SimulatedCds::of_stack()?;
                Ok(Some(Self {
                    vcenter: EndpointKind::Simulated(vcenter),
                    cds: EndpointKind::Simulated(cds),
                    file: None,
                    path,
                }))
            }
            (None, Some(url)) => Self::on_cds(args, url).await.map(Some),
            (Some(_), None) => Self::on_vcenter(args, loaded, stop).await,
            (Some(_), Some(url)) => {
                let mut file = read(real.hatchery.as_deref())?;
                let ours = overlay::ours(&mut file).cloned().unwrap_or_default();
                let vcenter = RealVcenter::of(args, loaded, &ours)?;
                let order = Self {
                    vcenter: EndpointKind::Real(vcenter),
                    cds: EndpointKind::Real(url.clone()),
                    file: Some(file),
                    path,
                };
                order.check()?;
                Ok(Some(order))
            }
        }
    }

    /// A real CDS; the vCenter has the templates that the file names.
    async fn on_cds(args: &Args, url: &str) -> anyhow::Result<Self> {
        let (path, file) = (args.real.hatchery.clone(), read(args.real.hatchery.as_deref())?);
        if let Err(why) = guests::real_programs().await {
            bail!("the jobs of a real CDS need guests that run them, and this machine cannot run any: {why}");
        }
        // The file's users are as right as any.
        let vcenter = SimulatedVcenter { guests: Guests::Real, model: Model::default(), guest_login: None };
        let mut order = Self {
            vcenter: EndpointKind::Simulated(vcenter),
            cds: EndpointKind::Real(url.to_owned()),
            file: Some(file),
            path,
        };
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
        if let EndpointKind::Simulated(vcenter) = &mut order.vcenter {
            vcenter.model = stack::model_with(&templates)?;
        }
        Ok(order)
    }

    /// A real vCenter, on whose templates sample jobs run.
    async fn on_vcenter(
        args: &Args,
        loaded: &Loaded,
        stop: &CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let real = &args.real;
        let mut file = match &real.hatchery {
            Some(path) => read(Some(path))?,
            None => MODEST.parse().context("the built-in settings are wrong")?,
        };
        let ours = overlay::ours(&mut file).cloned().unwrap_or_default();
        let mut vcenter = RealVcenter::of(args, loaded, &ours)?;
        let cds = SimulatedCds::beside_vcenter(real.listen, &ours)?;
        let name = cds.name.clone();
        let in_file = overlay::text(&ours, "datacenterString").map(str::to_owned);
        let in_general = loaded.settings.text("vcenter.datacenter").map(str::to_owned);
        let datacenter = vcenter.datacenter.clone().or(in_file).or(in_general);
        vcenter.datacenter = Some(datacenter.clone().unwrap_or_else(|| "the only one".to_owned()));
        let mut order = Self {
            vcenter: EndpointKind::Real(vcenter),
            cds: EndpointKind::Simulated(cds),
            file: Some(file),
            path: real.hatchery.clone(),
        };
        let settings = order.check()?;
        let target = Vcenter { datacenter: datacenter.clone(), ..vcenter_of(&settings) };
        let places =
            SiteNames { datacenter: datacenter.clone().unwrap_or_default(), ..site_names(&settings) };
        let Some(seen) = survey::survey(&target, &places, &name, stop).await? else { return Ok(None) };
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
        if let EndpointKind::Simulated(cds) = &mut self.cds {
            cds.models = choose::models(&chosen.templates);
            cds.kinds = choose::kinds(&cds.models);
        }
        let EndpointKind::Real(vcenter) = &mut self.vcenter else { return };
        vcenter.datacenter = Some(chosen.datacenter);
        if let Some(guest) = guest {
            let login = Login { user: guest.name, password: guest.password };
            let entered = chosen.unknown_guests.into_iter();
            vcenter.guests = entered.map(|template| (template, login.clone())).collect();
        }
    }

    /// What the hatchery is told, once it is known where everything is.
    pub(super) fn settings(&self, vcenter: &str, cds: &str, pages: &str) -> anyhow::Result<Settings> {
        let mut file = match &self.file {
            Some(file) => file.clone(),
            None => stack::SETTINGS.parse().context("the built-in settings are wrong")?,
        };
        // A file without our table is told below.
        if let Some(ours) = overlay::ours(&mut file) {
            overlay::lay_vcenter(ours, &self.vcenter.laid(vcenter));
            overlay::lay_cds(ours, &self.cds.laid(cds), pages);
        }
        let origin = self.path.clone().map_or(Origin::Default, Origin::File);
        Ok(settings::load(&file.to_string(), &origin, &read_secret)?.settings)
    }

    /// The name of the hatchery, if servers that others use see it.
    pub(super) fn seen_by_others(&self) -> anyhow::Result<Option<String>> {
        let real = self.vcenter.is_real() || self.cds.is_real();
        real.then(|| self.check().map(|settings| settings.identity.name)).transpose()
    }

    /// The same while that is not known yet: whether the file can be used at all.
    fn check(&self) -> anyhow::Result<Settings> {
        let vcenter = match &self.vcenter {
            EndpointKind::Simulated(_) => SOMEWHERE.to_owned(),
            EndpointKind::Real(real) => real.endpoint.to_string(),
        };
        let cds = match &self.cds {
            EndpointKind::Simulated(_) => SOMEWHERE,
            EndpointKind::Real(url) => url,
        };
        self.settings(&vcenter, cds, SOMEWHERE)
    }
}

impl EndpointKind<SimulatedVcenter, RealVcenter> {
    fn laid(&self, url: &str) -> overlay::Vcenter {
        let url = url.to_owned();
        match self {
            Self::Simulated(_) => {
                let (user, password) = stack::LOGIN;
                overlay::Vcenter::Simulated { url, user, password, datacenter: stack::DATACENTER }
            }
            Self::Real(real) => overlay::Vcenter::Real {
                url,
                login: real.login.clone(),
                trust: real.trust.clone(),
                datacenter: real.datacenter.clone(),
                guests: real.guests.clone(),
            },
        }
    }
}

impl EndpointKind<SimulatedCds, String> {
    fn laid(&self, url: &str) -> overlay::Cds {
        let url = url.to_owned();
        match self {
            Self::Simulated(cds) => overlay::Cds::Simulated {
                url,
                key: cds.key.clone(),
                tokens: (cds.tokens.0.clone().into(), cds.tokens.1.clone().into()),
                name: cds.name.clone(),
                region: cds.region.clone(),
            },
            Self::Real(_) => overlay::Cds::Real { url },
        }
    }
}

impl RealVcenter {
    /// Who logs in, and why it is trusted: as the command line says, else as the file does, else as in general.
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

impl SimulatedCds {
    /// Beside a simulated vCenter: it is reached from this machine alone, so that its tokens are no secret.
    fn of_stack() -> anyhow::Result<Self> {
        Ok(Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            name: stack::NAME.to_owned(),
            region: stack::REGION.to_owned(),
            tokens: ("v1-token".to_owned(), "v2-token".to_owned()),
            key: stack::pem(&stack::new_key()?)?.into(),
            models: stack::models(),
            registers: true,
            patient: false,
            identity: None,
            kinds: stack::kinds(),
        })
    }

    /// Beside a real one: guests elsewhere turn to it, and nobody else should.
    fn beside_vcenter(listen: Option<SocketAddr>, file: &Table) -> anyhow::Result<Self> {
        let said = |path: &[&str], name| overlay::common(file, path, name).map(str::to_owned);
        Ok(Self {
            listen: listen.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            name: said(&[], "name").unwrap_or_else(|| format!("up-{}", hostname())),
            region: said(&["provision"], "region").unwrap_or_else(|| stack::REGION.to_owned()),
            tokens: (token()?, token()?),
            registers: false,
            patient: true,
            // Jobs are fewer than milliseconds: those of the next run come after all of these.
            identity: Some((random()?, Clock::system().now().as_millisecond())),
            models: vec![],
            kinds: vec![],
            ..Self::of_stack()?
        })
    }
}

fn token() -> anyhow::Result<String> {
    Ok(format!("{:016x}{:016x}", random()?, random()?))
}

fn random() -> anyhow::Result<u64> {
    let mut bytes = [0_u8; 8];
    SysRng.try_fill_bytes(&mut bytes).context("the system gives no random numbers")?;
    Ok(u64::from_le_bytes(bytes))
}

/// The hatchery's file.
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
