//! Which machine is cloned for a model.

use crate::machine::{Machine, View};
use crate::names::ModelKind;
use crate::standing::{Standing, standing};
use rookery_cds::V1Model;
use rookery_fleet::{MachineId, OwnerId, Role};

use super::apart::{WhyApart, why_apart};
use super::{DeleteReason, Pass, WaitReason};
use crate::intake::model::{ResolvedModel, last_modified};

/// What there is of a V1 model's template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V1Template {
    Missing,
    Current(MachineId),
    /// The model was changed since it was made.
    Outdated(MachineId),
    /// Its name is taken by something that is not the model's template, or not ours to replace.
    Taken(Taken),
    /// It cannot be said yet.
    Unknown,
}

/// By what the name of a model's template is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    BySeveral {
        count: usize,
    },
    /// A machine that is no template of a model.
    ByMachine,
    ByModel {
        path: String,
    },
    /// A template of this model, older than the model, that another hatchery made.
    ByHatchery {
        hatchery: String,
        template: MachineId,
    },
    /// A template of ours, older than the model, that is left alone.
    LeftAlone {
        why: WhyApart,
    },
}

impl Taken {
    /// Why the model has to wait.
    pub(super) fn why(self, model: &V1Model) -> WaitReason {
        let template = model.name.clone();
        match self {
            Self::BySeveral { count } => WaitReason::TemplateAmbiguous { template, count },
            Self::ByMachine => WaitReason::NameOfTemplateTaken { name: template, model: model.path() },
            Self::ByModel { path } => WaitReason::TemplateOfAnotherModel { template, owner: path },
            Self::ByHatchery { hatchery, .. } => {
                WaitReason::TemplateOfAnotherHatchery { template, model: model.path(), hatchery }
            }
            Self::LeftAlone { why } => WaitReason::TemplateLeftAlone { template, model: model.path(), why },
        }
    }
}

/// What there is of a V1 model's template. It is named like the model, and its mark names the model's path.
pub fn v1_template(view: &View, owner: &OwnerId, model: &V1Model) -> V1Template {
    let found: Vec<&Machine> = view.named(&model.name).collect();
    let [machine] = found.as_slice() else {
        return match found.as_slice() {
            [] => V1Template::Missing,
            several => V1Template::Taken(Taken::BySeveral { count: several.len() }),
        };
    };
    if machine.is_unknown() {
        return V1Template::Unknown;
    }
    // A copy can be cloned as well as its original.
    let Some(mark) = machine.any_mark().filter(|mark| machine.role == Role::Template && mark.model) else {
        return V1Template::Taken(Taken::ByMachine);
    };
    if mark.worker_model_path != model.path() {
        return V1Template::Taken(Taken::ByModel { path: mark.worker_model_path.clone() });
    }
    if mark.worker_model_last_modified == last_modified(model) {
        return V1Template::Current(machine.id.clone());
    }
    if let Some(why) = why_apart(machine, owner) {
        V1Template::Taken(Taken::LeftAlone { why })
    } else if mark.hatchery_name == owner.name() {
        V1Template::Outdated(machine.id.clone())
    } else {
        let hatchery = mark.hatchery_name.clone();
        V1Template::Taken(Taken::ByHatchery { hatchery, template: machine.id.clone() })
    }
}

/// The name of a template that has been replaced; another one of the same model has another reference.
pub fn retired_name(model: &str, old: &MachineId) -> String {
    format!("{model}-old-{old}")
}

impl<'p> Pass<'p> {
    /// Templates that have been replaced stayed while machines stood on their disks. Which of ours do is told by their
    /// marks; disks of others are looked at by who deletes.
    pub(super) fn retire_templates(&mut self) {
        let view = self.seen.view;
        if !view.complete || self.plan.stopped.is_some() {
            return;
        }
        let is_needed = |template: &Machine| {
            let incarnation = template.incarnation.as_deref();
            view.owned(self.want.owner)
                .any(|(_, mark)| Some(mark.template_incarnation.as_str()) == incarnation)
        };
        let retired = |machine: &'p Machine| {
            let mark = machine.mark_of(self.want.owner).filter(|_| !machine.is_outside)?;
            let name = mark.worker_model_path.rsplit('/').next().unwrap_or_default();
            let set_aside = machine.role == Role::Template && mark.model && !name.is_empty();
            let is_retired = set_aside && machine.name == retired_name(name, &machine.id);
            let has_heir = || {
                view.named(name).any(|heir| {
                    let path = heir.mark().map(|mark| &mark.worker_model_path);
                    heir.role == Role::Template && path == Some(&mark.worker_model_path)
                })
            };
            let is_free = !self.is_busy(machine) && !view.is_unsettled(&machine.id);
            let goes = is_retired && is_free && has_heir() && !is_needed(machine);
            goes.then(|| machine.id.clone())
        };
        let mut retired: Vec<_> = view.notable().filter_map(retired).collect();
        retired.sort_by_key(|id| self.seen.failures(id));
        retired.truncate(self.free_deletions());
        for id in &retired {
            self.delete(id, DeleteReason::Replaced);
        }
    }

    /// The machine that is cloned for a job.
    pub(super) fn template(&self, model: &ResolvedModel) -> Result<&'p Machine, WaitReason> {
        match model.kind() {
            ModelKind::V1 => self.template_of_v1(&model.path()),
            ModelKind::V2 => self.template_named(model.template()),
        }
    }

    fn template_of_v1(&self, path: &str) -> Result<&'p Machine, WaitReason> {
        let known = self.seen.models.unwrap_or_default();
        let being_made = || WaitReason::TemplateBeingMade { model: path.to_owned() };
        let model = known.iter().find(|model| model.path() == path).ok_or_else(being_made)?;
        match v1_template(self.seen.view, self.want.owner, model) {
            V1Template::Current(id) => {
                self.seen.view.machines.get(&id).map(AsRef::as_ref).ok_or_else(being_made)
            }
            V1Template::Missing | V1Template::Outdated(_) => {
                Err(self.in_the_way(model).unwrap_or_else(being_made))
            }
            V1Template::Taken(taken) => Err(taken.why(model)),
            V1Template::Unknown => Err(WaitReason::InventoryIncomplete),
        }
    }

    /// Any machine of that name that is nobody's worker will do; templates come first.
    pub(super) fn template_named(&self, name: &str) -> Result<&'p Machine, WaitReason> {
        let missing = || WaitReason::TemplateMissing { template: name.to_owned() };
        if name.is_empty() {
            return Err(missing());
        }
        let found: Vec<&Machine> = self.seen.view.named(name).collect();
        let templates: Vec<&Machine> =
            found.iter().copied().filter(|machine| machine.role == Role::Template).collect();
        match (templates.as_slice(), found.as_slice()) {
            ([template], _) => Ok(template),
            ([], []) => Err(missing()),
            ([], [machine]) if machine.is_unknown() => Err(WaitReason::InventoryIncomplete),
            ([], [machine]) => match standing(machine, self.want.owner) {
                Standing::Foreign | Standing::Template => Ok(machine),
                Standing::TemplateInMaking
                | Standing::Pooled
                | Standing::HalfClaimed
                | Standing::Worker
                | Standing::Registering
                | Standing::Unknown => Err(missing()),
            },
            (_, several) => {
                Err(WaitReason::TemplateAmbiguous { template: name.to_owned(), count: several.len() })
            }
        }
    }
}
