//! The whole product with both simulators in one thread on paused time: hours pass in a moment, and always alike.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use rookery_cds_sim::SigningKey;
use rookery_daemon::settings::Origin;
use rookery_daemon::{Clock, Supervisor};
use rookery_hatchery::run::{Policy, StartError};
use rookery_hatchery::settings;
use rookery_vim_sim::{
    Announced, Body, Change, Control, Durations, GuestPower, GuestTimes, Id, Notice, ProgramRule, Settings,
    Span,
};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep};

use crate::lab::{Finding, Findings};
use crate::{Lab, LabOptions, Scene, Standby};
use rookery_kit::{Cable, Govc, Vcsim, Wire};

/// A lab on paused time. Workers are part of it: each starts with the program that the hatchery starts in its guest, works
/// for a while if its machine lets it, and its machine turns itself off.
#[derive(Debug)]
pub struct Stage {
    /// The lab.
    pub lab: Lab,
}

/// A VM as the vCenter itself has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// Its notes.
    pub notes: String,
    /// Whether it runs.
    pub on: bool,
    /// Whether it is a template.
    pub template: bool,
    /// Everything.
    pub whole: Value,
}

impl Vm {
    /// What its notes say, if that is JSON; null otherwise.
    pub fn mark(&self) -> Value {
        serde_json::from_str(&self.notes).unwrap_or_default()
    }
}

/// Both worlds in one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sight {
    /// When.
    pub at: Instant,
    /// Two numbers that stay the same for as long as nothing changes.
    pub worlds: (u64, u64),
}

/// Two worlds to begin with.
#[derive(Debug, Clone)]
pub struct Saved {
    at: Timestamp,
    vcenter: String,
    cds: Value,
}

/// How long a worker works, and how long it takes its machine to turn itself off since the start of the worker.
const WORK: Duration = Duration::from_secs(20);
const LIFE: Duration = Duration::from_secs(45);

impl Stage {
    /// Sets a stage. Tokio's time must be paused.
    pub fn set(options: LabOptions, key: SigningKey) -> Self {
        Self::set_at(options, key, "2031-02-03T04:05:06Z".parse().expect("a time"))
    }

    fn set_at(options: LabOptions, key: SigningKey, start: Timestamp) -> Self {
        let seconds = |seconds| Span::Constant(SignedDuration::from_secs(seconds));
        let worker =
            ProgramRule { arguments: "*worker*".to_owned(), announced: true, ..ProgramRule::default() };
        let vcenter = Settings {
            allow_local_exec: false,
            programs: [vec![worker], options.vcenter.programs.clone()].concat(),
            durations: Durations {
                clone: seconds(4),
                reconfigure: seconds(1),
                power: seconds(1),
                snapshot: seconds(1),
                destroy: seconds(1),
                ..Durations::default()
            },
            guests: GuestTimes {
                tools: seconds(3),
                operations: seconds(1),
                addresses: seconds(1),
                ..GuestTimes::default()
            },
            ..options.vcenter.clone()
        };
        let lab = Lab::build(
            // Time costs nothing here, but passes do.
            LabOptions {
                vcenter,
                settings: format!("killAwolServersInterval = 60\n{}", options.settings),
                ..options
            },
            Clock::simulated(start),
            key,
            "http://vcenter.sim".to_owned(),
            "http://cds.sim".to_owned(),
        );
        let guests = Guests {
            vcenter: lab.vcenter.clone(),
            cds: lab.cds.clone(),
            findings: Arc::clone(&lab.findings),
            supervisor: lab.supervisor.clone(),
        };
        lab.supervisor.spawn("guests", guests.run(lab.vcenter.notices()));
        Self { lab }
    }

    /// Hatcheries that start from now on believe that it is later by that.
    pub fn set_clock_ahead(&mut self, by: SignedDuration) {
        self.lab.clock = Clock::simulated(self.lab.clock.now().saturating_add(by).expect("a time"));
    }

    /// Somebody sets the clock of the machine that hatcheries run on.
    pub fn set_clock(&self, by: SignedDuration) {
        self.lab.clock.set(by);
    }

    /// Starts a hatchery over a wire.
    pub async fn hatch(&self, wire: &Wire) -> Result<Scene, StartError> {
        let (vcenter, cds) = (self.lab.vcenter.clone(), self.lab.cds.clone());
        let ways = (wire.to(move || vcenter.pipe()), wire.to(move || cds.pipe()));
        self.lab.hatch_over(self.lab.settings(), ways.0, ways.1).await
    }

    /// Starts a hatchery over a wire, with settings in which some texts are replaced.
    pub async fn hatch_with(&self, wire: &Wire, changes: &[(&str, &str)]) -> Scene {
        let replaced = |text: String, (old, new): &(&str, &str)| text.replace(old, new);
        let text = changes.iter().fold(self.lab.settings_text(), replaced);
        let read = |_: &std::path::Path| panic!("no secret is in a file");
        let settings = match settings::load(&text, &Origin::Default, &read) {
            Ok(loaded) => loaded.settings,
            Err(problems) => panic!("{problems}\n{text}"),
        };
        let (vcenter, cds) = (self.lab.vcenter.clone(), self.lab.cds.clone());
        let ways = (wire.to(move || vcenter.pipe()), wire.to(move || cds.pipe()));
        self.lab.hatch_over(settings, ways.0, ways.1).await.expect("the hatchery starts")
    }

    /// Starts another hatchery of the same name, as if on a machine of that number, over cables of its own.
    pub fn hatch_on(&self, machine: u64, policy: Policy, vcenter: &Cable, cds: &Cable) -> Standby {
        let (to_vcenter, to_cds) = (self.lab.vcenter.clone(), self.lab.cds.clone());
        let ways = (vcenter.to(move || to_vcenter.pipe()), cds.to(move || to_cds.pipe()));
        self.lab.hatch_on(machine, policy, ways.0, ways.1)
    }

    /// Lets a witness of the vCenter look. Time is real meanwhile: the witness is a process of its own.
    pub async fn witness<T>(&self, look: impl AsyncFnOnce(&Govc) -> T) -> T {
        tokio::time::resume();
        let seen = look(&self.govc().await).await;
        tokio::time::pause();
        seen
    }

    /// From now on operations of the vCenter take no time.
    pub async fn hasten(&self) {
        let change = Change { durations: Some(Durations::default()), ..Change::default() };
        self.lab.vcenter.control(Control::Set(Box::new(change))).await.expect("the vCenter runs");
    }

    async fn govc(&self) -> Govc {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (serving, over) = (self.lab.vcenter.clone(), self.lab.supervisor.token());
        self.lab.supervisor.spawn("door for a witness", async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = serving.serve(listener, None) => {}
            }
        });
        Govc::at(&format!("http://{}:{}@{address}/sdk", Vcsim::USER, Vcsim::PASSWORD))
    }

    /// Waits for something that must come within an hour.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, mut look: impl FnMut() -> F) {
        for _ in 0..3600 / 5 {
            if look().await {
                return;
            }
            sleep(Duration::from_secs(5)).await;
        }
        let machines = self.vms().await.into_values().filter(|vm| !vm.template);
        let machines: Vec<_> = machines.map(|vm| (vm.name, vm.on, vm.notes)).collect();
        let jobs = self.lab.cds.jobs().await.unwrap_or_default();
        let jobs: Vec<_> = jobs.iter().map(|job| (&job.id, &job.history, &job.infos)).collect();
        panic!("it never came true that {what}: {machines:?}, {jobs:?}");
    }

    /// Waits until all jobs have ended.
    pub async fn all_jobs_end(&self) {
        self.until("all jobs end", async || {
            self.lab.cds.jobs().await.expect("CDS runs").iter().all(|job| job.status.is_final())
        })
        .await;
    }

    /// What nobody may ever see, and was seen.
    pub fn findings(&self) -> Vec<Finding> {
        self.lab.findings()
    }

    /// A look at both worlds.
    pub async fn sight(&self) -> Sight {
        let answer: Value =
            serde_json::from_str(&ask(&self.lab.vcenter, Control::Digest).await).expect("JSON");
        let vcenter = answer["digest"].as_u64().expect("a number");
        let mut cds = self.cds().await;
        // What is drawn is elsewhere, too, unless it only names a request.
        cds.as_object_mut().expect("an object").remove("random");
        let mut hasher = DefaultHasher::new();
        cds.to_string().hash(&mut hasher);
        Sight { at: Instant::now(), worlds: (vcenter, hasher.finish()) }
    }

    /// Takes as many turns as a look at both worlds, and sees nothing.
    pub async fn glance(&self) {
        self.revision().await;
        self.lab.cds.job("").await;
    }

    /// How often anything in the vCenter's inventory has changed.
    pub async fn revision(&self) -> String {
        ask(&self.lab.vcenter, Control::Revision).await
    }

    /// All that CDS knows.
    pub async fn cds(&self) -> Value {
        let reply = self.lab.cds.control(rookery_cds_sim::Control::Dump).await.expect("CDS runs");
        let rookery_cds_sim::Body::Content(dump) = reply.body else { panic!("a dump has content") };
        serde_json::from_slice(&dump).expect("a dump is JSON")
    }

    /// Both worlds as they are. Sessions with the vCenter and what it works on are not part of them.
    pub async fn save(&self) -> Saved {
        Saved {
            at: self.lab.clock.now(),
            vcenter: ask(&self.lab.vcenter, Control::Dump).await,
            cds: self.cds().await,
        }
    }

    /// Sets a stage on which the worlds are as they were when they were saved. Tokio's time must be paused.
    pub async fn restore(options: LabOptions, key: SigningKey, saved: &Saved) -> Self {
        let stage = Self::set_at(options, key, saved.at);
        let load = Control::Load(saved.vcenter.clone());
        let loaded = stage.lab.vcenter.control(load).await.expect("the vCenter runs");
        assert_eq!(loaded.status, 200, "{loaded:?}");
        let load = rookery_cds_sim::Control::Load(saved.cds.clone());
        let loaded = stage.lab.cds.control(load).await.expect("CDS runs");
        assert_eq!(loaded.status, 200, "{loaded:?}");
        stage
    }

    /// All VMs, by reference.
    pub async fn vms(&self) -> BTreeMap<String, Vm> {
        vms(&self.lab.vcenter).await
    }

    /// The machines of a hatchery, templates aside.
    pub async fn machines_of(&self, hatchery: &str) -> Vec<Vm> {
        let own = |vm: &Vm| !vm.template && vm.mark()["hatchery_name"] == hatchery;
        self.vms().await.into_values().filter(own).collect()
    }
}

async fn ask(vcenter: &rookery_vim_sim::server::Running, control: Control) -> String {
    let reply = vcenter.control(control).await.expect("the vCenter runs");
    let Body::Text(text) = reply.body else { panic!("an answer is text") };
    text
}

async fn vms(vcenter: &rookery_vim_sim::server::Running) -> BTreeMap<String, Vm> {
    let dump: Value = serde_json::from_str(&ask(vcenter, Control::Dump).await).expect("a dump is JSON");
    let all = dump["store"]["vms"].as_object().expect("there are VMs");
    let seen = |(id, vm): (&String, &Value)| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let vm = Vm {
            name: text(&dump["store"]["entities"][id]["name"]),
            notes: text(&vm["annotation"]),
            on: vm["power"] == "poweredOn",
            template: vm["template"] == true,
            whole: vm.clone(),
        };
        (id.clone(), vm)
    };
    all.iter().map(seen).collect()
}

/// What happens in guests.
struct Guests {
    vcenter: rookery_vim_sim::server::Running,
    cds: rookery_cds_sim::Running,
    findings: Findings,
    supervisor: Supervisor,
}

impl Guests {
    async fn run(self, mut notices: tokio::sync::broadcast::Receiver<Notice>) {
        let over = self.supervisor.token();
        let mut started = BTreeMap::<Id, u32>::new();
        loop {
            let notice = tokio::select! {
                biased;
                () = over.cancelled() => return,
                notice = notices.recv() => notice,
            };
            let program = match notice {
                Ok(Notice::Program(program)) => *program,
                Ok(Notice::Booted { .. } | Notice::Ended { .. }) => continue,
                Err(RecvError::Lagged(lost)) => panic!("{lost} notices were lost"),
                Err(RecvError::Closed) => return,
            };
            let Announced { vm, name, pid, arguments, environment, .. } = program;
            let config = environment.iter().find_map(|entry| entry.strip_prefix("CDS_CONFIG="));
            let Some(config) = config else { continue };
            let config = STANDARD.decode(config).expect("base64");
            let config: Value = serde_json::from_slice(&config).expect("JSON");
            let times = started.entry(vm).or_default();
            *times += 1;
            if *times > 1 {
                self.find(Finding::SecondWorker { vm: name.clone() });
            }
            let worker = Worker {
                guests: Self {
                    vcenter: self.vcenter.clone(),
                    cds: self.cds.clone(),
                    findings: Arc::clone(&self.findings),
                    supervisor: self.supervisor.clone(),
                },
                vm,
                name,
                registers: arguments.contains(" register "),
                config,
            };
            let (over, vcenter) = (over.clone(), self.vcenter.clone());
            self.supervisor.spawn("worker", async move {
                let life = async {
                    tokio::join!(worker.run(), sleep(LIFE));
                    let then = Some(GuestPower::Off);
                    vcenter.control(Control::EndProgram { vm, pid, code: 0, then }).await;
                };
                tokio::select! {
                    biased;
                    () = over.cancelled() => {}
                    () = life => {}
                }
            });
        }
    }

    fn find(&self, finding: Finding) {
        self.findings.lock().expect("nobody panicked").push(finding);
    }
}

struct Worker {
    guests: Guests,
    vm: Id,
    name: String,
    registers: bool,
    config: Value,
}

impl Worker {
    /// None if CDS refused something: then it ends, and its machine with it.
    async fn run(self) -> Option<()> {
        let text = |key: &str| self.config[key].as_str().unwrap_or_default().to_owned();
        let (run, region) = (text("run_job_id"), text("region"));
        let job = if run.is_empty() { self.config["booked_job_id"].to_string() } else { run.clone() };
        let of_job = if run.is_empty() {
            format!("/queue/workflows/{job}")
        } else {
            format!("/v2/queue/{region}/job/{job}")
        };
        let (sign_in, sign_out) = if run.is_empty() {
            ("/auth/consumer/worker/signin".to_owned(), "/auth/consumer/worker/signout".to_owned())
        } else {
            (format!("{of_job}/worker/signin"), format!("{of_job}/worker/signout"))
        };
        let take = if run.is_empty() { format!("{of_job}/take") } else { format!("{of_job}/worker/take") };

        sleep(Duration::from_secs(2)).await;
        let capabilities =
            r#"{"BinaryCapabilities":["sh","git"],"Version":"snapshot","OS":"linux","Arch":"amd64"}"#;
        let session = self.post(&text("api_token"), &sign_in, capabilities).await??;
        if !self.registers {
            self.post(&session, &take, "").await?;
            sleep(WORK).await;
            let running = ask(&self.guests.vcenter, Control::Running(self.vm)).await;
            let running: Value = serde_json::from_str(&running).expect("an answer is JSON");
            if running["name"] != self.name.as_str() {
                self.guests.find(Finding::CutDown { vm: self.name.clone(), job });
                return None;
            }
            let result = if run.is_empty() {
                format!(
                    r#"{{"buildID":{job},"status":"Success","duration":"0s","remoteTime":"2031-02-03T04:05:06Z"}}"#
                )
            } else {
                r#"{"status":"Success","time":"2031-02-03T04:05:06Z"}"#.to_owned()
            };
            self.post(&session, &format!("{of_job}/result"), &result).await?;
        }
        self.post(&session, &sign_out, "").await?;
        Some(())
    }

    /// The session that comes with the answer, if one does; nothing if CDS did not do it.
    async fn post(&self, token: &str, path: &str, body: &str) -> Option<Option<String>> {
        let mut stream = self.guests.cds.pipe();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: cds\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let answer = String::from_utf8_lossy(&answer);
        answer.starts_with("HTTP/1.1 2").then(|| {
            let mut lines = answer.lines();
            lines.find_map(|line| line.strip_prefix("x-cds-jwt: ").map(str::to_owned))
        })
    }
}
