//! Programs of guests, run for real: each guest in namespaces of its own, which end with it.
//!
//! ```text
//!   effects ─► Programs ─► one task a guest ─► its namespaces ─► programs
//!                               │  ▲                               │
//!   inputs ◄────────────────────┘  └──── exit codes, power off ◄───┘
//! ```
//!
//! The rest of the host is read-only for them, and they have no rights: not even those of whoever runs the simulator,
//! if that is root.

mod inside;
mod namespace;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rookery_daemon::Supervisor;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::warn;

use super::blobs::Blobs;
use super::scratch::Scratch;
use crate::Start;
use crate::guests::{FileJob, FileTrouble, GuestPower};
use crate::id::{Id, Kind};
use crate::io::{Effect, Input};
pub use namespace::ExecRefused;
use namespace::Namespace;

/// A program that could not be started.
const NOT_STARTED: i32 = 127;

/// Whether programs of guests can be run on this machine: makes a guest, runs a program in it and ends it.
pub async fn check() -> Result<(), ExecRefused> {
    let folder =
        namespace::throw_away().map_err(|error| ExecRefused(format!("no temporary folder: {error}")))?;
    let namespace = Namespace::start(&folder.path().join("trial"), "trial").await?;
    let start = Start {
        process: 1,
        vm: Id { kind: Kind::VirtualMachine, number: 0 },
        host_name: "trial".to_owned(),
        path: "/bin/true".to_owned(),
        arguments: String::new(),
        directory: "/".to_owned(),
        environment: Vec::new(),
    };
    let code = match namespace.launch(&start).await {
        Ok(program) => program.ended().await,
        Err(_) => NOT_STARTED,
    };
    namespace.end().await;
    if code == 0 {
        Ok(())
    } else {
        Err(ExecRefused(format!("a program that does nothing ended with {code}")))
    }
}

/// The programs of all guests.
#[derive(Debug)]
pub(super) struct Programs {
    /// None until it is needed.
    folder: Option<Scratch>,
    guests: BTreeMap<Id, UnboundedSender<Order>>,
    inputs: UnboundedSender<Input>,
    blobs: Arc<Blobs>,
    supervisor: Supervisor,
}

#[derive(Debug)]
enum Order {
    Start(Box<Start>),
    Stop(u64),
    File(Box<FileJob>),
    End,
    /// And its files go.
    Erase,
}

impl Programs {
    /// No programs yet. What they lead to comes out of the receiver.
    pub(super) fn new(blobs: Arc<Blobs>, supervisor: &Supervisor) -> (Self, UnboundedReceiver<Input>) {
        let (inputs, receiver) = unbounded_channel();
        let programs =
            Self { folder: None, guests: BTreeMap::new(), inputs, blobs, supervisor: supervisor.clone() };
        (programs, receiver)
    }

    /// Carries out effects about programs and files of guests.
    pub(super) fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start(start) => self.order(start.vm, Order::Start(start)),
            Effect::File(job) => self.order(job.vm, Order::File(job)),
            // A guest that never ran anything has nothing to end.
            Effect::Stop { vm, process } => self.tell(vm, Order::Stop(process)),
            Effect::StopAll(vm) => self.tell(vm, Order::End),
            Effect::Erase(vm) => {
                self.tell(vm, Order::Erase);
                self.guests.remove(&vm);
            }
            Effect::Discard(_) | Effect::Notice(_) | Effect::CutConnections | Effect::Advance(_) => {}
        }
    }

    fn tell(&self, vm: Id, order: Order) {
        if let Some(guest) = self.guests.get(&vm) {
            guest.send(order).ok();
        }
    }

    fn order(&mut self, vm: Id, order: Order) {
        if !self.guests.contains_key(&vm) {
            let folder = match self.folder(vm) {
                Ok(folder) => folder,
                Err(error) => return refuse(&self.inputs, order, &error.to_string()),
            };
            let (sender, orders) = unbounded_channel();
            let guest = Guest {
                vm,
                folder,
                namespace: None,
                running: BTreeMap::new(),
                inputs: self.inputs.clone(),
                blobs: Arc::clone(&self.blobs),
                supervisor: self.supervisor.clone(),
            };
            self.supervisor.spawn("programs of a guest", guest.run(orders));
            self.guests.insert(vm, sender);
        }
        self.tell(vm, order);
    }

    fn folder(&mut self, vm: Id) -> std::io::Result<PathBuf> {
        let all = match self.folder.take() {
            Some(folder) => folder,
            None => namespace::throw_away()?,
        };
        let folder = namespace::folder_of(all.path(), vm);
        self.folder = Some(all);
        Ok(folder)
    }
}

#[derive(Debug)]
struct Guest {
    vm: Id,
    folder: PathBuf,
    /// None while nothing runs.
    namespace: Option<Namespace>,
    /// Process identifiers in the guest, by the number of the world.
    running: BTreeMap<u64, String>,
    inputs: UnboundedSender<Input>,
    blobs: Arc<Blobs>,
    supervisor: Supervisor,
}

impl Guest {
    /// Carries out orders one after the other, as the tools of a real guest do.
    async fn run(mut self, mut orders: UnboundedReceiver<Order>) {
        let stop = self.supervisor.token();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                what = next_power(&mut self.namespace) => {
                    self.inputs.send(Input::GuestPower { vm: self.vm, what }).ok();
                }
                order = orders.recv() => match order {
                    Some(Order::Start(start)) => self.start(start).await,
                    Some(Order::Stop(process)) => self.stop(process),
                    Some(Order::File(job)) => self.file(job).await,
                    Some(Order::End) => self.end().await,
                    Some(Order::Erase) | None => break,
                },
            }
        }
        self.end().await;
        // The folder of all goes as well, in the end.
        std::fs::remove_dir_all(&self.folder).ok();
    }

    /// Its namespaces, which are made if there are none.
    async fn enter(&mut self, host_name: &str) -> Result<&mut Namespace, ExecRefused> {
        let namespace = match self.namespace.take() {
            Some(namespace) => namespace,
            None => Namespace::start(&self.folder, host_name).await?,
        };
        Ok(self.namespace.insert(namespace))
    }

    async fn start(&mut self, start: Box<Start>) {
        let launched = match self.enter(&start.host_name).await {
            Ok(namespace) => namespace.launch(&start).await.map_err(|error| error.to_string()),
            Err(refused) => Err(refused.to_string()),
        };
        match launched {
            Ok(program) => {
                let (process, inputs) = (start.process, self.inputs.clone());
                self.running.insert(process, program.pid.clone());
                self.supervisor.spawn("program of a guest", async move {
                    let code = program.ended().await;
                    inputs.send(Input::Exited { process, code }).ok();
                });
            }
            Err(why) => refuse(&self.inputs, Order::Start(start), &why),
        }
    }

    fn stop(&mut self, process: u64) {
        if let (Some(namespace), Some(pid)) = (&self.namespace, self.running.get(&process))
            && let Ok(mut ending) = namespace.stop(pid)
        {
            self.supervisor.spawn("end of a program of a guest", async move {
                ending.wait().await.ok();
            });
        }
    }

    async fn file(&mut self, job: Box<FileJob>) {
        let blobs = Arc::clone(&self.blobs);
        let result = match self.enter("guest").await {
            Ok(namespace) => inside::run(namespace, &job.op, &blobs).await,
            Err(refused) => return refuse(&self.inputs, Order::File(job), &refused.to_string()),
        };
        self.inputs.send(Input::File { request: job.request, result }).ok();
    }

    /// Ends everything that runs.
    async fn end(&mut self) {
        if let Some(namespace) = self.namespace.take() {
            namespace.end().await;
        }
        self.running.clear();
    }
}

async fn next_power(namespace: &mut Option<Namespace>) -> GuestPower {
    match namespace {
        Some(namespace) => namespace.power().await,
        None => std::future::pending().await,
    }
}

/// What was ordered cannot be done.
fn refuse(inputs: &UnboundedSender<Input>, order: Order, why: &str) {
    warn!(error = why, "cannot run a program of a guest");
    let input = match order {
        Order::Start(start) => Input::Exited { process: start.process, code: NOT_STARTED },
        Order::File(job) => {
            Input::File { request: job.request, result: Err(FileTrouble::Other(why.to_owned())) }
        }
        Order::Stop(_) | Order::End | Order::Erase => return,
    };
    inputs.send(input).ok();
}
