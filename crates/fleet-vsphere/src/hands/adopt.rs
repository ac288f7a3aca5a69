//! Taking over what another hatchery made, or what was copied of ours, because somebody asked for it.

use rookery_fleet::{MachineId, Mark, Notes, Role};
use rookery_vim_client::Change;

use super::fresh::Fresh;
use super::{ActError, Hands, LIGHT, Refusal};
use crate::observe::vm;

/// What must be true of a template of somebody else at the moment when it is taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theirs {
    /// Its mark is this owner's.
    pub owner: String,
    /// It has this name.
    pub name: String,
    /// It was made for the model of this path.
    pub model: String,
}

impl Theirs {
    fn proven<'f>(&self, fresh: &'f Fresh) -> Result<&'f Mark, Refusal> {
        match fresh.role {
            Role::Unknown => return Err(Refusal::Unknown),
            Role::Vm => return Err(Refusal::NoTemplate),
            Role::Template => {}
        }
        let mark = fresh.own(&self.owner)?;
        if !mark.model || mark.worker_model_path != self.model {
            return Err(Refusal::Edited);
        }
        if fresh.name != self.name {
            return Err(Refusal::Name { expected: self.name.clone(), found: fresh.name.clone() });
        }
        Ok(mark)
    }
}

impl Hands {
    /// Makes a template of another owner this owner's, if it is still what was seen. All else in its mark stays.
    pub async fn adopt_template(
        &self,
        machine: &MachineId,
        owner: &str,
        theirs: &Theirs,
    ) -> Result<(), ActError> {
        let action = "adopt the template";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        let mark = theirs.proven(&fresh).map_err(refused)?;
        let mark = Mark { hatchery_name: owner.to_owned(), ..mark.clone() };
        self.marked(machine, &fresh, &mark).await.map_err(|source| ActError::failed(action, machine, source))
    }
}

impl Hands {
    /// Makes a copy of a machine of this owner the owner's: its mark is written for it.
    pub async fn adopt_copy(&self, machine: &MachineId, owner: &str) -> Result<(), ActError> {
        let action = "adopt";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        let mark = fresh.copied_mark(owner).map_err(refused)?;
        if fresh.instance.is_none() {
            return Err(refused(Refusal::Unknown));
        }
        self.marked(machine, &fresh, mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Makes a copy of a machine of this owner nobody's.
    pub async fn unmark(&self, machine: &MachineId, owner: &str) -> Result<(), ActError> {
        let action = "unmark";
        let fresh = self.fresh(action, machine).await?;
        let refused = |why| ActError::Refused { action, machine: machine.clone(), why };
        fresh.copied_mark(owner).map_err(refused)?;
        // Some servers keep notes that are to become empty.
        let notes = format!("once a copy of a machine of the hatchery {owner}");
        let change = Change { annotation: Some(notes), ..Change::default() };
        let ordered = self.machines.reconfigure(&vm(machine), change, LIGHT).await;
        let is_nobodys = |fresh: Option<&Fresh>| fresh.is_none_or(|fresh| fresh.notes == Notes::NoMark);
        let unmarked = self.outcome(machine, ordered, is_nobodys).await;
        unmarked.map_err(|source| ActError::failed(action, machine, source))
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::Power;

    use super::*;

    #[test]
    fn only_the_template_that_was_seen_is_taken_over() {
        let theirs = Theirs { owner: "theirs".to_owned(), name: "deb".to_owned(), model: "g/deb".to_owned() };
        let mark = Mark {
            hatchery_name: "theirs".to_owned(),
            worker_model_path: "g/deb".to_owned(),
            model: true,
            ..Mark::default()
        };
        let check = |name: &str, role: Role, mark: Mark, expected: Result<(), Refusal>| {
            let notes = Notes::Mark(Box::new(mark));
            let fresh = Fresh {
                name: name.to_owned(),
                role,
                notes,
                power: Some(Power::Off),
                hardware: None,
                reachable: true,
                instance: None,
                is_outside: false,
            };
            assert_eq!(theirs.proven(&fresh).map(drop), expected, "{fresh:?}");
        };
        check("deb", Role::Template, mark.clone(), Ok(()));
        check("deb", Role::Vm, mark.clone(), Err(Refusal::NoTemplate));
        check("deb", Role::Unknown, mark.clone(), Err(Refusal::Unknown));
        let name = Refusal::Name { expected: "deb".to_owned(), found: "deb-2".to_owned() };
        check("deb-2", Role::Template, mark.clone(), Err(name));
        let third = Mark { hatchery_name: "third".to_owned(), ..mark.clone() };
        let foreign = Refusal::Foreign { owner: "theirs".to_owned(), found: Some("third".to_owned()) };
        check("deb", Role::Template, third, Err(foreign));
        let other = Mark { worker_model_path: "g/other".to_owned(), ..mark.clone() };
        check("deb", Role::Template, other, Err(Refusal::Edited));
        check("deb", Role::Template, Mark { model: false, ..mark }, Err(Refusal::Edited));
    }
}
