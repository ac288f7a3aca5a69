//! Deleting, the one act without a way back.

use jiff::Timestamp;
use rookery_fleet::overlay::Fact;
use rookery_fleet::{MachineId, OwnerId, Power, Role};
use rookery_vim::FaultKind;

use super::fresh::Fresh;
use super::template::LinkedClones;
use super::{ActError, HEAVY, Hands, Refusal};
use crate::observe::vm;

/// What must be true of a VM at the moment of its deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Its mark is this owner's.
    pub owner: OwnerId,
    pub name: String,
    /// Nobody keeps it for longer than until now, by vCenter's clock.
    pub now: Timestamp,
    /// It still has the power that is the reason for it, if that is one.
    pub power: Option<Power>,
}

/// What must be true of a template at the moment when it is deleted or taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateProof<A> {
    /// Its mark is this owner's.
    pub owner: OwnerId,
    pub name: String,
    /// Its mark is like this: a template that a person made for clones is not ours to remove.
    pub accepts: A,
}

impl Proof {
    fn of_vm<M: Clone + PartialEq + 'static>(
        &self,
        fresh: &Fresh<M>,
        protects: fn(&str, &M) -> bool,
    ) -> Result<(), Refusal> {
        let mark = fresh.vm_of(&self.owner)?;
        if let Some(until) = fresh.recognised.held_until.filter(|until| *until > self.now) {
            return Err(Refusal::Held { until });
        }
        if self.power.is_some() && self.power != fresh.power {
            return Err(Refusal::Power);
        }
        if protects(&fresh.name, mark) { Err(Refusal::Protected) } else { fresh.is_named(&self.name) }
    }
}

impl<A> TemplateProof<A> {
    pub(super) fn of<'f, M>(&self, fresh: &'f Fresh<M>) -> Result<&'f M, Refusal>
    where
        M: Clone + PartialEq + 'static,
        A: Fn(&M) -> bool,
    {
        match fresh.role {
            Role::Unknown => return Err(Refusal::Unknown),
            Role::Vm => return Err(Refusal::NoTemplate),
            Role::Template => {}
        }
        let mark = fresh.own(&self.owner)?;
        if !(self.accepts)(mark) {
            return Err(Refusal::Edited);
        }
        fresh.is_named(&self.name).map(|()| mark)
    }
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Stops and removes a VM with its disks, if the proof holds; never a template, nor what its front protects. That it is gone is a
    /// success. The inventory may show it for a while.
    pub async fn delete(&self, machine: &MachineId, proof: &Proof) -> Result<(), ActError> {
        let action = "delete";
        let hands = self.in_turn(action, machine).await;
        let protects = self.grounds.recogniser.marking().protects;
        let Some(fresh) = hands.proven(action, machine, |fresh| proof.of_vm(fresh, protects)).await? else {
            return Ok(());
        };
        if fresh.is_off().is_err() {
            hands.turn_off(action, machine).await?;
            // It may have taken minutes. Off is what it is now.
            let proof = Proof { power: None, ..proof.clone() };
            if hands.proven(action, machine, |fresh| proof.of_vm(fresh, protects)).await?.is_none() {
                return Ok(());
            }
        }
        hands.destroy(action, machine).await
    }

    /// Removes a template, if the proof holds and nothing stands on its disks.
    pub async fn delete_template(
        &self,
        machine: &MachineId,
        proof: &TemplateProof<impl Fn(&M) -> bool>,
    ) -> Result<(), ActError> {
        let action = "delete the template";
        let hands = self.in_turn(action, machine).await;
        if hands.proven(action, machine, |fresh| proof.of(fresh).map(drop)).await?.is_none() {
            return Ok(());
        }
        let why = hands.linked_clones(machine).await;
        if why != LinkedClones::None {
            return Err(ActError::StillParent { action, machine: machine.clone(), why });
        }
        // Looking at all disks took a while.
        match hands.proven(action, machine, |fresh| proof.of(fresh).map(drop)).await? {
            Some(_) => hands.destroy(action, machine).await,
            None => Ok(()),
        }
    }

    /// The VM, if it may be deleted; none if it is gone.
    async fn proven(
        &self,
        action: &'static str,
        machine: &MachineId,
        proof: impl Fn(&Fresh<M>) -> Result<(), Refusal>,
    ) -> Result<Option<Fresh<M>>, ActError> {
        match self.fresh_if(action, machine, proof).await {
            Ok((fresh, ())) => Ok(Some(fresh)),
            Err(ActError::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn destroy(&self, action: &'static str, machine: &MachineId) -> Result<(), ActError> {
        let ordered = self.machines.destroy(&vm(machine), HEAVY).await;
        self.outcome(machine, ordered, |fresh| fresh.is_none()).await.map_err(|source| {
            if source.is(FaultKind::ResourceInUse) {
                ActError::StillParent { action, machine: machine.clone(), why: LinkedClones::Unnamed }
            } else {
                ActError::failed(action, machine, source)
            }
        })?;
        self.told(machine, Fact::Gone);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::Ownership;

    use super::super::fresh::tests::{fresh, owned};
    use super::*;
    use crate::samples::{MARKING, Mark, marked_by, owner};

    #[test]
    fn only_what_is_proven_is_deleted() {
        let ours = marked_by("h1");
        let model = Mark { protected: true, kind: "g/w".to_owned(), ..ours.clone() };
        let (theirs, nobodys) = (marked_by("h2"), marked_by(""));
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().expect("a time");
        let held = |until: &str| Mark { held_until: Some(until.parse().expect("a time")), ..ours.clone() };
        let (kept, let_go) = (held("2026-11-15T12:00:01Z"), held("2026-11-15T12:00:00Z"));
        let until = kept.held_until.expect("a time");
        let proof = |of: &str| Proof { owner: owner(of), name: "w".to_owned(), now, power: None };
        let as_vm = |proof: &Proof, fresh: &Fresh<Mark>| proof.of_vm(fresh, MARKING.protects);
        let as_template = |of: &str, fresh: &Fresh<Mark>| {
            let accepts = |mark: &Mark| mark.protected;
            TemplateProof { owner: owner(of), name: "w".to_owned(), accepts }.of(fresh).map(drop)
        };
        let foreign = |owner: &str, found: Option<&str>| {
            Err(Refusal::Foreign { owner: owner.to_owned(), found: found.map(str::to_owned) })
        };
        let (vm, template) = (Role::Vm, Role::Template);
        let other_name = Refusal::Name { expected: "w".to_owned(), found: "x".to_owned() };
        for (of, name, role, mark, expected_vm, expected_template) in [
            ("h1", "w", vm, &ours, Ok(()), Err(Refusal::NoTemplate)),
            ("h1", "w", vm, &kept, Err(Refusal::Held { until }), Err(Refusal::NoTemplate)),
            ("h1", "w", vm, &let_go, Ok(()), Err(Refusal::NoTemplate)),
            ("h1", "w", template, &ours, Err(Refusal::Template), Err(Refusal::Edited)),
            ("h1", "w", vm, &model, Err(Refusal::Protected), Err(Refusal::NoTemplate)),
            ("h1", "w", template, &model, Err(Refusal::Template), Ok(())),
            ("h1", "w", vm, &theirs, foreign("h1", Some("h2")), Err(Refusal::NoTemplate)),
            ("h1", "w", template, &theirs, Err(Refusal::Template), foreign("h1", Some("h2"))),
            ("h1", "w", Role::Unknown, &ours, Err(Refusal::Unknown), Err(Refusal::Unknown)),
            ("", "w", vm, &nobodys, foreign("", None), Err(Refusal::NoTemplate)),
            ("h1", "x", vm, &ours, Err(other_name.clone()), Err(Refusal::NoTemplate)),
            ("h1", "x", template, &model, Err(Refusal::Template), Err(other_name)),
        ] {
            let fresh = Fresh { role, ..fresh(name, mark) };
            let judged = (as_vm(&proof(of), &fresh), as_template(of, &fresh));
            assert_eq!(judged, (expected_vm, expected_template), "{of:?} {fresh:?}");
        }
        let here = fresh("w", &ours);
        for (ownership, refusal) in [
            (Ownership::Nobody, foreign("h1", None)),
            (Ownership::Unknown, Err(Refusal::Unknown)),
            (Ownership::Copied(owner("h1")), Err(Refusal::Copy)),
            (Ownership::Disputed(owner("h1")), Err(Refusal::Disputed)),
        ] {
            assert_eq!(as_vm(&proof("h1"), &owned(here.clone(), ownership)), refusal);
        }
        let unreachable = Fresh { reachable: false, ..here.clone() };
        assert_eq!(as_vm(&proof("h1"), &unreachable), Err(Refusal::Unreachable));
        let off = Proof { power: Some(Power::Off), ..proof("h1") };
        assert_eq!((as_vm(&off, &here), as_vm(&proof("h1"), &here)), (Ok(()), Ok(())));
        for power in [Some(Power::On), None] {
            let started = Fresh { power, ..here.clone() };
            assert_eq!(as_vm(&off, &started), Err(Refusal::Power), "{power:?}");
        }
        let moved = Fresh { is_outside: true, ..here };
        assert_eq!(as_vm(&proof("h1"), &moved), Err(Refusal::Outside));
        let moved = Fresh { role: template, is_outside: true, ..fresh("w", &model) };
        assert_eq!(as_template("h1", &moved), Err(Refusal::Outside));
        let unfinished = Proof { name: "w-tmp".to_owned(), ..proof("h1") };
        let judged = as_vm(&unfinished, &fresh("w-tmp", &model));
        assert_eq!(judged, Ok(()), "it was refused, so that orphans stayed for ever");
    }
}
