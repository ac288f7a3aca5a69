//! A simulated CDS as a part of `up`, and what it takes to be served by a hatchery.

use std::future::pending;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::LocalBoxFuture;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_cds_sim::{
    BuiltinConsumer, CodeModel, Config, Control, Fault, HatcheryConsumer, Protocol, Running, SigningKey,
    Times, Token, Trouble,
};
use rookery_daemon::{Clock, Supervisor};
use secrecy::SecretString;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use toml::Table;

use super::overlay;
use crate::Ending;
use crate::hatchery::hostname;
use crate::live::Page;
use crate::sim::{instance, token};
use crate::up::part::{Calm, News, Part, Removal};
use crate::up::stack::listen;
use crate::up::vcenter::GUEST;

/// Of the hatchery that `up` runs.
const NAME: &str = "nest";
/// The region of V2 jobs.
const REGION: &str = "here";
/// The V1 model, which the hatchery must register before it can be used.
const V1_MODEL: &str = "builder";
/// The V2 models, and the templates that they are cloned from.
const V2_MODELS: [(&str, &str); 2] =
    [("DEMO/github/rookery/samples/debian", "debian-12"), ("DEMO/github/rookery/samples/rocky", "rocky-9")];
/// A free port of this machine alone.
const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// How long tasks get to end.
const LINGER: Duration = Duration::from_secs(2);

/// The script of the V1 model: downloads the worker and starts it.
const FETCH: &str = "#!/bin/sh
worker={{.API}}/download/worker/linux/amd64
if command -v curl >/dev/null; then curl -s -f --retry 10 -o /tmp/worker \"$worker\"; else wget -q -t 10 -O /tmp/worker \"$worker\"; fi
chmod +x /tmp/worker";

pub(in crate::up) struct Simulation {
    listen: SocketAddr,
    /// As whom the hatchery signs in.
    pub(in crate::up) sign_in: SignIn,
    pub(in crate::up) models: Vec<CodeModel>,
    /// Whether there is also a V1 model, which the hatchery must register.
    registers: bool,
    /// Whether to use CDS's usual time-outs: real machines may take minutes to start.
    patient: bool,
    /// The seed of identifiers and the number before that of the first job. A real vCenter may hold machines of an earlier
    /// run, which must not match jobs of this one. `None`: the seed of `up`, and 0.
    identity: Option<(u64, i64)>,
    /// What sample jobs ask for, in turns.
    pub(in crate::up) kinds: Vec<(Protocol, String)>,
}

pub(in crate::up) struct SignIn {
    pub(super) name: String,
    pub(super) region: String,
    pub(super) tokens: (String, String),
    /// The key that the hatchery signs with, in PEM.
    pub(super) key: SecretString,
}

impl Simulation {
    /// Listens on this machine alone, so that its tokens need not be secret.
    pub(in crate::up) fn beside_simulated_vcenter() -> anyhow::Result<Self> {
        Ok(Self {
            listen: LOCAL,
            sign_in: SignIn {
                name: NAME.to_owned(),
                region: REGION.to_owned(),
                tokens: ("v1-token".to_owned(), "v2-token".to_owned()),
                key: new_pem()?,
            },
            models: V2_MODELS.iter().map(|(path, image)| CodeModel::vsphere(path, image)).collect(),
            registers: true,
            patient: false,
            identity: None,
            kinds: kinds(),
        })
    }

    /// Guests on other machines connect to it, so that its tokens are random.
    pub(in crate::up) fn beside_real_vcenter(
        listen: Option<SocketAddr>,
        file: &Table,
    ) -> anyhow::Result<Self> {
        let said = |path: &[&str], name| overlay::common(file, path, name).map(str::to_owned);
        Ok(Self {
            listen: listen.unwrap_or(LOCAL),
            sign_in: SignIn {
                name: said(&[], "name").unwrap_or_else(|| format!("up-{}", hostname())),
                region: said(&["provision"], "region").unwrap_or_else(|| REGION.to_owned()),
                tokens: (token()?, token()?),
                key: new_pem()?,
            },
            models: vec![],
            registers: false,
            patient: true,
            // Jobs are fewer than milliseconds: those of the next run come after all of these.
            identity: Some((instance()?, Clock::system().now().as_millisecond())),
            kinds: vec![],
        })
    }
}

pub(in crate::up) struct Cds {
    pub(in crate::up) url: String,
    pub(in crate::up) running: Running,
    /// The seed of injected faults; `None`: no faults.
    faults: Option<u64>,
    calm: CancellationToken,
    supervisor: Supervisor,
}

impl Cds {
    pub(in crate::up) async fn start(
        simulation: &Simulation,
        seed: u64,
        faults: bool,
        supervisor: Supervisor,
    ) -> anyhow::Result<Self> {
        let (running, url) = serve(&supervisor, simulation, seed).await?;
        let (faults, calm) = (faults.then_some(seed), CancellationToken::new());
        Ok(Self { url, running, faults, calm, supervisor })
    }

    /// Injects faults until it is dropped: the simulator applies some to calls, and this loop causes the others.
    async fn trouble(&self, mut random: StdRng) {
        for fault in faults() {
            self.running.control(Control::AddFault(fault)).await;
        }
        loop {
            sleep(Duration::from_millis(random.random_range(2000..6000))).await;
            let control = match random.random_range(0..10) {
                0 => Control::ExpireSessions,
                1 | 2 => Control::Restart { keep_sessions: true },
                _ => Control::DropSockets { politely: random.random() },
            };
            self.running.control(control).await;
        }
    }
}

impl Part for Cds {
    fn name(&self) -> &'static str {
        "the simulated CDS"
    }

    fn run<'a>(&'a self, _: &'a News) -> LocalBoxFuture<'a, anyhow::Error> {
        Box::pin(async {
            if let Some(seed) = self.faults {
                self.calm.run_until_cancelled(self.trouble(StdRng::seed_from_u64(seed))).await;
            }
            pending().await
        })
    }

    fn calm(&self) -> LocalBoxFuture<'_, Calm> {
        Box::pin(async {
            self.calm.cancel();
            let cleared = self.running.control(Control::ClearFaults).await;
            let met = cleared.and_then(|reply| reply.value()["met"].as_u64()).unwrap_or_default();
            Calm { news: None, trouble: self.faults.map(|_| format!("{met} calls to CDS")) }
        })
    }

    fn dump(&self) -> LocalBoxFuture<'_, anyhow::Result<Option<(&'static str, String)>>> {
        Box::pin(async {
            let dump = self.running.control(Control::Dump).await.context("the simulated CDS has ended")?;
            Ok(Some(("cds.json", dump.value().to_string())))
        })
    }

    fn stop<'p>(
        self: Box<Self>,
        _: Removal,
        _: &'p mut Page<'_>,
    ) -> LocalBoxFuture<'p, anyhow::Result<Ending>> {
        Box::pin(async move {
            self.supervisor.shutdown(LINGER).await.ok();
            Ok(Ending::Done)
        })
    }
}

/// The faults injected into calls and their probabilities.
fn faults() -> Vec<Fault> {
    let fault = |chance, trouble| Fault { method: None, path: "*".to_owned(), times: None, chance, trouble };
    vec![
        fault(0.02, Trouble::Error { status: 500, id: 1 }),
        fault(0.02, Trouble::Html { status: 502 }),
        fault(0.01, Trouble::Maintenance),
        fault(0.02, Trouble::LostReply),
        fault(0.02, Trouble::Dropped),
        fault(0.05, Trouble::Slow { milliseconds: 1500 }),
    ]
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

async fn serve(supervisor: &Supervisor, wanted: &Simulation, seed: u64) -> anyhow::Result<(Running, String)> {
    let (listener, url) = listen(wanted.listen).await?;
    let SignIn { name, region, tokens: (v1, v2), .. } = &wanted.sign_in;
    let builtin =
        BuiltinConsumer { name: name.clone(), token: Token(v1.clone()), ..BuiltinConsumer::default() };
    let hatchery = HatcheryConsumer {
        name: name.clone(),
        token: Token(v2.clone()),
        region: Some(region.clone()),
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
    // A worker that was lost is missed before whoever looks on has gone.
    let hasty = Times {
        model_booking: 20,
        silent_worker: 45,
        disabled_worker: 10,
        booking: 30,
        scheduling: 60,
        ..Times::default()
    };
    let config = Config {
        url: url.clone(),
        builtin: vec![builtin],
        hatcheries: vec![hatchery],
        models: Some(builder).filter(|_| wanted.registers).into_iter().collect(),
        code_models: wanted.models.clone(),
        times: if wanted.patient { Times::default() } else { hasty },
        seed,
        numbers_after,
        ..Config::default()
    };
    let clock = rookery_cds_sim::Clock::wall(Clock::system());
    let world = rookery_cds_sim::World::new(config, new_key()?, clock.now());
    let running = Running::start(world, clock, supervisor);
    running.serve(listener);
    Ok((running, url))
}

/// Generates an RSA key, which takes up to a second.
fn new_key() -> anyhow::Result<SigningKey> {
    SigningKey::generate().context("no key could be made")
}

fn new_pem() -> anyhow::Result<SecretString> {
    let body = STANDARD.encode(new_key()?.to_pkcs8().context("the key cannot be written")?);
    // Lines need not be short for anybody who reads this.
    Ok(format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n").into())
}
