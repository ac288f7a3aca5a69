use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use rookery_cds_sim::worker::{Step, Task};
use rookery_cds_sim::{
    BuiltinConsumer, CodeModel, Config, HatcheryConsumer, Job, NewJob, Protocol, SigningKey,
};
use rookery_daemon::settings::Origin;
use rookery_daemon::{Clock, Supervisor};
use rookery_fleet_vsphere::Vcenters;
use rookery_hatchery::run::{Parts, Policy, Running, StartError, serve_pages, start};
use rookery_hatchery::settings::{self, Settings};
use rookery_kit::{Finding, Govc, Guest, Life, Vcsim, Wire, World, WorldOptions, eventually};
use rookery_vim_client::{Dial, Endpoint, TcpDial, Trust};
use rookery_vim_sim::{Announced, Durations, Login, Span};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::sleep;

/// A pair of simulators: a vCenter with templates, and a CDS with models.
#[derive(Debug)]
pub struct Lab {
    /// The vCenter and its guests.
    pub world: World,
    pub cds: rookery_cds_sim::Running,
    pub cds_url: String,
    options: LabOptions,
    /// Whether both are reached by pipes alone.
    is_paused: bool,
    closed: bool,
}

/// What a lab is like.
#[derive(Debug, Clone)]
pub struct LabOptions {
    /// Whether there are V1 jobs.
    pub v1: bool,
    /// Whether there are V2 jobs.
    pub v2: bool,
    /// The vCenter, as a model file describes it.
    pub model: String,
    /// How long ago all that is in there was made.
    pub age: SignedDuration,
    /// How the vCenter behaves.
    pub vcenter: rookery_vim_sim::Settings,
    /// How the CDS behaves, beside its consumers and usual models.
    pub cds: Config,
    /// More settings of the hatchery: what stands at the top of the file.
    pub settings: String,
    /// More settings of the hatchery: what stands in tables of its own.
    pub tables: String,
}

/// A hatchery at work in a lab.
#[derive(Debug)]
pub struct Scene {
    pub hatchery: Running,
    /// Where its pages are.
    pub url: String,
    supervisor: Supervisor,
}

/// A small vCenter with two templates and somebody else's VM.
const MODEL: &str = r#"
[[datacenter]]
name = "DC0"
networks = ["VM Network"]
folders = ["workers"]

[[datacenter.datastore]]
name = "fast"
capacity = "8TiB"

[[datacenter.cluster]]
name = "C0"

[[datacenter.cluster.host]]
name = "esx-1"
memory = "512GiB"

[[datacenter.vm]]
name = "debian12"
template = true
cpus = 2
memory = "2GiB"
disks = ["10GiB"]
guest-id = "debian12_64Guest"
snapshots = ["base"]

[[datacenter.vm]]
name = "rocky9"
template = true
cpus = 1
memory = "1GiB"
disks = ["10GiB"]
guest-id = "rockylinux_64Guest"
snapshots = ["base"]

[[datacenter.vm]]
name = "jumphost"
on = true
annotation = "ask Jane before touching it"
"#;

impl Default for LabOptions {
    fn default() -> Self {
        Self {
            v1: true,
            v2: true,
            model: MODEL.to_owned(),
            age: SignedDuration::ZERO,
            vcenter: rookery_vim_sim::Settings {
                login: Some((Vcsim::USER.to_owned(), Vcsim::PASSWORD.to_owned())),
                guest_login: Some(Login { user: "debian".to_owned(), password: "guest-secret".to_owned() }),
                allow_local_exec: true,
                ..rookery_vim_sim::Settings::default()
            },
            cds: Config::default(),
            settings: String::new(),
            tables: String::new(),
        }
    }
}

impl Lab {
    /// The name of the hatchery.
    pub const NAME: &str = "hatchery-lab";
    /// The path of a V2 model that is cloned from `debian12`.
    pub const DEBIAN: &str = "PRJ/github/org/app/debian12";
    /// The path of a V2 model that is cloned from `rocky9`.
    pub const ROCKY: &str = "PRJ/github/org/app/rocky9";

    /// Starts both simulators on free ports.
    pub async fn start(options: LabOptions) -> Self {
        let (listener, vcenter_url) = listen().await;
        let (cds_listener, cds_url) = listen().await;
        let world = World::real(world(&options), &Clock::system(), vcenter_url);
        let lab = Self::build(options, world, Clock::system(), cds_url, false);
        lab.world.serve(listener);
        lab.cds.serve(cds_listener);
        lab
    }

    /// Both simulators on paused time, reached by pipes alone. Workers are played.
    pub fn paused(mut options: LabOptions) -> Self {
        // What follows each other must not share a moment: nobody could tell whether one ended before the other began.
        let moment = Duration::from_millis(10);
        if options.vcenter.durations == Durations::default() {
            let moment = Span::Constant(SignedDuration::from_millis(10));
            options.vcenter.durations = Durations {
                clone: moment,
                reconfigure: moment,
                power: moment,
                destroy: moment,
                ..Durations::default()
            };
        }
        Self::paused_at(
            options,
            Self::paused_from(),
            Pace { boot: moment, work: moment, life: Duration::ZERO },
        )
    }

    /// When paused time begins.
    pub fn paused_from() -> Timestamp {
        "2031-02-03T04:05:06Z".parse().expect("a time")
    }

    pub(crate) fn paused_at(mut options: LabOptions, start: Timestamp, pace: Pace) -> Self {
        options.vcenter.allow_local_exec = false;
        options.vcenter.programs.insert(0, World::played("*worker*"));
        let clock = Clock::simulated(start);
        let world = World::paused(world(&options), &clock);
        let lab = Self::build(options, world, clock, "http://cds.sim".to_owned(), true);
        let cds = lab.cds.clone();
        lab.world.play(pace.life, move |program, guest| work(program, guest, cds.clone(), pace));
        lab
    }

    fn build(options: LabOptions, world: World, clock: Clock, cds_url: String, is_paused: bool) -> Self {
        let mut config = Config { url: cds_url.clone(), ..options.cds.clone() };
        config.builtin.push(BuiltinConsumer {
            name: "hatchery".to_owned(),
            token: "v1-token".into(),
            ..BuiltinConsumer::default()
        });
        config.hatcheries.push(HatcheryConsumer {
            name: Self::NAME.to_owned(),
            token: "v2-token".into(),
            region: Some("default".to_owned()),
            ..HatcheryConsumer::default()
        });
        config.code_models.push(CodeModel::vsphere(Self::DEBIAN, "debian12"));
        config.code_models.push(CodeModel::vsphere(Self::ROCKY, "rocky9"));
        let cds_clock = rookery_cds_sim::Clock::wall(clock);
        let of_cds = rookery_cds_sim::World::new(config, signing_key(), cds_clock.now());
        let cds = rookery_cds_sim::Running::start(of_cds, cds_clock, &world.supervisor);
        Self { world, cds, cds_url, options, is_paused, closed: false }
    }

    /// With another vCenter for the hatchery; the lab's own has nothing to do then.
    #[must_use]
    pub fn with_vcenter_at(mut self, url: &str) -> Self {
        url.clone_into(&mut self.world.url);
        self
    }

    /// The hatchery's settings file.
    pub fn settings_text(&self) -> String {
        let token = |name: &str, token: &str, wanted| {
            if wanted { format!("{name} = {token:?}\n") } else { String::new() }
        };
        format!(
            r#"user = "{user}"
password = "{password}"
endpoint = "{vcenter}"
datacenterString = "DC0"
{extra}
[commonConfiguration]
name = "{name}"
rsaPrivateKey = """
{key}"""
[commonConfiguration.http]
port = 0
[commonConfiguration.api]
{v1}{v2}[commonConfiguration.api.http]
url = "{cds}"
{tables}
[[guestCredentials]]
modelVMWare = "debian12"
username = "debian"
password = "guest-secret"
[[guestCredentials]]
modelVMWare = "rocky9"
username = "debian"
password = "guest-secret"
"#,
            user = Vcsim::USER,
            password = Vcsim::PASSWORD,
            vcenter = self.world.url,
            name = Self::NAME,
            extra = impatient(&self.options.settings),
            tables = registering_soon(&self.options.tables),
            key = KEY,
            v1 = token("token", "v1-token", self.options.v1),
            v2 = token("tokenV2", "v2-token", self.options.v2),
            cds = self.cds_url,
        )
    }

    pub fn settings(&self) -> Settings {
        Self::read_settings(&self.settings_text())
    }

    /// Settings, as a file has them.
    pub fn read_settings(text: &str) -> Settings {
        let read = |_: &std::path::Path| panic!("no secret is in a file");
        match settings::load(text, &Origin::Default, &read) {
            Ok(loaded) => loaded.settings,
            Err(problems) => panic!("{problems}\n{text}"),
        }
    }

    /// Starts a hatchery in this process.
    pub async fn hatch(&self) -> Scene {
        self.try_hatch().await.expect("the hatchery starts")
    }

    /// Starts a hatchery in this process, if it can.
    pub async fn try_hatch(&self) -> Result<Scene, StartError> {
        if self.is_paused {
            return self.hatch_over(self.settings(), &Wire::default()).await;
        }
        let dial = |url: &str| {
            let (endpoint, _) = Endpoint::parse(url).expect("an address");
            Arc::new(TcpDial::new(endpoint, &Trust::Insecure).expect("no TLS"))
        };
        let pages = Some(listen().await);
        self.hatch_with(self.settings(), dial(&self.world.url), dial(&self.cds_url), pages).await
    }

    /// Starts a hatchery with these settings over a wire, if it can. It has no pages.
    pub async fn hatch_over(&self, settings: Settings, wire: &Wire) -> Result<Scene, StartError> {
        let (vcenter, cds) = (self.world.vcenter.clone(), self.cds.clone());
        let ways = (wire.to(move || vcenter.pipe()), wire.to(move || cds.pipe()));
        self.hatch_with(settings, ways.0, ways.1, None).await
    }

    /// Starts a hatchery over pipes, with other parts where the story wants them, under that supervisor.
    pub async fn hatch_from(&self, supervisor: &Supervisor, change: impl FnOnce(&mut Parts)) -> Scene {
        let (vcenter, cds, wire) = (self.world.vcenter.clone(), self.cds.clone(), Wire::default());
        let ways = (wire.to(move || vcenter.pipe()), wire.to(move || cds.pipe()));
        let mut parts = self.parts(self.settings(), ways.0, ways.1, supervisor);
        change(&mut parts);
        let hatchery = Box::pin(start(parts, supervisor)).await.expect("the hatchery starts");
        Scene { hatchery, url: String::new(), supervisor: supervisor.clone() }
    }

    async fn hatch_with(
        &self,
        settings: Settings,
        vcenter: Arc<dyn Dial>,
        cds: Arc<dyn Dial>,
        pages: Option<(TcpListener, String)>,
    ) -> Result<Scene, StartError> {
        let (listener, url) = pages.unzip();
        let supervisor = Supervisor::new();
        let mut parts = self.parts(settings, vcenter, cds, &supervisor);
        parts.pages = listener.map(|listener| serve_pages(listener, &parts.settings, &supervisor));
        let hatchery = Box::pin(start(parts, &supervisor)).await?;
        Ok(Scene { hatchery, url: url.unwrap_or_default(), supervisor })
    }

    fn parts(
        &self,
        settings: Settings,
        vcenter: Arc<dyn Dial>,
        cds: Arc<dyn Dial>,
        supervisor: &Supervisor,
    ) -> Parts {
        // Two hatcheries would draw the same names for their workers otherwise, and CDS lets each be used once.
        let seed = if settings.identity.name == Self::NAME { 7 } else { 8 };
        Parts {
            settings,
            vcenters: Vcenters::new(supervisor),
            beside: Vec::new(),
            vcenter,
            cds,
            clock: self.world.clock.clone(),
            random: StdRng::seed_from_u64(seed),
            pages: None,
            instance: format!("lab-{}", self.world.url),
            hostname: "lab".to_owned(),
            version: "0".to_owned(),
            policy: Policy::Refuse,
            folder: Some(self.world.folder().to_owned()),
        }
    }

    /// Starts another hatchery of the same name, as if on a machine of that number. One that stands by comes when it
    /// takes over.
    pub fn hatch_on(
        &self,
        machine: u64,
        policy: Policy,
        vcenter: Arc<dyn Dial>,
        cds: Arc<dyn Dial>,
    ) -> Standby {
        let supervisor = Supervisor::new();
        let mut parts = self.parts(self.settings(), vcenter, cds, &supervisor);
        parts.random = StdRng::seed_from_u64(100 + machine);
        (parts.instance, parts.policy, parts.folder) = (format!("machine-{machine}"), policy, None);
        let (sender, started) = oneshot::channel();
        self.world.supervisor.spawn("hatchery on another machine", async move {
            let started = Box::pin(start(parts, &supervisor)).await;
            let scene = started.map(|hatchery| Scene { hatchery, url: String::new(), supervisor });
            // A story that has failed does not wait for it.
            sender.send(scene).ok();
        });
        Standby { started }
    }

    /// A new V2 job on a model.
    pub async fn v2_job(&self, model: &str, script: &str) -> String {
        self.enqueue(NewJob {
            protocol: Protocol::V2,
            model: Some(model.to_owned()),
            script: script.to_owned(),
            region: Some("default".to_owned()),
            ..NewJob::default()
        })
        .await
    }

    pub async fn enqueue(&self, job: NewJob) -> String {
        self.cds.enqueue(job).await.expect("the CDS runs")
    }

    /// A job with all that happened to it.
    pub async fn job(&self, id: &str) -> Job {
        self.cds.job(id).await.expect("there is such a job")
    }

    /// Waits until a job has ended.
    pub async fn ended(&self, id: &str) -> Job {
        eventually(&format!("job {id} ends"), async || self.job(id).await.status.is_final()).await;
        self.job(id).await
    }

    /// A witness of the vCenter.
    pub fn govc(&self) -> Govc {
        self.world.govc()
    }

    /// Whether workers are played, and run no program.
    pub fn plays_workers(&self) -> bool {
        self.is_paused
    }

    /// What nobody may ever see, and was seen.
    pub fn findings(&self) -> Vec<Finding> {
        self.world.findings()
    }

    /// Ends both simulators. Nothing may have panicked in them, and both must agree with themselves.
    pub async fn close(mut self) {
        assert_eq!(self.findings(), []);
        self.close_with_findings().await;
    }

    /// Ends both simulators in a story that lets these machines, and no others, go under workers that are at work.
    pub async fn close_with_cut_down(mut self, machines: &[&str]) {
        let cut_down = |finding| match finding {
            Finding::CutDown { vm, .. } => vm,
            odd @ (Finding::SecondProgram { .. } | Finding::Stranger { .. }) => panic!("{odd:?}"),
        };
        let found: Vec<_> = self.findings().into_iter().map(cut_down).collect();
        assert_eq!(found, machines);
        self.close_with_findings().await;
    }

    /// Ends both simulators in a story that has looked at its findings.
    pub async fn close_with_findings(&mut self) {
        self.closed = true;
        let reply = self.cds.control(rookery_cds_sim::Control::Check).await.expect("CDS runs");
        let rookery_cds_sim::Body::Content(content) = reply.body else { panic!("an answer has content") };
        assert_eq!(String::from_utf8_lossy(&content), NO_FINDINGS, "CDS contradicts itself");
        self.world.end().await;
    }
}

const NO_FINDINGS: &str = r#"{"findings":[]}"#;

impl Drop for Lab {
    fn drop(&mut self) {
        assert!(self.closed || std::thread::panicking(), "a story closes its lab, which looks for findings");
    }
}

/// A hatchery that is being started, or stands by.
#[derive(Debug)]
pub struct Standby {
    started: oneshot::Receiver<Result<Scene, StartError>>,
}

impl Standby {
    /// Waits until it acts, or gives up.
    pub async fn acts(self) -> Result<Scene, StartError> {
        self.started.await.expect("it starts or gives up")
    }

    /// Whether it does not act yet.
    pub fn waits(&mut self) -> bool {
        matches!(self.started.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }
}

impl Scene {
    /// Ends the hatchery as a signal does.
    pub async fn stop(self) {
        self.stop_after_panics(0).await;
    }

    /// The same in a story that let so many of its tasks panic.
    pub async fn stop_after_panics(self, panics: u64) {
        self.hatchery.stop().await;
        assert_eq!(self.supervisor.panics(), panics, "a task of the hatchery panicked");
    }

    /// Ends the hatchery as a crash does: nothing is finished, and nobody is told.
    pub async fn crash(self) {
        self.supervisor.shutdown(Duration::ZERO).await.ok();
        assert_eq!(self.supervisor.panics(), 0, "a task of the hatchery panicked");
    }
}

/// Nobody waits a minute in a story for what could be looked at now.
fn impatient(settings: &str) -> String {
    let missing = |key: &str| !settings.contains(key);
    let soon = [("killAwolServersInterval", 1), ("workerProvisioningInterval", 30)];
    let soon =
        soon.iter().filter(|(key, _)| missing(key)).map(|(key, seconds)| format!("{key} = {seconds}\n"));
    soon.chain([settings.to_owned()]).collect()
}

fn registering_soon(tables: &str) -> String {
    const TABLE: &str = "[commonConfiguration.provision]\n";
    const SOON: &str = "[commonConfiguration.provision]\nregisterFrequency = 1\n";
    match (tables.contains("registerFrequency"), tables.contains(TABLE)) {
        (true, _) => tables.to_owned(),
        (false, true) => tables.replace(TABLE, SOON),
        (false, false) => format!("{SOON}{tables}"),
    }
}

async fn listen() -> (TcpListener, String) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(any).await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    (listener, url)
}

/// What a worker does in its guest: it comes, works, and tells how that went if its machine lets it.
fn work(program: &Announced, guest: Guest, cds: rookery_cds_sim::Running, pace: Pace) -> Option<Life> {
    let config = program.environment.iter().find_map(|entry| entry.strip_prefix("CDS_CONFIG="))?;
    let (config, registers) = (config.to_owned(), program.arguments.contains(" register "));
    Some(Box::pin(async move {
        sleep(pace.boot).await;
        let task = Task::read(&config).expect("a hatchery tells its workers what to do");
        let job = task.job();
        guest.is_for(task.name());
        let works = async {
            sleep(pace.work).await;
            guest.is_named().await;
        };
        let tell = |step| guest.works_on((step == Step::Taken).then_some(job.as_str()));
        // One that CDS refuses ends, and its machine with it.
        task.play(registers, || ready(Ok(cds.pipe())), works, tell).await.ok();
    }))
}

fn world(options: &LabOptions) -> WorldOptions {
    let LabOptions { model, age, vcenter, .. } = options;
    WorldOptions { model: model.clone(), age: *age, settings: vcenter.clone() }
}

/// How workers that are played take their time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    /// Until they sign in.
    pub(crate) boot: Duration,
    /// From the end of their script to its result.
    pub(crate) work: Duration,
    /// From their start until their machine turns itself off, at least.
    pub(crate) life: Duration,
}

/// Made once: it takes longer than many a story.
fn signing_key() -> SigningKey {
    static MADE: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::generate().expect("a key"));
    MADE.clone()
}

/// A key for tests, made with `openssl genrsa`.
const KEY: &str = include_str!("key.pem");
