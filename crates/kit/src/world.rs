//! A simulated vCenter in this process, with clocks and guests: where the stories of a front begin. The front's own kit
//! adds its other peers.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use rookery_daemon::{Clock, Supervisor};
use rookery_vim_sim::server::{Blobs, Running};
use rookery_vim_sim::{
    Announced, Body, Change, Control, Durations, GuestPower, Id, Model, Notice, ProgramRule, Settings,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{Govc, Vcsim};

/// A vCenter, and the breaches of invariants that were seen there.
#[derive(Debug)]
pub struct World {
    pub vcenter: Running,
    /// Where clients find it.
    pub url: String,
    /// The clock of the machine that a front runs on. The vCenter has another one.
    pub clock: Clock,
    /// Owns the vCenter and its guests.
    pub supervisor: Supervisor,
    findings: Arc<Mutex<Vec<Finding>>>,
    files: TempDir,
    listener: OnceLock<String>,
}

/// What a world is like.
#[derive(Debug, Clone)]
pub struct WorldOptions {
    /// The vCenter, as a model file describes it.
    pub model: String,
    /// How long ago all that is in there was made.
    pub age: SignedDuration,
    pub settings: Settings,
}

/// A breach of an invariant that the kit watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A program that is to run once was started twice in one machine.
    SecondProgram { vm: String },
    /// A program was started in a machine that it is not meant for.
    Stranger {
        vm: String,
        /// Whom it was meant for.
        program: String,
    },
    /// A program lost its machine while it worked.
    CutDown {
        vm: String,
        /// What it worked on.
        job: String,
    },
}

/// A VM as the vCenter itself has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vm {
    pub name: String,
    pub notes: String,
    pub on: bool,
    /// Whether it is a template.
    pub template: bool,
    /// The first address that its guest shows.
    pub address: Option<String>,
    pub whole: Value,
}

impl Vm {
    /// What its notes say, if that is JSON; null otherwise.
    pub fn mark(&self) -> Value {
        serde_json::from_str(&self.notes).unwrap_or_default()
    }
}

/// What a program in a guest does until it ends.
pub type Life = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The name of a vCenter that only pipes lead to.
const PIPES: &str = "vcenter.sim";

const NO_FINDINGS: &str = r#"{"findings":[]}"#;

impl World {
    /// A vCenter on paused time, which is reached by pipes.
    pub fn paused(options: WorldOptions, clock: &Clock) -> Self {
        Self::real(options, clock, format!("http://{PIPES}"))
    }

    /// A vCenter on real time, for which the caller [serves](Self::serve) a listener of that address.
    pub fn real(options: WorldOptions, clock: &Clock, url: String) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(1);
        let supervisor = Supervisor::new();
        let files = TempDir::new().expect("a folder for files");
        let model: Model = toml::from_str(&options.model).expect("a model");
        let theirs = rookery_vim_sim::Clock::wall(clock.apart());
        let made = theirs.now().checked_sub(options.age).expect("a time");
        let settings = Settings { instance: LAST.fetch_add(1, Ordering::Relaxed), ..options.settings };
        let world = model.build(settings, made).expect("a vCenter");
        let blobs = Blobs::in_folder(files.path()).expect("a folder for files");
        let vcenter = Running::start(world, theirs, blobs, &supervisor);
        let (findings, listener) = Default::default();
        Self { vcenter, url, clock: clock.apart(), supervisor, findings, files, listener }
    }

    /// Serves clients over TCP.
    pub fn serve(&self, listener: TcpListener) {
        let (serving, over) = (self.vcenter.clone(), self.supervisor.token());
        self.supervisor.spawn("the world's vCenter", async move {
            tokio::select! {
                biased;
                () = over.cancelled() => {}
                () = serving.serve(listener, None) => {}
            }
        });
    }

    /// A folder that lives as long as the world.
    pub fn folder(&self) -> &std::path::Path {
        self.files.path()
    }

    pub fn govc(&self) -> Govc {
        let address = self.url.strip_prefix("http://").expect("no TLS");
        let at =
            |address: &str| Govc::at(&format!("http://{}:{}@{address}/sdk", Vcsim::USER, Vcsim::PASSWORD));
        if address != PIPES {
            return at(address);
        }
        at(self.listener.get_or_init(|| self.open())).on_paused_time()
    }

    /// Opens a listener for a vCenter that is otherwise reached by pipes only.
    fn open(&self) -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a listener that does not block");
        let address = listener.local_addr().expect("it is bound").to_string();
        self.serve(TcpListener::from_std(listener).expect("a listener"));
        address
    }

    /// Asks the vCenter for something that only its operator may, and returns what it says.
    pub async fn ask(&self, control: Control) -> String {
        ask(&self.vcenter, control).await
    }

    /// The same, of which the answer is JSON.
    pub async fn control(&self, control: Control) -> Value {
        serde_json::from_str(&self.ask(control).await).expect("JSON")
    }

    /// From now on operations take no time.
    pub async fn hasten(&self) {
        let change = Change { durations: Some(Durations::default()), ..Change::default() };
        self.ask(Control::Set(Box::new(change))).await;
    }

    /// All VMs, by reference, as the vCenter itself has them.
    pub async fn vms(&self) -> BTreeMap<String, Vm> {
        let dump = self.control(Control::Dump).await;
        let all = dump["store"]["vms"].as_object().expect("there are VMs");
        let seen = |(id, vm): (&String, &Value)| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let vm = Vm {
                name: text(&dump["store"]["entities"][id]["name"]),
                notes: text(&vm["annotation"]),
                on: vm["power"] == "poweredOn",
                template: vm["template"] == true,
                address: vm["guest"]["addresses"][0][1][0].as_str().map(str::to_owned),
                whole: vm.clone(),
            };
            (id.clone(), vm)
        };
        all.iter().map(seen).collect()
    }

    /// The programs that [`Self::play`] plays: those whose arguments fit.
    pub fn played(arguments: &str) -> ProgramRule {
        ProgramRule { arguments: arguments.to_owned(), announced: true, ..ProgramRule::default() }
    }

    /// Plays programs in guests: each that is announced lives as it is told, for so long at least, and then its machine
    /// turns itself off. One for which there is no life is left to itself.
    pub fn play(
        &self,
        at_least: Duration,
        start: impl Fn(&Announced, Guest) -> Option<Life> + Send + Sync + 'static,
    ) {
        let (mut notices, supervisor) = (self.vcenter.notices(), self.supervisor.clone());
        let (vcenter, findings) = (self.vcenter.clone(), Arc::clone(&self.findings));
        let over = supervisor.token();
        self.supervisor.spawn("guests", async move {
            // What lives in each machine, by the number of its program, and where something has lived.
            let mut lives = BTreeMap::<(Id, i64), (Guest, CancellationToken)>::new();
            let mut used = BTreeSet::<Id>::new();
            loop {
                let notice = tokio::select! {
                    biased;
                    () = over.cancelled() => return,
                    notice = notices.recv() => notice,
                };
                let program = match notice {
                    Ok(Notice::Program(program)) => *program,
                    Ok(Notice::Ended { vm, pid }) => {
                        if let Some((guest, life)) = lives.remove(&(vm, pid)) {
                            guest.is_cut_down();
                            life.cancel();
                        }
                        continue;
                    }
                    Ok(Notice::Booted { .. }) => continue,
                    Err(RecvError::Lagged(lost)) => panic!("{lost} notices were lost"),
                    Err(RecvError::Closed) => return,
                };
                let (vm, pid, name) = (program.vm, program.pid, program.name.clone());
                let (vcenter, findings) = (vcenter.clone(), Arc::clone(&findings));
                let guest = Guest { vm, name, vcenter, findings, job: Arc::default() };
                let until = Instant::now() + at_least;
                let Some(life) = start(&program, guest.clone()) else { continue };
                if !used.insert(vm) {
                    guest.find(Finding::SecondProgram { vm: guest.name.clone() });
                }
                let over = over.child_token();
                lives.insert((vm, pid), (guest.clone(), over.clone()));
                supervisor.spawn("program in a guest", async move {
                    let life = async {
                        tokio::join!(life, sleep_until(until));
                        let then = Some(GuestPower::Off);
                        guest.vcenter.control(Control::EndProgram { vm, pid, code: 0, then }).await;
                    };
                    tokio::select! {
                        biased;
                        () = over.cancelled() => {}
                        () = life => {}
                    }
                });
            }
        });
    }

    /// A breach of an invariant that the kit watches.
    pub fn findings(&self) -> Vec<Finding> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the vCenter. It must agree with itself, and nothing may have panicked.
    pub async fn end(&self) {
        assert_eq!(self.ask(Control::Check).await, NO_FINDINGS, "the vCenter contradicts itself");
        self.supervisor.shutdown(Duration::from_secs(10)).await.ok();
        assert_eq!(self.supervisor.panics(), 0, "a simulator or a guest panicked");
    }
}

/// The machine that a program runs in.
#[derive(Debug, Clone)]
pub struct Guest {
    vm: Id,
    name: String,
    vcenter: Running,
    findings: Arc<Mutex<Vec<Finding>>>,
    /// What its program works on now.
    job: Arc<Mutex<Option<String>>>,
}

impl Guest {
    /// Its program works on this from now on; on nothing if it is told so. Whoever turns the machine off meanwhile is found
    /// out.
    pub fn works_on(&self, job: Option<&str>) {
        *self.lock() = job.map(str::to_owned);
    }

    /// Finds out whoever has renamed the machine while its program worked.
    pub async fn is_named(&self) {
        let running = ask(&self.vcenter, Control::Running(self.vm)).await;
        let running: Value = serde_json::from_str(&running).expect("an answer is JSON");
        if running["name"] != self.name.as_str() {
            self.is_cut_down();
        }
    }

    /// Finds out whoever has started a program here that is meant for another machine.
    pub fn is_for(&self, program: &str) {
        if program != self.name {
            self.find(Finding::Stranger { vm: self.name.clone(), program: program.to_owned() });
        }
    }

    fn is_cut_down(&self) {
        let job = self.lock().take();
        if let Some(job) = job {
            self.find(Finding::CutDown { vm: self.name.clone(), job });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, finding: Finding) {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }
}

async fn ask(vcenter: &Running, control: Control) -> String {
    let reply = vcenter.control(control).await.expect("the vCenter runs");
    let Body::Text(text) = reply.body else { panic!("an answer is text") };
    assert_eq!(reply.status, 200, "{text}");
    text
}
