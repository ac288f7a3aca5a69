//! Deleting, the one act without a way back.

use jiff::Timestamp;
use rookery_fleet::overlay::Fact;
use rookery_fleet::standing::is_in_making;
use rookery_fleet::{MachineId, Role};
use rookery_vim::FaultKind;

use super::fresh::Fresh;
use super::template::Hanging;
use super::{ActError, HEAVY, Hands, Refusal};
use crate::observe::vm;

/// What must be true of a VM at the moment of its deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its mark is this owner's.
    pub owner: String,
    /// It has this name.
    pub name: String,
    /// Nobody keeps it for longer than until now, by vCenter's clock.
    pub now: Timestamp,
}

impl Proof {
    fn of_vm(&self, fresh: &Fresh) -> Result<(), Refusal> {
        let mark = fresh.vm_of(&self.owner)?;
        if let Some(until) = mark.hold_until.filter(|until| *until > self.now) {
            return Err(Refusal::Held { until });
        }
        // Nobody clones a template that is not finished.
        let is_model = mark.model && !is_in_making(&fresh.name, mark);
        if is_model { Err(Refusal::Model) } else { self.of_name(fresh) }
    }

    fn of_template(&self, fresh: &Fresh) -> Result<(), Refusal> {
        match fresh.role {
            Role::Unknown => return Err(Refusal::Unknown),
            Role::Vm => return Err(Refusal::NoTemplate),
            Role::Template => {}
        }
        let mark = fresh.mark_of(&self.owner)?;
        // Whoever marked it so made it: a template that a person made for clones is not ours to remove.
        if mark.model { self.of_name(fresh) } else { Err(Refusal::Template) }
    }

    fn of_name(&self, fresh: &Fresh) -> Result<(), Refusal> {
        if fresh.name == self.name {
            return Ok(());
        }
        Err(Refusal::Name { expected: self.name.clone(), found: fresh.name.clone() })
    }
}

impl Hands {
    /// Stops and removes a VM with its disks, if the proof holds; never a template, nor a model. That it is gone is a
    /// success. The inventory may show it for a while.
    pub async fn delete(&self, machine: &MachineId, proof: &Proof) -> Result<(), ActError> {
        let action = "delete";
        let Some(fresh) = self.proven(action, machine, |fresh| proof.of_vm(fresh)).await? else {
            return Ok(());
        };
        if fresh.is_off().is_err() {
            self.stop(machine).await?;
            // It may have taken minutes.
            if self.proven(action, machine, |fresh| proof.of_vm(fresh)).await?.is_none() {
                return Ok(());
            }
        }
        self.destroy(action, machine).await
    }

    /// Removes a template that its owner made, if the proof holds and nothing stands on its disks.
    pub async fn delete_template(&self, machine: &MachineId, proof: &Proof) -> Result<(), ActError> {
        let action = "delete the template";
        if self.proven(action, machine, |fresh| proof.of_template(fresh)).await?.is_none() {
            return Ok(());
        }
        match self.hangs_on(machine).await {
            Hanging::Nothing => {}
            why @ (Hanging::By(_) | Hanging::BySome | Hanging::Unknown(_)) => {
                return Err(ActError::StillParent { action, machine: machine.clone(), why });
            }
        }
        // Looking at all disks took a while.
        match self.proven(action, machine, |fresh| proof.of_template(fresh)).await? {
            Some(_) => self.destroy(action, machine).await,
            None => Ok(()),
        }
    }

    /// The VM, if it may be deleted; none if it is gone.
    async fn proven(
        &self,
        action: &'static str,
        machine: &MachineId,
        proof: impl Fn(&Fresh) -> Result<(), Refusal>,
    ) -> Result<Option<Fresh>, ActError> {
        let fresh = match self.fresh(action, machine).await {
            Ok(fresh) => fresh,
            Err(ActError::Gone { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match proof(&fresh) {
            Ok(()) => Ok(Some(fresh)),
            Err(why) => Err(ActError::Refused { action, machine: machine.clone(), why }),
        }
    }

    async fn destroy(&self, action: &'static str, machine: &MachineId) -> Result<(), ActError> {
        let ordered = self.machines_at(machine).destroy(&vm(machine), HEAVY).await;
        self.outcome(machine, ordered, |fresh| fresh.is_none()).await.map_err(|source| {
            match source.fault().map(rookery_vim::Fault::kind) {
                Some(FaultKind::ResourceInUse) => {
                    ActError::StillParent { action, machine: machine.clone(), why: Hanging::BySome }
                }
                Some(_) | None => ActError::failed(action, machine, source),
            }
        })?;
        self.told(machine, Fact::Gone);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::{Mark, Notes, Power};

    use super::*;

    #[test]
    fn only_what_is_proven_is_deleted() {
        let ours = Mark { hatchery_name: "h1".to_owned(), ..Mark::default() };
        let model = Mark { model: true, worker_model_path: "g/w".to_owned(), ..ours.clone() };
        let theirs = Mark { hatchery_name: "h2".to_owned(), ..Mark::default() };
        let nobodys = Mark::default();
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
        let held = |until: &str| Mark { hold_until: Some(until.parse().expect("a time")), ..ours.clone() };
        let (kept, let_go) = (held("2026-11-15T12:00:01Z"), held("2026-11-15T12:00:00Z"));
        let until = kept.hold_until.expect("a time");
        let proof = |owner: &str| Proof { owner: owner.to_owned(), name: "w".to_owned(), now };
        let foreign = |owner: &str, found: Option<&str>| {
            Err(Refusal::Foreign { owner: owner.to_owned(), found: found.map(str::to_owned) })
        };
        let some = |mark: &Mark| Notes::Mark(Box::new(mark.clone()));
        let (vm, template) = (Role::Vm, Role::Template);
        let other_name = Refusal::Name { expected: "w".to_owned(), found: "x".to_owned() };
        for (owner, name, role, notes, as_vm, as_template) in [
            ("h1", "w", vm, some(&ours), Ok(()), Err(Refusal::NoTemplate)),
            ("h1", "w", vm, some(&kept), Err(Refusal::Held { until }), Err(Refusal::NoTemplate)),
            ("h1", "w", vm, some(&let_go), Ok(()), Err(Refusal::NoTemplate)),
            ("h1", "w", template, some(&ours), Err(Refusal::Template), Err(Refusal::Template)),
            ("h1", "w", vm, some(&model), Err(Refusal::Model), Err(Refusal::NoTemplate)),
            ("h1", "w", template, some(&model), Err(Refusal::Template), Ok(())),
            ("h1", "w", vm, some(&theirs), foreign("h1", Some("h2")), Err(Refusal::NoTemplate)),
            ("h1", "w", template, some(&theirs), Err(Refusal::Template), foreign("h1", Some("h2"))),
            ("h1", "w", vm, Notes::NoMark, foreign("h1", None), Err(Refusal::NoTemplate)),
            ("h1", "w", vm, Notes::Unknown, Err(Refusal::Unknown), Err(Refusal::NoTemplate)),
            ("h1", "w", Role::Unknown, some(&ours), Err(Refusal::Unknown), Err(Refusal::Unknown)),
            ("", "w", vm, some(&nobodys), foreign("", Some("")), Err(Refusal::NoTemplate)),
            ("h1", "x", vm, some(&ours), Err(other_name.clone()), Err(Refusal::NoTemplate)),
            ("h1", "x", template, some(&model), Err(Refusal::Template), Err(other_name)),
        ] {
            let fresh = Fresh {
                name: name.to_owned(),
                role,
                notes,
                power: Some(Power::Off),
                hardware: None,
                reachable: true,
            };
            let judged = (proof(owner).of_vm(&fresh), proof(owner).of_template(&fresh));
            assert_eq!(judged, (as_vm, as_template), "{owner:?} {fresh:?}");
        }
        let unfinished = Fresh {
            name: "w-tmp".to_owned(),
            role: vm,
            notes: some(&model),
            power: Some(Power::Off),
            hardware: None,
            reachable: true,
        };
        let unreachable =
            Fresh { name: "w".to_owned(), notes: some(&ours), reachable: false, ..unfinished.clone() };
        assert_eq!(proof("h1").of_vm(&unreachable), Err(Refusal::Unreachable));
        let proof = Proof { owner: "h1".to_owned(), name: "w-tmp".to_owned(), now };
        assert_eq!(proof.of_vm(&unfinished), Ok(()), "it was refused, so that orphans stayed for ever");
    }
}
