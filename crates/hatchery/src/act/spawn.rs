//! A worker for a job.
//!
//! ```text
//!  who may enter the guest? ─no─► unprepared          (nothing was taken)
//!        │
//!  take the job ─lost─► lost                          (normal life)
//!        │
//!  claim ─failed─► another place ─none─► give it back
//!    or clone       │
//!        ▼          ▼
//!  start, wait until it is ready and until CDS bears another worker, launch ─failed─► stop the machine, condemn it, give the job back
//! ```

use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::machine::{ClaimSpec, CloneSpec};
use crate::mark::Mark;
use crate::plan::sweep::Condemned;
use jiff::SignedDuration;
use rookery_cds::JobId;
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use rookery_fleet::address::Assigned;
use rookery_fleet::flavor::Flavor;
use rookery_fleet_vsphere::hands::Fixed;
use rookery_vim_client::GuestUser;
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::launching::For;
use super::{ActionContext, Ending, Failure, Held, Unfinished};
use crate::intake::model::ResolvedModel;
use crate::plan::running::TaskId;
use crate::plan::{START, Spawn, WorkerPlacement};
use crate::settings::SlowSpawn;
use crate::surface::metrics::{Stage, Way};

impl ActionContext {
    pub async fn spawn(&self, action: TaskId, spawn: Spawn) -> Ending {
        let _under_way = self.halt.start();
        let user = match self.user(&spawn.model).await {
            Ok(user) => user,
            Err(error) => {
                let model = (spawn.project.clone(), spawn.model.identity());
                return Ending::Unprepared { model, error };
            }
        };
        let asked = Instant::now();
        let held = match self.hold(&spawn.job).await {
            Ok(held) => held,
            Err(error) if error.is_lost_race() || error.is_gone() => return Ending::Lost,
            Err(error) => {
                self.metrics.stage_failed(Stage::Take);
                self.release(&spawn.job, &error).await;
                return Ending::NotHeld { error: chain(&error) };
            }
        };
        self.metrics.stage_done(Stage::Take, asked.elapsed());
        self.metrics.taken();
        let begun = Instant::now();
        let size = spawn
            .flavor
            .as_ref()
            .map_or("template resources".to_owned(), |flavor| format!("flavor {}", flavor.name));
        self.tell_start(&held, &spawn.name, &spawn.model, &size).await;
        let launched = AtomicBool::new(false);
        let mut starting = Box::pin(self.start(action, &spawn, &user, begun + START, &launched));
        let started = tokio::select! {
            biased;
            () = self.halted(&launched) => return self.abandon(held, &spawn, begun, starting).await,
            started = &mut starting => started,
        };
        match started {
            Ok(way) => {
                // By CDS's clock, which need not be ours.
                let after = spawn.queued.map(|queued| self.clock.now().duration_since(queued));
                self.metrics.started(way, after.map(|after| after.max(SignedDuration::ZERO).unsigned_abs()));
                self.log_start(&spawn, begun);
                Ending::Done
            }
            Err(failure) => self.undo(held, &spawn, begun, *failure).await,
        }
    }

    /// Comes when a start is to be given up. One whose worker is being launched is not: without an answer it may run.
    async fn halted(&self, launched: &AtomicBool) {
        self.halt.halted().await;
        if launched.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Gives a start up because the hatchery is being stopped. No worker was launched, so that nobody can take the job: it
    /// goes back while vCenter ends what was begun, and each takes as long as it takes.
    async fn abandon(
        &self,
        held: Held,
        spawn: &Spawn,
        begun: Instant,
        starting: impl Future<Output = Result<Way, Box<Failure>>>,
    ) -> Ending {
        let error = "the hatchery is being stopped";
        let cleaning_up = async {
            // It gives itself up by now, as it would at the end of its time.
            let left = starting.await.err().map(|left| *left).unwrap_or_default();
            self.stop_failed(spawn, &left).await;
            left
        };
        let giving_back = self.give_back(held, &spawn.name, None, &spawn.model, begun.elapsed(), error);
        let (left, ()) = tokio::join!(cleaning_up, giving_back);
        self.metrics.start_failed();
        Ending::Failed(Failure { error: error.to_owned(), tried: false, ..left })
    }

    /// Comes when a start has to be given up: its time is over, or the hatchery is being stopped.
    async fn given_up(&self, until: Instant, launched: &AtomicBool) {
        tokio::select! {
            biased;
            () = self.halted(launched) => {}
            () = sleep_until(until) => {}
        }
    }

    async fn stop_failed(&self, spawn: &Spawn, failure: &Failure) {
        let name = failure.worker.as_ref().unwrap_or(&spawn.name);
        if let Some((machine, _)) = &failure.condemned
            && let Err(error) = self.hands.stop(machine, &self.owner(), name).await
        {
            warn!(vm = %name, error = %chain(&error), "machine of a failed start could not be stopped");
        }
    }

    fn log_start(&self, spawn: &Spawn, begun: Instant) {
        let (job, vm, took) = (&spawn.job, &spawn.name, begun.elapsed());
        let elapsed_ms = took.as_millis();
        match pace(took, &self.settings().queue.slow_spawn) {
            Pace::FarTooSlow => error!(%job, %vm, elapsed_ms, "worker started far too slowly"),
            Pace::Slow => warn!(%job, %vm, elapsed_ms, "worker started slowly"),
            Pace::Usual => info!(%job, %vm, elapsed_ms, "worker started"),
        }
    }

    /// One way out of every failure.
    async fn undo(&self, held: Held, spawn: &Spawn, begun: Instant, failure: Failure) -> Ending {
        self.metrics.start_failed();
        warn!(job = %spawn.job, vm = %spawn.name, error = %failure.error, "worker could not be started");
        self.stop_failed(spawn, &failure).await;
        let machine = failure.condemned.as_ref().map(|(machine, _)| machine);
        let after = begun.elapsed();
        let name = failure.worker.as_ref().unwrap_or(&spawn.name);
        self.give_back(held, name, machine, &spawn.model, after, &failure.error).await;
        Ending::Failed(failure)
    }

    async fn start(
        &self,
        action: TaskId,
        spawn: &Spawn,
        user: &GuestUser,
        until: Instant,
        launched: &AtomicBool,
    ) -> Result<Way, Box<Failure>> {
        let (spawn, machine, address) = Box::pin(self.find_place(action, spawn, until, launched)).await?;
        let launching = Box::pin(self.start_in(&spawn, &machine, address, user, launched));
        let started = tokio::select! {
            biased;
            () = self.given_up(until, launched) => Err(out_of_time(Some(machine.clone()))),
            started = launching => started,
        };
        started.map_err(|failure| as_worker(failure, &spawn))
    }

    /// The machine for a worker, and its address. A clone sees to the end of its time by itself: what would just be dropped
    /// here would go on in vCenter, with an address that is free for others.
    async fn find_place(
        &self,
        action: TaskId,
        spawn: &Spawn,
        until: Instant,
        launched: &AtomicBool,
    ) -> Result<(Spawn, MachineId, Option<Ipv4Addr>), Box<Failure>> {
        let mut spawn = spawn.clone();
        loop {
            match &spawn.path {
                WorkerPlacement::Clone { address, .. } => {
                    let address = address.as_ref().map(|assigned| assigned.ip);
                    let cloning = Box::pin(self.clone_worker(&spawn, self.given_up(until, launched)));
                    let cloned = self.timed(Stage::Clone, cloning).await;
                    let machine = cloned.map_err(|failure| as_worker(failure, &spawn))?;
                    self.is_about(action, &machine).await;
                    return Ok((spawn, machine, address));
                }
                WorkerPlacement::Claim { machine, mark, .. } => {
                    let (found, address) = (machine.clone(), mark.address());
                    let claiming = Box::pin(self.timed(Stage::Claim, self.claim_worker(&spawn)));
                    let claimed = tokio::select! {
                        biased;
                        () = self.given_up(until, launched) => return Err(out_of_time(None)),
                        claimed = claiming => claimed,
                    };
                    match claimed {
                        Ok(()) => return Ok((spawn, found, address)),
                        Err(error) => {
                            info!(job = %spawn.job, vm = %machine, %error, "warm machine could not be used; looking for another machine or template");
                            let another = self.another_place(action, found).await;
                            spawn = another.ok_or_else(|| {
                                tried(
                                    format!("{error}; there is no other warm machine or template to use"),
                                    None,
                                )
                            })?;
                        }
                    }
                }
            }
        }
    }

    async fn start_in(
        &self,
        spawn: &Spawn,
        machine: &MachineId,
        address: Option<Ipv4Addr>,
        user: &GuestUser,
        launched: &AtomicBool,
    ) -> Result<Way, Box<Failure>> {
        let condemned = |error: String| tried(error, Some(machine.clone()));
        if let WorkerPlacement::Claim { .. } = spawn.path {
            let owner = self.owner();
            let started = self.timed(Stage::Start, self.hands.start(machine, &owner, &spawn.name)).await;
            started.map_err(|error| {
                let crowded = error.is_want_of_room();
                Box::new(Failure { crowded, tried: !crowded, ..*condemned(chain(&error)) })
            })?;
        }
        let ready = self.timed(Stage::Ready, self.hands.ready(machine, address, user)).await;
        ready.map_err(|error| condemned(chain(&error)))?;
        self.may_launch(&spawn.name).await;
        let launch = async {
            let worker = self.worker(&spawn.name, &spawn.model, For::Job(&spawn.job)).await?;
            launched.store(true, Ordering::Relaxed);
            self.start_worker(machine, user, &spawn.model, &worker).await
        };
        self.timed(Stage::Launch, launch).await.map_err(&condemned)?;
        Ok(Way::of(&spawn.path))
    }

    async fn timed<T, E>(&self, stage: Stage, part: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        let begun = Instant::now();
        let ended = part.await;
        match &ended {
            Ok(_) => self.metrics.stage_done(stage, begun.elapsed()),
            Err(_) => self.metrics.stage_failed(stage),
        }
        ended
    }

    async fn claim_worker(&self, spawn: &Spawn) -> Result<(), String> {
        let WorkerPlacement::Claim { machine, was, resize, mark } = &spawn.path else { return Ok(()) };
        let flavor = spawn.flavor.as_ref().map_or_else(|| mark.flavor.clone(), |flavor| flavor.name.clone());
        let wish = ClaimSpec {
            machine: machine.clone(),
            was: was.clone(),
            chosen_by: (**mark).clone(),
            owner: self.owner(),
            mark: Mark {
                worker_name: spawn.name.clone(),
                provisioning: false,
                worker_start_time: Some(self.now()),
                job_id: spawn.job.to_string(),
                flavor,
                ..(**mark).clone()
            },
            name: spawn.name.clone(),
            resize: *resize,
        };
        self.hands.claim(&wish).await.map_err(|error| {
            self.metrics.claim_failed(error.as_str());
            chain(&error)
        })
    }

    async fn clone_worker(
        &self,
        spawn: &Spawn,
        until: impl Future<Output = ()>,
    ) -> Result<MachineId, Box<Failure>> {
        let WorkerPlacement::Clone { template, incarnation, address } = &spawn.path else {
            return Err(tried("there is nothing to clone".to_owned(), None));
        };
        let mark = Mark {
            template_incarnation: incarnation.clone().unwrap_or_default(),
            ..self.mark(&spawn.model, &spawn.name, Some(&spawn.job))
        };
        let spec = self.clone_spec(template, &spawn.name, mark, spawn.flavor.as_ref(), address.as_ref());
        self.clone_as(&spec, Some(Condemned::SpawnFailed), until).await
    }

    /// A clone that is turned on. Its mark tells its address and its flavor, too.
    pub(super) fn clone_spec(
        &self,
        template: &MachineId,
        name: &str,
        mark: Mark,
        flavor: Option<&Flavor>,
        address: Option<&Assigned>,
    ) -> CloneSpec {
        let settings = self.settings();
        let fixed = |given: &Assigned| Fixed {
            ip: given.ip,
            mask: given.mask,
            gateway: given.gateway,
            dns: given.dns.clone(),
        };
        CloneSpec {
            template: template.clone(),
            name: name.to_owned(),
            placement: self.placement.clone(),
            mark: Mark {
                ip_address: address.map(|assigned| assigned.ip.to_string()).unwrap_or_default(),
                flavor: flavor.map(|flavor| flavor.name.clone()).unwrap_or_default(),
                ..mark
            },
            hardware: flavor.map(|flavor| flavor.hardware).unwrap_or_default(),
            first_disk_kb: flavor.and_then(Flavor::first_disk_kb),
            address: address.map(fixed),
            power_on: true,
            disk_move: settings.vcenter.disk_move,
            card_class: settings.vcenter.card_class.clone(),
        }
    }

    /// Makes a clone, and says what is left of one that failed, or that was given up when `until` came. The reason is that of
    /// its machine if it appears after that.
    pub(super) async fn clone_as(
        &self,
        wish: &CloneSpec,
        condemned_for: Option<Condemned>,
        until: impl Future<Output = ()>,
    ) -> Result<MachineId, Box<Failure>> {
        self.hands.clone_vm_by(wish, until).await.map_err(|failed| {
            let unfinished = failed.unfinished.as_ref().map(|unfinished| Unfinished {
                name: wish.name.clone(),
                address: wish.address.as_ref().map(|fixed| fixed.ip),
                task: unfinished.task.clone(),
                condemned_for,
            });
            Box::new(Failure {
                error: chain(&failed),
                condemned: failed.left_behind.clone().map(|machine| (machine, Condemned::SpawnFailed)),
                unfinished,
                blames_template: failed.is_fault_of_template(),
                crowded: failed.is_want_of_room(),
                // That there is no room is not the job's fault.
                tried: !failed.is_want_of_room(),
                ..Failure::default()
            })
        })
    }

    pub(super) fn mark(&self, model: &ResolvedModel, name: &str, job: Option<&JobId>) -> Mark {
        let now = self.now();
        Mark {
            hatchery_name: self.settings().identity.name.clone(),
            worker_name: name.to_owned(),
            worker_model_last_modified: model.last_modified(),
            created: Some(now),
            worker_start_time: Some(now),
            job_id: job.map(ToString::to_string).unwrap_or_default(),
            ..Mark::of_model(model.kind(), model.path())
        }
    }
}

pub(super) fn tried(error: String, machine: Option<MachineId>) -> Box<Failure> {
    let condemned = machine.map(|machine| (machine, Condemned::SpawnFailed));
    Box::new(Failure { error, condemned, tried: true, ..Failure::default() })
}

fn out_of_time(machine: Option<MachineId>) -> Box<Failure> {
    tried(format!("the worker was not started within {} s", START.as_secs()), machine)
}

#[derive(Debug, PartialEq, Eq)]
enum Pace {
    Usual,
    Slow,
    FarTooSlow,
}

fn pace(took: Duration, slow: &SlowSpawn) -> Pace {
    if took >= slow.critical {
        Pace::FarTooSlow
    } else if took >= slow.warning {
        Pace::Slow
    } else {
        Pace::Usual
    }
}

/// Another place has another name: what is left there goes by that one.
fn as_worker(mut failure: Box<Failure>, spawn: &Spawn) -> Box<Failure> {
    failure.worker = Some(spawn.name.clone());
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::settings;

    #[test]
    fn a_start_is_slow_from_where_the_settings_say() {
        let of = |fragment: &str, seconds: u64| {
            pace(Duration::from_secs(seconds), &settings(fragment).queue.slow_spawn)
        };
        assert_eq!([of("", 359), of("", 360), of("", 479)], [Pace::Usual, Pace::Slow, Pace::Slow]);
        assert_eq!(of("", 480), Pace::FarTooSlow);
        let table = "commonConfiguration.logOptions.spawnOptions";
        let strict = format!("{table}.thresholdWarning = 5\n{table}.thresholdCritical = 9");
        assert_eq!([of(&strict, 4), of(&strict, 5)], [Pace::Usual, Pace::Slow]);
        assert_eq!(of(&strict, 9), Pace::FarTooSlow);
    }
}
