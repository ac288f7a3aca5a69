//! Taking over what another owner made, or what was copied of ours, because somebody asked for it.

use rookery_fleet::ownership::Written;
use rookery_fleet::{Hardware, MachineId, OwnerId, Ownership};

use super::delete::TemplateProof;
use super::fresh::Fresh;
use super::{ActError, Hands, LIGHT, Refusal, clone::change};
use crate::observe::vm;

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Gives a template of another owner another mark, made from the one that it carries, if the proof holds.
    pub async fn adopt_template(
        &self,
        machine: &MachineId,
        theirs: &TemplateProof<impl Fn(&M) -> bool>,
        change: impl FnOnce(&M) -> M,
    ) -> Result<(), ActError> {
        let action = "adopt the template";
        let (fresh, mark) = self.fresh_if(action, machine, |fresh| theirs.of(fresh).map(change)).await?;
        self.marked(machine, &fresh, &mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Makes a copy of a machine of this owner the owner's: its mark is written for it.
    pub async fn adopt_copy(&self, machine: &MachineId, owner: &OwnerId) -> Result<(), ActError> {
        let action = "adopt";
        let copied = |fresh: &Fresh<M>| {
            let mark = fresh.copied_mark(owner)?;
            if fresh.instance.is_none() { Err(Refusal::Unknown) } else { Ok(mark.clone()) }
        };
        let (fresh, mark) = self.fresh_if(action, machine, copied).await?;
        self.marked(machine, &fresh, &mark).await.map_err(|source| ActError::failed(action, machine, source))
    }

    /// Makes a copy of a machine of this owner nobody's, by writing this in place of the mark.
    pub async fn unmark(
        &self,
        machine: &MachineId,
        owner: &OwnerId,
        instead: Written,
    ) -> Result<(), ActError> {
        let action = "unmark";
        self.fresh_if(action, machine, |fresh| fresh.copied_mark(owner).map(drop)).await?;
        let ordered =
            self.machines.reconfigure(&vm(machine), change(Hardware::default(), instead), LIGHT).await;
        let is_nobodys = |fresh: Option<&Fresh<M>>| {
            fresh.is_none_or(|fresh| fresh.recognised.ownership == Ownership::Nobody)
        };
        let unmarked = self.outcome(machine, ordered, is_nobodys).await;
        unmarked.map_err(|source| ActError::failed(action, machine, source))
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::Role;

    use super::super::fresh::tests::fresh;
    use super::*;
    use crate::samples::{Mark, marked_by, owner};

    #[test]
    fn only_the_template_that_was_seen_is_taken_over() {
        let accepts = |mark: &Mark| mark.protected && mark.kind == "g/deb";
        let theirs = TemplateProof { owner: owner("theirs"), name: "deb".to_owned(), accepts };
        let mark = Mark { kind: "g/deb".to_owned(), protected: true, ..marked_by("theirs") };
        let check = |name: &str, role: Role, mark: &Mark, expected: Result<(), Refusal>| {
            let fresh = Fresh { role, ..fresh(name, mark) };
            assert_eq!(theirs.of(&fresh).map(drop), expected, "{fresh:?}");
        };
        check("deb", Role::Template, &mark, Ok(()));
        check("deb", Role::Vm, &mark, Err(Refusal::NoTemplate));
        check("deb", Role::Unknown, &mark, Err(Refusal::Unknown));
        let name = Refusal::Name { expected: "deb".to_owned(), found: "deb-2".to_owned() };
        check("deb-2", Role::Template, &mark, Err(name));
        let third = Mark { owner: "third".to_owned(), ..mark.clone() };
        let foreign = Refusal::Foreign { owner: "theirs".to_owned(), found: Some("third".to_owned()) };
        check("deb", Role::Template, &third, Err(foreign));
        let other = Mark { kind: "g/other".to_owned(), ..mark.clone() };
        check("deb", Role::Template, &other, Err(Refusal::Edited));
        check("deb", Role::Template, &Mark { protected: false, ..mark }, Err(Refusal::Edited));
    }
}
