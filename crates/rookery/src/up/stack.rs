//! A hatchery between a CDS and a vCenter; what of them is simulated runs in this process, too.
//!
//! ```text
//!   jobs ─► simulated CDS ◄── HTTP ──► hatchery ◄── SOAP ──► simulated vCenter
//!                 ▲                                                 │
//!                 └──────────── workers in simulated guests ◄───────┘
//! ```

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::{
    BuiltinConsumer, CodeModel, Config, HatcheryConsumer, Protocol, SigningKey, Times, Token,
};
use rookery_daemon::{Clock, Supervisor};
use rookery_hatchery::run::{self, Policy};
use rookery_hatchery::settings::Settings;
use rookery_vim_sim::server::Blobs;
use rookery_vim_sim::{Durations, GuestTimes, Login, Model, ProgramRule, Span};
use tokio::net::TcpListener;

use super::endpoint_kind::EndpointKind;
use super::guests::{self, Guests};
use super::order::{Order, SimulatedCds, SimulatedVcenter};
use super::page::Endpoints;
use crate::hatchery::{hostname, parts, sign_in};

/// A small company's vCenter.
const MODEL: &str = include_str!("vcenter.toml");
/// The user and password are no secret: it listens to this machine alone.
pub(super) const LOGIN: (&str, &str) = ("me", "simulated");
/// Who enters guests.
const GUEST: (&str, &str) = ("ci", "simulated");
/// What the hatchery is called.
pub(super) const NAME: &str = "nest";
/// Where jobs of the second protocol run.
pub(super) const REGION: &str = "here";
/// The V1 model, which the hatchery must register before it can be used.
const V1_MODEL: &str = "builder";
/// The datacenter of the simulated vCenter.
pub(super) const DATACENTER: &str = "Rook";
/// The V2 models, and the templates that they are cloned from.
const V2_MODELS: [(&str, &str); 2] =
    [("DEMO/github/rookery/samples/debian", "debian-12"), ("DEMO/github/rookery/samples/rocky", "rocky-9")];
/// How long tasks get to end.
const LINGER: Duration = Duration::from_secs(2);

/// The commands of the V1 model: a worker is fetched and run.
const FETCH: &str = "#!/bin/sh
worker={{.API}}/download/worker/linux/amd64
if command -v curl >/dev/null; then curl -s -f --retry 10 -o /tmp/worker \"$worker\"; else wget -q -t 10 -O /tmp/worker \"$worker\"; fi
chmod +x /tmp/worker";

/// Everything that runs.
#[derive(Debug)]
pub(super) struct Stack {
    /// The vCenter.
    pub(super) vcenter: EndpointKind<rookery_vim_sim::server::Running, ()>,
    /// Where it is.
    pub(super) vcenter_url: String,
    /// The CDS.
    pub(super) cds: EndpointKind<rookery_cds_sim::Running, ()>,
    /// Where it is.
    pub(super) cds_url: String,
    /// The hatchery.
    pub(super) hatchery: run::Running,
    /// What it was told.
    pub(super) settings: Settings,
    /// Where its pages are.
    pub(super) pages_url: String,
    /// How programs run in simulated guests.
    pub(super) guests: Option<Guests>,
    /// Who runs the simulators, and whatever else should end with them.
    pub(super) supervisor: Supervisor,
}

impl Stack {
    /// Starts everything under the supervisor, which is stopped if that fails.
    /// `instance` tells the hatchery from others of its name.
    pub(super) async fn start(
        order: &Order,
        instance: &str,
        seed: u64,
        supervisor: &Supervisor,
    ) -> anyhow::Result<Self> {
        let started = Self::start_in(supervisor, order, instance, seed).await;
        if started.is_err() {
            supervisor.shutdown(LINGER).await.ok();
        }
        started
    }

    async fn start_in(
        supervisor: &Supervisor,
        order: &Order,
        instance: &str,
        seed: u64,
    ) -> anyhow::Result<Self> {
        let (vcenter, vcenter_url, guests) = match &order.vcenter {
            EndpointKind::Simulated(wanted) => {
                let (running, url) = vcenter(supervisor, wanted, seed).await?;
                if wanted.guests == Guests::Scripted {
                    guests::play(&running, supervisor);
                }
                (EndpointKind::Simulated(running), url, Some(wanted.guests))
            }
            EndpointKind::Real(real) => (EndpointKind::Real(()), real.endpoint.to_string(), None),
        };
        let (cds, cds_url) = match &order.cds {
            EndpointKind::Simulated(wanted) => {
                let (running, url) = cds(supervisor, wanted, seed).await?;
                (EndpointKind::Simulated(running), url)
            }
            EndpointKind::Real(url) => (EndpointKind::Real(()), url.clone()),
        };
        let (listener, pages_url) = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let settings = order.settings(&vcenter_url, &cds_url, &pages_url)?;
        if cds.is_real() {
            // A hatchery waits for its CDS; whoever sits here wants to know.
            sign_in(&settings).await?;
        }
        let mut parts = parts(settings.clone(), instance.to_owned(), hostname(), Policy::Refuse)?;
        (parts.random, parts.listener) = (StdRng::seed_from_u64(seed), Some(listener));
        if !vcenter.is_real() {
            // What is to be kept there goes with it.
            parts.folder = None;
        }
        let hatchery = run::start(parts, &supervisor.child()).await.context("the hatchery does not start")?;
        let supervisor = supervisor.clone();
        Ok(Self { vcenter, vcenter_url, cds, cds_url, hatchery, settings, pages_url, guests, supervisor })
    }

    /// Where everything is.
    pub(super) fn endpoints(&self) -> Endpoints<'_> {
        let end = |real, url| if real { EndpointKind::Real(url) } else { EndpointKind::Simulated(url) };
        Endpoints {
            vcenter: end(self.vcenter.is_real(), self.vcenter_url.as_str()),
            cds: end(self.cds.is_real(), self.cds_url.as_str()),
            pages: &self.pages_url,
        }
    }

    /// Endpoints everything: the hatchery first, which says goodbye.
    pub(super) async fn stop(self) {
        self.hatchery.stop().await;
        self.supervisor.shutdown(LINGER).await.ok();
    }
}

/// The only one who may enter the guests of the built-in templates.
pub(super) fn guest_login() -> Login {
    Login { user: GUEST.0.to_owned(), password: GUEST.1.to_owned() }
}

/// What the simulated vCenter holds.
pub(super) fn model() -> anyhow::Result<Model> {
    toml::from_str(MODEL).context("the built-in model cannot be read")
}

/// The same with other templates.
pub(super) fn model_with(templates: &BTreeSet<String>) -> anyhow::Result<Model> {
    let mut model = model()?;
    let vms = model.datacenters.iter_mut().find(|datacenter| datacenter.name == DATACENTER);
    let vms = &mut vms.context("the built-in model has no datacenter")?.vms;
    let pattern = vms.iter().find(|vm| vm.template).cloned().context("the built-in model has no template")?;
    vms.retain(|vm| !vm.template && !templates.contains(&vm.name));
    vms.extend(
        templates.iter().map(|name| rookery_vim_sim::VmModel { name: name.clone(), ..pattern.clone() }),
    );
    Ok(model)
}

/// The models of sample jobs.
pub(super) fn models() -> Vec<CodeModel> {
    V2_MODELS.iter().map(|(path, image)| CodeModel::vsphere(path, image)).collect()
}

/// What sample jobs ask for, in turns.
pub(super) fn kinds() -> Vec<(Protocol, String)> {
    let [(debian, _), (rocky, _)] = V2_MODELS;
    vec![
        (Protocol::V2, debian.to_owned()),
        (Protocol::V2, rocky.to_owned()),
        (Protocol::V1, V1_MODEL.to_owned()),
        // Jobs of the first protocol may name a model of the second one, and its branch if that is not `master`.
        (Protocol::V1, format!("{debian}@main")),
    ]
}

/// A vCenter that takes about as long as a quick real one, and forgets nothing.
async fn vcenter(
    supervisor: &Supervisor,
    wanted: &SimulatedVcenter,
    seed: u64,
) -> anyhow::Result<(rookery_vim_sim::server::Running, String)> {
    let between =
        |least, most| Span::Between(SignedDuration::from_millis(least), SignedDuration::from_millis(most));
    let played = ProgramRule { arguments: "*worker*".to_owned(), announced: true, ..ProgramRule::default() };
    let settings = rookery_vim_sim::Settings {
        seed,
        login: Some((LOGIN.0.to_owned(), LOGIN.1.to_owned())),
        guest_login: wanted.guest_login.clone(),
        allow_local_exec: wanted.guests == Guests::Real,
        programs: vec![played],
        durations: Durations {
            clone: between(400, 1200),
            reconfigure: between(50, 150),
            power: between(100, 300),
            snapshot: between(100, 200),
            destroy: between(100, 300),
            ..Durations::default()
        },
        guests: GuestTimes {
            tools: between(500, 1500),
            operations: between(50, 200),
            addresses: between(50, 200),
            shutdown: between(50, 200),
            ..GuestTimes::default()
        },
        ..rookery_vim_sim::Settings::default()
    };
    let clock = rookery_vim_sim::Clock::real(Clock::system());
    let world = wanted.model.build(settings, clock.now()).context("the model makes no vCenter")?;
    let (listener, url) = listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
    let blobs = Blobs::temporary().context("no temporary folder can be made")?;
    let running = rookery_vim_sim::server::Running::start(world, clock, blobs, supervisor);
    let (serving, over) = (running.clone(), supervisor.token());
    supervisor.spawn("listener of the simulated vCenter", async move {
        tokio::select! {
            biased;
            () = over.cancelled() => {}
            () = serving.serve(listener, None) => {}
        }
    });
    Ok((running, url))
}

async fn cds(
    supervisor: &Supervisor,
    wanted: &SimulatedCds,
    seed: u64,
) -> anyhow::Result<(rookery_cds_sim::Running, String)> {
    let (listener, url) = listen(wanted.listen).await?;
    let (v1, v2) = (Token(wanted.tokens.0.clone()), Token(wanted.tokens.1.clone()));
    let builtin = BuiltinConsumer { name: wanted.name.clone(), token: v1, ..BuiltinConsumer::default() };
    let hatchery = HatcheryConsumer {
        name: wanted.name.clone(),
        token: v2,
        region: Some(wanted.region.clone()),
        ..HatcheryConsumer::default()
    };
    let builder = rookery_cds_sim::Model {
        name: V1_MODEL.to_owned(),
        image: "debian-12".to_owned(),
        pre_cmd: FETCH.to_owned(),
        cmd: "PATH=$PATH /tmp/worker".to_owned(),
        user: GUEST.0.to_owned(),
        password: GUEST.1.to_owned(),
        need_registration: true,
        ..rookery_cds_sim::Model::default()
    };
    let (seed, numbers_after) = wanted.identity.unwrap_or((seed, 0));
    let config = Config {
        url: url.clone(),
        builtin: vec![builtin],
        hatcheries: vec![hatchery],
        models: Some(builder).filter(|_| wanted.registers).into_iter().collect(),
        code_models: wanted.models.clone(),
        // Short, as everything here: a worker that was lost is missed before whoever looks on has gone.
        times: Times {
            model_booking: 20,
            silent_worker: 45,
            disabled_worker: 10,
            booking: 30,
            scheduling: 60,
            ..Times::default()
        },
        seed,
        numbers_after,
        ..Config::default()
    };
    let config = if wanted.patient { Config { times: Times::default(), ..config } } else { config };
    let clock = rookery_cds_sim::Clock::wall(Clock::system());
    let world = rookery_cds_sim::World::new(config, new_key()?, clock.now());
    let running = rookery_cds_sim::Running::start(world, clock, supervisor);
    running.serve(listener);
    Ok((running, url))
}

/// A new RSA key, which takes a moment.
pub(super) fn new_key() -> anyhow::Result<SigningKey> {
    SigningKey::generate().context("no key could be made")
}

pub(super) fn pem(key: &SigningKey) -> anyhow::Result<String> {
    let body = STANDARD.encode(key.to_pkcs8().context("the key cannot be written")?);
    // Lines need not be short for anybody who reads this.
    Ok(format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"))
}

async fn listen(at: SocketAddr) -> anyhow::Result<(TcpListener, String)> {
    let listener = TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}"))?;
    let url = format!("http://{}", listener.local_addr().context("the listener has no address")?);
    Ok((listener, url))
}

/// The file that a hatchery between the two simulators would have, without what is known only once they run.
pub(super) const SETTINGS: &str = r#"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_can_be_used_and_have_other_templates() {
        let build = |model: Model| {
            model.build(rookery_vim_sim::Settings::default(), jiff::Timestamp::UNIX_EPOCH).expect("a world");
        };
        build(model().expect("a model"));
        let names = BTreeSet::from(["centos".to_owned(), "web-1".to_owned()]);
        let model = model_with(&names).expect("a model");
        let templates =
            model.datacenters.iter().flat_map(|datacenter| &datacenter.vms).filter(|vm| vm.template);
        assert_eq!(templates.map(|vm| vm.name.clone()).collect::<BTreeSet<_>>(), names);
        build(model);
    }
}
