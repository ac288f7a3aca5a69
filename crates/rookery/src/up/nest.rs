//! Both simulators and a hatchery between them, in this process.
//!
//! ```text
//!   jobs ─► simulated CDS ◄── HTTP ──► hatchery ◄── SOAP ──► simulated vCenter
//!                 ▲                                                 │
//!                 └──────────── workers in simulated guests ◄───────┘
//! ```

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::{BuiltinConsumer, CodeModel, Config, HatcheryConsumer, SigningKey, Times};
use rookery_daemon::settings::{Origin, read_secret};
use rookery_daemon::{Clock, Supervisor};
use rookery_hatchery::run::{self, Parts, Policy};
use rookery_hatchery::settings::{self, Settings};
use rookery_vim_client::{Endpoint, TcpDial, Trust};
use rookery_vim_sim::server::Blobs;
use rookery_vim_sim::{Durations, GuestTimes, Login, Model, ProgramRule, Span};
use tokio::net::TcpListener;

use super::guests::{self, Guests};

/// A small company's vCenter.
const MODEL: &str = include_str!("nest.toml");
/// The user and password are no secret: it listens to this machine alone.
pub(super) const LOGIN: (&str, &str) = ("me", "simulated");
/// Who enters guests.
const GUEST: (&str, &str) = ("ci", "simulated");
/// What the hatchery is called.
pub(super) const NAME: &str = "nest";
/// Where jobs of the second protocol run.
pub(super) const REGION: &str = "here";
/// The V1 model, which the hatchery must register before it can be used.
pub(super) const V1_MODEL: &str = "builder";
/// The V2 models, and the templates that they are cloned from.
pub(super) const V2_MODELS: [(&str, &str); 2] =
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
pub(super) struct Nest {
    /// The simulated vCenter.
    pub(super) vcenter: rookery_vim_sim::server::Running,
    /// Where it is.
    pub(super) vcenter_url: String,
    /// The simulated CDS.
    pub(super) cds: rookery_cds_sim::Running,
    /// Where it is.
    pub(super) cds_url: String,
    /// The hatchery.
    pub(super) hatchery: run::Running,
    /// Where its pages are.
    pub(super) pages_url: String,
    /// How programs run in guests.
    pub(super) guests: Guests,
    /// Who runs the simulators, and whatever else should end with them.
    pub(super) supervisor: Supervisor,
}

impl Nest {
    /// Starts everything.
    pub(super) async fn start(guests: Guests, seed: u64) -> anyhow::Result<Self> {
        let supervisor = Supervisor::new();
        let started = Self::start_in(&supervisor, guests, seed).await;
        if started.is_err() {
            supervisor.shutdown(LINGER).await.ok();
        }
        started
    }

    async fn start_in(supervisor: &Supervisor, guests: Guests, seed: u64) -> anyhow::Result<Self> {
        let (vcenter, vcenter_url) = vcenter(supervisor, guests, seed).await?;
        let (cds, cds_url) = cds(supervisor, seed).await?;
        if guests == Guests::Scripted {
            guests::play(&vcenter, supervisor);
        }
        let (listener, pages_url) = listen().await?;
        let key = pem(&new_key()?)?;
        let settings = read(&settings_text(&vcenter_url, &cds_url, &pages_url, &key))?;
        let parts = Parts {
            settings,
            vcenter: dial(&vcenter_url)?,
            cds: dial(&cds_url)?,
            clock: Clock::system(),
            random: StdRng::seed_from_u64(seed),
            listener: Some(listener),
            instance: format!("up-{}", std::process::id()),
            hostname: "localhost".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            policy: Policy::Refuse,
            folder: None,
        };
        let hatchery = run::start(parts, &supervisor.child()).await.context("the hatchery does not start")?;
        let supervisor = supervisor.clone();
        Ok(Self { vcenter, vcenter_url, cds, cds_url, hatchery, pages_url, guests, supervisor })
    }

    /// Ends everything: the hatchery first, which says goodbye.
    pub(super) async fn stop(self) {
        self.hatchery.stop().await;
        self.supervisor.shutdown(LINGER).await.ok();
    }
}

/// A vCenter that takes about as long as a quick real one, and forgets nothing.
async fn vcenter(
    supervisor: &Supervisor,
    guests: Guests,
    seed: u64,
) -> anyhow::Result<(rookery_vim_sim::server::Running, String)> {
    let between =
        |least, most| Span::Between(SignedDuration::from_millis(least), SignedDuration::from_millis(most));
    let played = ProgramRule { arguments: "*worker*".to_owned(), announced: true, ..ProgramRule::default() };
    let settings = rookery_vim_sim::Settings {
        seed,
        login: Some((LOGIN.0.to_owned(), LOGIN.1.to_owned())),
        guest_login: Some(Login { user: GUEST.0.to_owned(), password: GUEST.1.to_owned() }),
        allow_local_exec: guests == Guests::Real,
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
    let model: Model = toml::from_str(MODEL).context("the built-in model cannot be read")?;
    let clock = rookery_vim_sim::Clock::real(Clock::system());
    let world = model.build(settings, clock.now()).context("the model makes no vCenter")?;
    let (listener, url) = listen().await?;
    let folder = std::env::temp_dir().join(format!("rookery-up-{}", std::process::id()));
    let blobs = Blobs::in_folder(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
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

async fn cds(supervisor: &Supervisor, seed: u64) -> anyhow::Result<(rookery_cds_sim::Running, String)> {
    let (listener, url) = listen().await?;
    let builtin =
        BuiltinConsumer { name: NAME.to_owned(), token: "v1-token".into(), ..BuiltinConsumer::default() };
    let hatchery = HatcheryConsumer {
        name: NAME.to_owned(),
        token: "v2-token".into(),
        region: Some(REGION.to_owned()),
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
    let config = Config {
        url: url.clone(),
        builtin: vec![builtin],
        hatcheries: vec![hatchery],
        models: vec![builder],
        code_models: V2_MODELS.iter().map(|(path, image)| CodeModel::vsphere(path, image)).collect(),
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
        ..Config::default()
    };
    let clock = rookery_cds_sim::Clock::wall(Clock::system());
    let world = rookery_cds_sim::World::new(config, new_key()?, clock.now());
    let running = rookery_cds_sim::Running::start(world, clock, supervisor);
    running.serve(listener);
    Ok((running, url))
}

/// A new RSA key, which takes a moment.
fn new_key() -> anyhow::Result<SigningKey> {
    SigningKey::generate().context("no key could be made")
}

fn pem(key: &SigningKey) -> anyhow::Result<String> {
    let body = STANDARD.encode(key.to_pkcs8().context("the key cannot be written")?);
    // Lines need not be short for anybody who reads this.
    Ok(format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"))
}

async fn listen() -> anyhow::Result<(TcpListener, String)> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(any).await.context("there is no free port on this machine")?;
    let url = format!("http://{}", listener.local_addr().context("the listener has no address")?);
    Ok((listener, url))
}

fn dial(url: &str) -> anyhow::Result<Arc<TcpDial>> {
    let (endpoint, _) = Endpoint::parse(url)?;
    // There is no TLS on the way to this very process.
    Ok(Arc::new(TcpDial::new(endpoint, &Trust::Insecure)?))
}

fn read(text: &str) -> anyhow::Result<Settings> {
    let loaded = settings::load(text, &Origin::Default, &read_secret);
    loaded
        .map(|loaded| loaded.settings)
        .map_err(|problems| anyhow!("the built-in settings are wrong: {problems}"))
}

/// The file that a real hatchery between these two would have.
fn settings_text(vcenter: &str, cds: &str, pages: &str, key: &str) -> String {
    let (user, password) = LOGIN;
    let (guest, guest_password) = GUEST;
    format!(
        r#"user = "{user}"
password = "{password}"
endpoint = "{vcenter}"
datacenterString = "Rook"
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

[commonConfiguration]
name = "{NAME}"
url = "{pages}"
rsaPrivateKey = """
{key}"""
[commonConfiguration.api]
token = "v1-token"
tokenV2 = "v2-token"
[commonConfiguration.api.http]
url = "{cds}"
[commonConfiguration.provision]
maxWorker = 16
maxConcurrentProvisioning = 10
region = "{REGION}"
registerFrequency = 2

[[workerProvisioning]]
modelVMWare = "debian-12"
number = 3
[[workerProvisioning]]
modelVMWare = "rocky-9"
number = 2
[[workerProvisioning]]
modelPath = "shared.infra/{V1_MODEL}"
number = 1

[[guestCredentials]]
modelVMWare = "debian-12"
username = "{guest}"
password = "{guest_password}"
[[guestCredentials]]
modelVMWare = "rocky-9"
username = "{guest}"
password = "{guest_password}"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_settings_and_the_model_can_be_used() {
        let model: Model = toml::from_str(MODEL).expect("it is a model");
        model.build(rookery_vim_sim::Settings::default(), jiff::Timestamp::UNIX_EPOCH).expect("a world");
        let key = pem(&new_key().expect("a key")).expect("text");
        let text = settings_text("http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3", &key);
        read(&text).expect("settings");
    }
}
