//! Registering a V1 model: its template is made if need be, and a worker in a clone of it tells CDS what it can do.
//!
//! ```text
//!  image ─clone─► <model>-tmp ─post command─► off ─snapshot, template─► <model>-tmp
//!                                   old <model> ─rename─► <model>-old-…     │
//!                                                 <model> ◄─────rename──────┘
//! ```
//!
//! The old template goes when nothing stands on its disks; until then it keeps its mark and its new name.

use std::time::Duration;

use crate::mark::{self, Mark};
use crate::plan::sweep::Condemned;
use rookery_cds::V1Model;
use rookery_daemon::telemetry::chain;
use rookery_fleet::{MachineId, OwnerId};
use rookery_fleet_vsphere::hands::TemplateProof;
use rookery_vim_client::GuestUser;
use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::{info, warn};

use super::launching::For;
use super::spawn::tried;
use super::{ActionContext, Ending, Failure};
use crate::intake::model::{ResolvedModel, last_modified};
use crate::plan::running::TaskId;
use crate::plan::{Adoption, Left, Registration, Remake, retired_name, temporary_name};
use crate::reconcile::Message;

/// How long the making of a template may take in all.
const MAKING: Duration = Duration::from_mins(15);
/// How long its post command may take to turn it off.
const GOING_OFF: Duration = Duration::from_mins(10);
/// How long a registration worker may take to start.
const STARTING: Duration = Duration::from_mins(9);
/// How long what is given up may take to be given up in order.
const GIVING_UP: Duration = Duration::from_secs(30);
/// The snapshot that clones stand on.
const SNAPSHOT: &str = "rookery";

/// A registration under way.
struct Making<'m> {
    action: TaskId,
    registration: &'m Registration,
    model: &'m ResolvedModel,
    user: &'m GuestUser,
}

impl ActionContext {
    pub async fn register(&self, action: TaskId, registration: Registration) -> Ending {
        let model = &registration.model;
        let resolved = ResolvedModel::v1(model, String::new());
        let Ok(v1) = self.v1() else { return Ending::Lost };
        // A list of a few seconds ago may be from before the model was registered.
        match v1.models().await {
            Ok(now) if now.iter().any(|now| is_same(now, model)) => {}
            Ok(now) => {
                self.reconciler.send(Message::Models(now)).await.ok();
                return Ending::Lost;
            }
            Err(error) => return Ending::failed(chain(&error)),
        }
        let user = match self.user(&resolved).await {
            Ok(user) => user,
            Err(error) => return self.not_registered(&resolved, "", *tried(error, None)).await,
        };
        match v1.book_model(&model.group.name, &model.name).await {
            Ok(()) => {}
            Err(error) if error.is_lost_race() => return Ending::Lost,
            Err(error) => return Ending::NotHeld { error: chain(&error) },
        }
        let making = Making { action, registration: &registration, model: &resolved, user: &user };
        let template = match (&registration.remake, &registration.template) {
            (Some(remake), _) => {
                let until = Instant::now() + MAKING;
                let made = self.make_v1_template(&making, remake, until);
                timeout_at(until + GIVING_UP, Box::pin(made)).await.unwrap_or_else(|_| {
                    Err(tried(format!("its template was not made within {} s", MAKING.as_secs()), None))
                })
            }
            (None, Some(template)) => Ok(template.clone()),
            (None, None) => Err(tried("there is no template to clone".to_owned(), None)),
        };
        let (registered, name) = match template {
            Ok(template) => {
                let until = Instant::now() + STARTING;
                let run = self.run_registration(&making, &template, until);
                let run = timeout_at(until + GIVING_UP, Box::pin(run))
                    .await
                    .unwrap_or_else(|_| Err(tried("the worker was not started in time".to_owned(), None)));
                (run, registration.name.clone())
            }
            Err(failure) => (Err(failure), temporary_name(&model.name)),
        };
        match registered {
            Ok(()) => {
                info!(model = %resolved.path(), vm = %registration.name, "registration worker started");
                Ending::Done
            }
            Err(failure) => self.not_registered(&resolved, &name, *failure).await,
        }
    }

    /// Stops the machine of that name, and tells CDS.
    async fn not_registered(&self, model: &ResolvedModel, name: &str, failure: Failure) -> Ending {
        let path = model.path();
        warn!(model = %path, error = %failure.error, "model could not be registered");
        if let Some((machine, _)) = &failure.condemned {
            self.hands.stop(machine, &self.owner(), name).await.ok();
        }
        let told = match (self.v1(), path.rsplit_once('/')) {
            (Ok(v1), Some((group, name))) => v1.model_error(group, name, &failure.error, &[]).await,
            (Ok(_), None) => Ok(()),
            (Err(error), _) => Err(error),
        };
        if let Err(error) = told {
            warn!(model = %path, error = %chain(&error), "failed registration could not be reported");
        }
        let condemned = failure.condemned.map(|(machine, _)| (machine, Condemned::RegistrationEnded));
        Ending::Failed(Failure { condemned, blames_template: true, ..failure })
    }

    async fn run_registration(
        &self,
        making: &Making<'_>,
        template: &MachineId,
        until: Instant,
    ) -> Result<(), Box<Failure>> {
        let Making { registration, model, user, .. } = making;
        let mark = Mark { register_only: true, ..self.mark(model, &registration.name, None) };
        let (name, ended) = (&registration.name, Some(Condemned::RegistrationEnded));
        let machine = self.ready_clone(making, template, name, mark, ended, until).await?;
        let condemned = |error: String| tried(error, Some(machine.clone()));
        let borne = timeout_at(until, self.may_launch(name)).await;
        borne.map_err(|_| {
            condemned("CDS answered too slowly: the worker was not launched in time".to_owned())
        })?;
        let worker = self.worker(name, model, For::Registration).await.map_err(&condemned)?;
        self.start_worker(&machine, user, model, &worker).await.map_err(&condemned)
    }

    async fn make_v1_template(
        &self,
        making: &Making<'_>,
        remake: &Remake,
        until: Instant,
    ) -> Result<MachineId, Box<Failure>> {
        let owner = self.owner();
        let name = &making.registration.model.name;
        if let Some(Left::InTheWay(old)) = &remake.left {
            self.set_aside(old, &owner, name).await.map_err(|error| tried(error, None))?;
            self.retire(old, &owner, name).await;
        }
        let machine = match &remake.left {
            Some(Left::Finished(machine)) => machine.clone(),
            Some(Left::InTheWay(_)) | None => {
                self.make_under_temporary_name(making, &remake.image, until).await?
            }
        };
        if let Some(old) = &remake.replaces {
            self.set_aside(old, &owner, name).await.map_err(|error| tried(error, None))?;
        }
        let renamed = self.hands.rename(&machine, &owner, name).await;
        renamed.map_err(|error| tried(chain(&error), None))?;
        info!(model = %making.model.path(), "template made");
        if let Some(old) = &remake.replaces {
            self.retire(old, &owner, name).await;
        }
        Ok(machine)
    }

    async fn make_under_temporary_name(
        &self,
        making: &Making<'_>,
        image: &MachineId,
        until: Instant,
    ) -> Result<MachineId, Box<Failure>> {
        let owner = self.owner();
        let temporary = temporary_name(&making.registration.model.name);
        let mark = Mark {
            hatchery_name: owner.name().to_owned(),
            worker_model_path: making.model.path(),
            worker_model_last_modified: making.model.last_modified(),
            model: true,
            created: Some(self.now()),
            ..Mark::default()
        };
        let machine = self.ready_clone(making, image, &temporary, mark.clone(), None, until).await?;
        let condemned = |error: String| tried(error, Some(machine.clone()));
        if let Some(finisher) = self.finisher(making.model).map_err(&condemned)? {
            let launched = self.hands.launch(&machine, making.user, &finisher).await;
            launched.map_err(|error| condemned(chain(&error)))?;
            let off = self.hands.wait_off(&machine, GOING_OFF).await;
            off.map_err(|error| {
                condemned(format!("the model's post command did not turn the VM off: {}", chain(&error)))
            })?;
        } else {
            self.hands.stop(&machine, &owner, &temporary).await.map_err(|error| condemned(chain(&error)))?;
        }
        // Its address is free again: clones get their own.
        let marked = self.hands.mark_anew(&machine, &owner, |_| mark);
        marked.await.map_err(|error| condemned(chain(&error)))?;
        let made = self.hands.make_template(&machine, &owner, SNAPSHOT).await;
        made.map_err(|error| condemned(chain(&error)))?;
        Ok(machine)
    }

    /// A clone with the address of the registration, as soon as programs can be started in it.
    async fn ready_clone(
        &self,
        making: &Making<'_>,
        template: &MachineId,
        name: &str,
        mark: Mark,
        condemned_for: Option<Condemned>,
        until: Instant,
    ) -> Result<MachineId, Box<Failure>> {
        let address = making.registration.address.as_ref();
        let spec = self.clone_spec(template, name, mark, None, address);
        let machine = self.clone_as(&spec, condemned_for, sleep_until(until)).await?;
        self.is_about(making.action, &machine).await;
        let ready = self.hands.ready(&machine, address.map(|assigned| assigned.ip), making.user).await;
        ready.map_err(|error| tried(chain(&error), Some(machine.clone())))?;
        Ok(machine)
    }

    /// Makes room for a new template of the same name.
    async fn set_aside(&self, old: &MachineId, owner: &OwnerId, name: &str) -> Result<(), String> {
        self.hands.rename(old, owner, &retired_name(name, old)).await.map_err(|error| chain(&error))
    }

    /// Removes a template that has been replaced, unless something stands on its disks.
    pub async fn retire(&self, old: &MachineId, owner: &OwnerId, name: &str) {
        let (owner, name) = (owner.clone(), retired_name(name, old));
        let proof = TemplateProof { owner, name, accepts: |mark: &Mark| mark.model };
        match self.hands.delete_template(old, &proof).await {
            Ok(()) => info!(template = %proof.name, "replaced template deleted"),
            Err(error) => {
                info!(template = %proof.name, why = %chain(&error), "replaced template cannot be deleted yet");
            }
        }
    }

    /// Takes a template of another hatchery over and sets it aside. Its mark comes first: cut off in between, it is an
    /// old template of ours, which is replaced as any other.
    pub async fn adopt(&self, adoption: &Adoption) -> Ending {
        let owner = self.owner();
        let Adoption { template, name, model, from } = adoption;
        let accepts = |mark: &Mark| mark.model && mark.worker_model_path == *model;
        let theirs = TemplateProof { owner: mark::owner(from), name: name.clone(), accepts };
        let ours = |mark: &Mark| Mark { hatchery_name: owner.name().to_owned(), ..mark.clone() };
        let adopted = match self.hands.adopt_template(template, &theirs, ours).await {
            Ok(()) => self.set_aside(template, &owner, name).await,
            Err(error) => Err(chain(&error)),
        };
        match adopted {
            Ok(()) => Ending::Done,
            Err(error) => Ending::failed(error),
        }
    }
}

/// Whether a model is still as it was when its registration was planned.
fn is_same(now: &V1Model, planned: &V1Model) -> bool {
    let state = |model: &V1Model| (model.need_registration, model.check_registration, last_modified(model));
    now.path() == planned.path() && state(now) == state(planned)
}
