//! Which V1 models are registered now: their template is made, and a worker tells CDS what it can do.

use std::collections::VecDeque;

use crate::machine::Machine;
use crate::names;
use crate::names::ModelKind;
use crate::plan::capacity::admit_registration;
use rookery_cds::{MODEL_TYPE, V1Model};
use rookery_fleet::address::Assigned;
use rookery_fleet::flavor::footprint;
use rookery_fleet::{Hardware, MachineId, Role};

use super::templates::{V1Template, v1_template};
use super::{Action, NotMade, Pass, WaitReason};
use crate::intake::model::last_modified;

/// So many jobs get a slot before a model does that waits, too.
const JOBS_BEFORE_A_MODEL: u32 = 3;
/// A model that failed more often in a row is left alone until somebody changes it.
const MOST_SPAWN_ERRORS: i64 = 5;

#[derive(Debug, Clone)]
pub struct Registration {
    pub model: V1Model,
    /// Whether its template has to be made first, and what it is made from.
    pub remake: Option<Remake>,
    /// The template, if it can be cloned as it is.
    pub template: Option<MachineId>,
    /// The worker's name, and its machine's.
    pub name: String,
    /// The address of the machine; none: from DHCP. The template in the making has it before.
    pub address: Option<Assigned>,
    pub footprint: Hardware,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remake {
    pub image: MachineId,
    pub replaces: Option<MachineId>,
    /// What an earlier making has left under the temporary name.
    pub left: Option<Left>,
}

/// A template of ours that an earlier making has left under the temporary name: a crash came in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It is what is to be made, and lacks its name alone.
    Finished(MachineId),
    /// The model was changed since: it has to make room.
    InTheWay(MachineId),
}

/// What a model is registered from.
struct Source {
    remake: Option<Remake>,
    template: Option<MachineId>,
    footprint: Hardware,
}

impl<'p> Pass<'p> {
    /// Registers all models that there is room for.
    pub(super) fn register_models(&mut self) {
        while self.register_next() {}
    }

    /// Registers a model if it is its turn: in a backlog jobs would take every slot for ever.
    pub(super) fn register_in_turn(&mut self) {
        if self.plan.carried.turns >= JOBS_BEFORE_A_MODEL {
            self.register_next();
        }
    }

    /// The models in the order in which they are registered.
    fn due(&self) -> VecDeque<&'p V1Model> {
        let Some(models) = self.seen.models else { return VecDeque::new() };
        if self.seen.draining || !self.seen.view.complete || self.seen.listing.is_none() {
            return VecDeque::new();
        }
        let mut due: Vec<&V1Model> = models.iter().filter(|model| model.kind == MODEL_TYPE).collect();
        due.sort_by_key(|model| {
            let urgency = 2 * u8::from(model.need_registration) + u8::from(model.check_registration);
            (std::cmp::Reverse(urgency), model.path())
        });
        due.into()
    }

    /// Registers the next model that can be, and says whether there was one. Each is looked at once in a pass.
    fn register_next(&mut self) -> bool {
        let Some(most) = self.want.registering else { return false };
        let mut due = self.models.take().unwrap_or_else(|| self.due());
        let mut is_registered = false;
        while !is_registered && let Some(model) = due.pop_front() {
            let ready = match self.source(model, most) {
                // Why nothing happens is told between two looks, too.
                Ok(Some(_)) if !self.seen.registration_is_due => continue,
                Ok(Some(_)) if self.seen.room_is_asked => {
                    self.plan.missing.room = true;
                    continue;
                }
                Ok(Some(source)) => self.registration(model, source),
                Ok(None) => continue,
                Err(why) => Err(why),
            };
            match ready {
                Ok(registration) => {
                    self.ledger.take_registration(&registration.footprint);
                    self.plan.actions.push(Action::Register(Box::new(registration)));
                    (self.plan.carried.turns, is_registered) = (0, true);
                }
                Err(why) => {
                    self.plan.models_wait |= matches!(why, WaitReason::Shortage(_)) && !why.is_permanent();
                    self.plan.not_made.push((model.path(), NotMade::Registration(why)));
                }
            }
        }
        self.models = Some(due);
        is_registered
    }

    /// What a model is registered from, if it has to be.
    fn source(&self, model: &V1Model, most: u32) -> Result<Option<Source>, WaitReason> {
        let state = v1_template(self.seen.view, self.want.owner, model);
        let (replaces, current) = match state {
            V1Template::Missing => (None, None),
            V1Template::Outdated(old) => (Some(old), None),
            V1Template::Current(template) if model.need_registration && self.is_ours(&template) => {
                (Some(template), None)
            }
            V1Template::Current(template) if model.need_registration || model.check_registration => {
                (None, Some(template))
            }
            V1Template::Current(_) | V1Template::Unknown => return Ok(None),
            V1Template::Taken(taken) => return Err(taken.why(model)),
        };
        if let Some(why) = self.in_the_way(model).filter(|_| current.is_none()) {
            return Err(why);
        }
        if model.nb_spawn_err > MOST_SPAWN_ERRORS || self.is_under_way(model) {
            return Ok(None);
        }
        if let Some(until) = self.rests_until(ModelKind::V1, &model.path()) {
            return Err(WaitReason::BackOff { template: model.name.clone(), until });
        }
        let source = match &current {
            Some(template) => self.seen.view.machines.get(template).map(AsRef::as_ref),
            None => Some(self.template_named(&model.model_virtual_machine.image)?),
        };
        let Some(source) = source else { return Ok(None) };
        self.is_borne_by_cds()?;
        let footprint = footprint(None, source.hardware);
        admit_registration(&self.ledger, self.want.limits, most, self.seen.room, &footprint)
            .map_err(WaitReason::Shortage)?;
        let left = self.left_behind(model);
        let remake = current.is_none().then(|| Remake { image: source.id.clone(), replaces, left });
        Ok(Some(Source { remake, template: current, footprint }))
    }

    fn registration(&mut self, model: &V1Model, source: Source) -> Result<Registration, WaitReason> {
        let Source { remake, template, footprint } = source;
        let address = self.address()?;
        let name = self.name(names::register);
        Ok(Registration { model: model.clone(), remake, template, name, address, footprint })
    }

    /// Whether a template carries our mark; another hatchery's is used, and never replaced.
    fn is_ours(&self, template: &MachineId) -> bool {
        let template = self.seen.view.machines.get(template);
        template.is_some_and(|template| template.mark_of(self.want.owner).is_some() && !template.is_outside)
    }

    /// Whether somebody registers this model, which is told by marks, not by names.
    fn is_under_way(&self, model: &V1Model) -> bool {
        let path = model.path();
        let temporary = temporary_name(&model.name);
        self.seen.booked.contains(&path)
            || self.seen.running.registers(&path)
            || self.seen.reserved.names.contains(&temporary)
            // A row shows it, though we have given it another name.
            || (self.seen.view.is_taken(&temporary) && self.seen.view.named(&temporary).next().is_none())
            || self.seen.view.named(&temporary).any(|machine| {
                let may_be_ours = machine.is_unknown() || machine.mark_of(self.want.owner).is_some();
                may_be_ours && !self.is_left_over(machine, &path)
            })
            || self
                .seen
                .view
                .owned(self.want.owner)
                .any(|(_, mark)| mark.register_only && mark.worker_model_path == path)
    }

    /// What keeps the template of a model from being made under its temporary name, if that is not ours.
    pub(super) fn in_the_way(&self, model: &V1Model) -> Option<WaitReason> {
        let name = temporary_name(&model.name);
        let theirs = |machine: &&Machine| !machine.is_unknown() && machine.mark_of(self.want.owner).is_none();
        let found = self.seen.view.named(&name).find(theirs)?;
        let owner = found.any_mark().map(|mark| mark.hatchery_name.clone()).filter(|owner| !owner.is_empty());
        Some(WaitReason::InTheWay { name, owner })
    }

    fn left_behind(&self, model: &V1Model) -> Option<Left> {
        let (temporary, path) = (temporary_name(&model.name), model.path());
        let left = self.seen.view.named(&temporary).find(|machine| self.is_left_over(machine, &path))?;
        let made_from = left.mark().map(|mark| mark.worker_model_last_modified.as_str());
        let is_current = made_from == Some(last_modified(model).as_str());
        let id = left.id.clone();
        Some(if is_current { Left::Finished(id) } else { Left::InTheWay(id) })
    }

    /// Whether it is a template that we made for this model and did not come to give its name.
    fn is_left_over(&self, machine: &Machine, path: &str) -> bool {
        let mark = machine.mark_of(self.want.owner).filter(|_| machine.role == Role::Template);
        mark.is_some_and(|mark| mark.model && mark.worker_model_path == path)
    }
}

/// What a template is called while it is made.
pub fn temporary_name(model: &str) -> String {
    format!("{model}-tmp")
}
