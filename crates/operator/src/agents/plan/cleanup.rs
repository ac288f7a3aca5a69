//! Which VMs go while their pool stays: those whose Machine was deleted at once, those that nobody needs later.

use rookery_crds::agents::{CleanupPolicy, Phase, VmReason};

use super::{Action, DeleteReason, Pass, Subject, VmStatus, WaitReason};
use crate::agents::desired::GRACE;
use crate::agents::observe::{Object, Request, RequestName};

impl Pass<'_> {
    pub(super) fn clean_up(&mut self) {
        if self.want.cleanup == CleanupPolicy::Retain {
            return;
        }
        for (name, request, status) in self.live() {
            match self.may_go(name, request, status) {
                Ok(None) => {}
                Ok(Some(reason)) => self.delete(name, request, reason),
                Err(why) => self.wait(Subject::Request(name.clone()), why),
            }
        }
    }

    pub(super) fn delete(&mut self, name: &RequestName, request: &Request, reason: DeleteReason) {
        let (request, uid) = (name.clone(), request.uid.clone());
        self.plan.actions.push(Action::DeleteRequest { request, uid, reason });
    }

    /// Whether it goes now, and why; or what it waits for. None: it is needed.
    fn may_go(
        &mut self,
        name: &RequestName,
        request: &Request,
        status: &VmStatus,
    ) -> Result<Option<DeleteReason>, WaitReason> {
        if status.reason == VmReason::MachineDeleted {
            return self.no_node(name, request, status).map(|()| Some(DeleteReason::MachineDeleted));
        }
        if status.reason == VmReason::MachineDeleting {
            self.ask_for_machine(status);
        }
        let Some(reason) = self.idle(name, request, status) else { return Ok(None) };
        if self.plan.counts.waiting > 0 || self.plan.counts.without_agent > 0 {
            return Err(WaitReason::Demand);
        }
        let since = self.seen.carried.idle_since.get(name).copied().unwrap_or(self.seen.now);
        self.plan.carried.idle_since.insert(name.clone(), since);
        if self.seen.now.duration_since(since) < GRACE {
            let until = since.saturating_add(GRACE).unwrap_or(since);
            return Err(WaitReason::Grace { until });
        }
        self.no_node(name, request, status)?;
        if matches!(status.phase, Phase::Provisioning | Phase::Available) {
            self.purpose_over(name, request)?;
        }
        Ok(Some(reason))
    }

    /// Why nobody seems to need it, if so.
    fn idle(&self, name: &RequestName, request: &Request, status: &VmStatus) -> Option<DeleteReason> {
        if self.assigned.contains_key(name) || self.spares.contains(name) {
            return None;
        }
        match (&status.phase, &status.reason) {
            (Phase::Available, _) => self.is_nobodys(name, request).then_some(DeleteReason::Surplus),
            (Phase::Provisioning, _) => self.is_nobodys(name, request).then_some(DeleteReason::Orphan),
            // The Machine that was seen deleting is known, and its end will be seen.
            (Phase::Released, VmReason::MachineDeleting)
                if status.machine.as_ref().is_some_and(|machine| machine.uid.is_some()) =>
            {
                None
            }
            (Phase::Released | Phase::Orphaned, _) => Some(DeleteReason::Orphan),
            (Phase::Bound | Phase::Other(_), _) => None,
        }
    }

    /// A Machine that was seen deleting and is not seen any more is asked for.
    fn ask_for_machine(&mut self, status: &VmStatus) {
        let Some((machine, uid)) =
            status.machine.as_ref().and_then(|one| Some((&one.name, one.uid.as_ref()?)))
        else {
            return;
        };
        if self.seen.machines.get(machine).is_none_or(|found| found.uid != *uid) {
            self.plan.ask.insert(Object::Machine(machine.clone(), Some(uid.clone())));
        }
    }
}
