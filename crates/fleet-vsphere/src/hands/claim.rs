//! Giving a warm VM to a demand, and taking it back.
//!
//! ```text
//!              one reconfigure              rename
//!   pooled ───────────────────► marked ───────────────► claimed
//!     ▲   name and mark pooled    name pooled, mark of    name and mark
//!     │                           the demand              of the demand
//!     └────── re-mark ────────────────┘◄────── rename ───────┘
//! ```
//!
//! Each half-way state is recognised when the same is asked for again.

use rookery_fleet::overlay::Fact;
use rookery_fleet::ownership::{Recogniser, Written};
use rookery_fleet::{Hardware, MachineId, OwnerId, Recognised};
use rookery_vim::FaultKind;
use rookery_vim_client::{CallError, OperationError};

use super::fresh::Fresh;
use super::{ActError, Hands, LIGHT, Refusal, clone::change};
use crate::observe::vm;

/// Which VM is claimed, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSpec<M> {
    pub machine: MachineId,
    /// Its name in the pool.
    pub was: String,
    /// The mark that it was chosen by.
    pub chosen_by: M,
    pub owner: OwnerId,
    /// The mark that it gets.
    pub mark: M,
    /// The name that it gets.
    pub name: String,
    /// The size that it gets; it stays as it is if none is given.
    pub resize: Option<Hardware>,
}

/// Why a VM was not claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It is not what it was chosen by any more. Nothing was changed.
    #[error("did not claim {machine}: {why}")]
    Changed { machine: MachineId, why: Refusal },
    #[error("cannot claim {machine}: it is gone")]
    Gone { machine: MachineId },
    /// It could not be read. Nothing was changed.
    #[error("did not claim {machine}: its current state could not be read")]
    Unread { machine: MachineId, source: CallError },
    /// Another VM has the name. It carries the new mark, under its name in the pool.
    #[error("cannot claim {machine}: the name {name:?} is taken")]
    NameTaken { machine: MachineId, name: String, source: OperationError },
    /// vCenter did not do it, as far as can be seen.
    #[error("cannot claim {machine}")]
    Failed { machine: MachineId, progress: ClaimProgress, source: OperationError },
}

/// How far a failed claim got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimProgress {
    Pooled,
    /// It may carry the new mark or not.
    MayBeMarked,
    /// It carries the new mark, under its name in the pool.
    Marked,
}

impl ClaimError {
    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Changed { .. } => "changed",
            Self::Gone { .. } => "gone",
            Self::Unread { .. } => "unread",
            Self::NameTaken { .. } => "name_taken",
            Self::Failed { .. } => "failed",
        }
    }

    /// How far it came.
    pub fn progress(&self) -> ClaimProgress {
        match self {
            Self::Changed { .. } | Self::Gone { .. } | Self::Unread { .. } => ClaimProgress::Pooled,
            Self::NameTaken { .. } => ClaimProgress::Marked,
            Self::Failed { progress, .. } => *progress,
        }
    }
}

/// What is still to be done for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Mark,
    Rename,
    Nothing,
}

fn next<M: Clone + PartialEq + 'static>(
    fresh: &Fresh<M>,
    wish: &ClaimSpec<M>,
    wished: &Recognised<M>,
) -> Result<Next, Refusal> {
    let mark = fresh.vm_of(&wish.owner)?;
    fresh.is_off()?;
    let misnamed = || Refusal::Name { expected: wish.was.clone(), found: fresh.name.clone() };
    if fresh.is_marked(wished) {
        let fits = wish.resize.is_none_or(|size| fresh.hardware == size);
        return match fresh.name.as_str() {
            _ if !fits => Ok(Next::Mark),
            name if name == wish.name => Ok(Next::Nothing),
            name if name == wish.was => Ok(Next::Rename),
            _ => Err(misnamed()),
        };
    }
    if fresh.name != wish.was {
        return Err(misnamed());
    }
    if *mark == wish.chosen_by { Ok(Next::Mark) } else { Err(Refusal::Edited) }
}

impl<M: Clone + PartialEq + 'static> Hands<M> {
    /// Gives a warm VM its new mark, size and name.
    pub async fn claim(&self, wish: &ClaimSpec<M>) -> Result<(), ClaimError> {
        let machine = &wish.machine;
        let hands = self.in_turn("claim", machine).await;
        let fresh = match hands.look(machine).await {
            Ok(Some(fresh)) => fresh,
            Ok(None) => return Err(ClaimError::Gone { machine: machine.clone() }),
            Err(source) => return Err(ClaimError::Unread { machine: machine.clone(), source }),
        };
        let (written, recognised) = fresh.signed(&wish.mark, self.recogniser());
        let next = next(&fresh, wish, &recognised)
            .map_err(|why| ClaimError::Changed { machine: machine.clone(), why })?;
        if next == Next::Nothing {
            self.told(machine, Fact::Marked(Box::new(recognised)));
            self.told(machine, Fact::Name(wish.name.clone()));
            return Ok(());
        }
        if next == Next::Mark {
            hands.mark_for_claim(wish, written, recognised).await?;
        }
        hands.renamed(machine, &wish.name).await.map_err(|source| {
            let machine = machine.clone();
            if source.is(FaultKind::DuplicateName) {
                ClaimError::NameTaken { machine, name: wish.name.clone(), source }
            } else {
                ClaimError::Failed { machine, progress: ClaimProgress::Marked, source }
            }
        })
    }

    async fn mark_for_claim(
        &self,
        wish: &ClaimSpec<M>,
        written: Written,
        recognised: Recognised<M>,
    ) -> Result<(), ClaimError> {
        let machine = &wish.machine;
        let change = change(wish.resize.unwrap_or_default(), written);
        let ordered = self.machines.reconfigure(&vm(machine), change, LIGHT).await;
        let done = |fresh: Option<&Fresh<M>>| fresh.is_some_and(|fresh| fresh.is_marked(&recognised));
        self.outcome(machine, ordered, done).await.map_err(|source| {
            let progress =
                if source.may_have_happened() { ClaimProgress::MayBeMarked } else { ClaimProgress::Pooled };
            ClaimError::Failed { machine: machine.clone(), progress, source }
        })?;
        self.told(machine, Fact::Marked(Box::new(recognised)));
        if let Some(size) = wish.resize {
            self.told(machine, Fact::Hardware(size));
        }
        Ok(())
    }

    /// Takes a claim back of a VM that is off: it gets its name and mark of the pool.
    pub async fn unclaim(
        &self,
        machine: &MachineId,
        owner: &OwnerId,
        name: &str,
        pooled: &M,
    ) -> Result<(), ActError> {
        let action = "take back";
        let hands = self.in_turn(action, machine).await;
        let is_ours_and_off = |fresh: &Fresh<M>| fresh.vm_of(owner).and_then(|_| fresh.is_off());
        let (fresh, ()) = hands.fresh_if(action, machine, is_ours_and_off).await?;
        let failed = |source| ActError::failed(action, machine, source);
        // In this order no half of it looks like a VM of the pool under a name that is not.
        if fresh.name != name {
            hands.renamed(machine, name).await.map_err(failed)?;
        }
        hands.marked(machine, &fresh, pooled).await.map_err(failed)
    }

    /// Renames; that it has the name already is a success.
    pub(super) async fn renamed(&self, machine: &MachineId, name: &str) -> Result<(), OperationError> {
        let ordered = self.machines.rename(&vm(machine), name, LIGHT).await;
        self.outcome(machine, ordered, |fresh| fresh.is_some_and(|fresh| fresh.name == name)).await?;
        self.told(machine, Fact::Name(name.to_owned()));
        Ok(())
    }

    /// Writes a mark for the VM as it was read. That it carries it is a success.
    pub(super) async fn marked(
        &self,
        machine: &MachineId,
        fresh: &Fresh<M>,
        mark: &M,
    ) -> Result<(), OperationError> {
        let (written, recognised) = fresh.signed(mark, self.recogniser());
        if !fresh.is_marked(&recognised) {
            let change = change(Hardware::default(), written);
            let ordered = self.machines.reconfigure(&vm(machine), change, LIGHT).await;
            let done = |fresh: Option<&Fresh<M>>| fresh.is_some_and(|fresh| fresh.is_marked(&recognised));
            self.outcome(machine, ordered, done).await?;
        }
        self.told(machine, Fact::Marked(Box::new(recognised)));
        Ok(())
    }

    fn recogniser(&self) -> &Recogniser<M> {
        &self.grounds.recogniser
    }
}

#[cfg(test)]
mod tests {
    use rookery_fleet::{Ownership, Power, Role};

    use super::super::fresh::tests::{fresh, owned, with};
    use super::*;
    use crate::samples::{Mark, marked_by, owner, recogniser};

    fn pooled() -> Mark {
        Mark {
            name: "pool-a".to_owned(),
            pooled: true,
            kind: "debian12".to_owned(),
            address: Some([192, 0, 2, 7].into()),
            ..marked_by("h1")
        }
    }

    fn wish() -> ClaimSpec<Mark> {
        ClaimSpec {
            machine: MachineId::new("vm-1"),
            was: "pool-a".to_owned(),
            chosen_by: pooled(),
            owner: owner("h1"),
            mark: Mark { name: "node-1".to_owned(), pooled: false, ..pooled() },
            name: "node-1".to_owned(),
            resize: Some(Hardware::new(4, 8192)),
        }
    }

    fn check(change: impl FnOnce(Fresh<Mark>) -> Fresh<Mark>, expected: &Result<Next, Refusal>) {
        let fresh = change(fresh("pool-a", &pooled()));
        let (_, wished) = fresh.signed(&wish().mark, &recogniser());
        assert_eq!(&next(&fresh, &wish(), &wished), expected, "{fresh:?}");
    }

    #[test]
    fn a_claim_goes_on_where_it_stopped() {
        let size = wish().resize;
        check(|fresh| fresh, &Ok(Next::Mark));
        check(|fresh| with(fresh, &wish().mark), &Ok(Next::Mark));
        let marked = |fresh| Fresh { hardware: size.unwrap_or_default(), ..with(fresh, &wish().mark) };
        check(marked, &Ok(Next::Rename));
        check(|fresh| Fresh { name: "node-1".to_owned(), ..marked(fresh) }, &Ok(Next::Nothing));
    }

    #[test]
    fn what_is_not_as_it_was_chosen_is_refused() {
        let name =
            |found: &str| Err(Refusal::Name { expected: "pool-a".to_owned(), found: found.to_owned() });
        check(|fresh| Fresh { role: Role::Template, ..fresh }, &Err(Refusal::Template));
        check(|fresh| Fresh { role: Role::Unknown, ..fresh }, &Err(Refusal::Unknown));
        check(|fresh| Fresh { reachable: false, ..fresh }, &Err(Refusal::Unreachable));
        check(|fresh| Fresh { is_outside: true, ..fresh }, &Err(Refusal::Outside));
        check(|fresh| Fresh { power: Some(Power::On), ..fresh }, &Err(Refusal::NotOff));
        check(|fresh| Fresh { power: None, ..fresh }, &Err(Refusal::NotOff));
        check(|fresh| Fresh { name: "mine".to_owned(), ..fresh }, &name("mine"));
        let foreign = |found: Option<&str>| {
            Err(Refusal::Foreign { owner: "h1".to_owned(), found: found.map(str::to_owned) })
        };
        check(|fresh| owned(fresh, Ownership::Nobody), &foreign(None));
        check(|fresh| owned(fresh, Ownership::By(owner("h2"))), &foreign(Some("h2")));
        check(|fresh| owned(fresh, Ownership::Copied(owner("h1"))), &Err(Refusal::Copy));
        for edited in [
            // Somebody else has claimed it.
            Mark { name: "node-2".to_owned(), pooled: false, ..pooled() },
            Mark { address: Some([192, 0, 2, 8].into()), ..pooled() },
            Mark { kind: "debian13".to_owned(), ..pooled() },
            Mark { protected: true, ..pooled() },
            Mark { held_until: Some(jiff::Timestamp::UNIX_EPOCH), ..pooled() },
        ] {
            check(|fresh| with(fresh, &edited), &Err(Refusal::Edited));
        }
    }
}
