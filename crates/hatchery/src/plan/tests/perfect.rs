//! What becomes of a world in which everything that is planned succeeds at once.

use crate::names;

use super::*;

impl Plan {
    /// Whether there is nothing to do.
    fn is_idle(&self) -> bool {
        let does = |action: &Action| !matches!(action, Action::Free(_));
        !self.actions.iter().any(does) && self.missing.events.is_empty()
    }
}

impl World {
    /// The world after a plan, and whether that did anything.
    pub(super) fn after(&self, plan: &Plan) -> Self {
        let mut next = self.clone();
        for spawn in &plan.spawns() {
            next.start(spawn);
        }
        next.demands.retain(|demand| !plan.given_up().contains(&demand.job));
        for registration in &plan.registrations() {
            next.register(registration);
        }
        for make in &plan.made() {
            let machine = marked(&make.name, |mark| {
                mark.provisioning = true;
                let path = match make.kind {
                    ModelKind::V1 => &mut mark.worker_model_path,
                    ModelKind::V2 => &mut mark.vmware_model_path,
                };
                path.clone_from(&make.model);
                mark.worker_model_last_modified.clone_from(&make.last_modified);
                mark.template_incarnation = make.incarnation.clone().unwrap_or_default();
                mark.ip_address = make.address.as_ref().map(|at| at.ip.to_string()).unwrap_or_default();
            });
            next.put(Machine { hardware: make.footprint, created: Some(self.now), ..machine });
        }
        for id in &plan.finished() {
            next.change(id, |machine, _| (machine.power, machine.awaits_setup) = (Some(Power::Off), false));
        }
        for id in &plan.unclaimed() {
            next.change(id, |machine, mark| {
                (mark.provisioning, mark.worker_name) = (true, machine.name.clone());
                (mark.job_id, mark.worker_start_time) = (String::new(), None);
            });
        }
        for id in plan.actions.iter().filter_map(Action::deletes) {
            let gone = next.view.machines.remove(id).expect("what is deleted is there");
            next.listing.as_mut().map(|listing| listing.workers.remove(&gone.name));
            next.condemned.remove(id);
        }
        for id in &plan.missing.events {
            next.events.insert(id.clone(), Some(History::default()));
        }
        for name in &plan.disabled() {
            next.list(name, WorkerState::Disabled);
        }
        next.carried = plan.carried.clone();
        if let Some(listing) = &mut next.listing {
            listing.begun = listing.begun.saturating_add(SignedDuration::from_millis(1)).expect("a time");
        }
        next.seed += 1;
        next
    }

    /// The world in which nothing more is to be done.
    pub(super) fn settled(self) -> Self {
        let mut world = self;
        for _ in 0..40 {
            let plan = world.plan();
            if plan.is_idle() {
                // A worker without a machine is one more listing away from being disabled.
                let next = world.after(&plan);
                if next.plan().is_idle() {
                    return next;
                }
            }
            world = world.after(&plan);
        }
        panic!("it never ends: {:?}", world.plan());
    }

    fn put(&mut self, machine: Machine) {
        let machine = Machine { id: MachineId::new(format!("vm-new-{}", machine.name)), ..machine };
        assert!(self.view.machines.insert(machine.into()).is_none());
    }

    fn change(&mut self, id: &MachineId, change: impl FnOnce(&mut Machine, &mut Mark)) {
        let mut machine = self.view.machines.get(id).expect("what is changed is there").as_ref().clone();
        let mut mark = machine.mark().expect("what is changed is ours").clone();
        change(&mut machine, &mut mark);
        machine.recognised = Notes::Mark(Box::new(mark)).on(&machine.name);
        self.view.machines.insert(machine.into());
    }

    fn start(&mut self, spawn: &Spawn) {
        let now = self.now;
        let running = |machine: &mut Machine, mark: &mut Mark| {
            (machine.name, machine.power) = (spawn.name.clone(), Some(Power::On));
            (mark.worker_name, mark.provisioning) = (spawn.name.clone(), false);
            (mark.job_id, mark.worker_start_time) = (spawn.job.to_string(), Some(now));
        };
        match &spawn.path {
            WorkerPlacement::Claim { machine, resize, .. } => self.change(machine, |machine, mark| {
                running(machine, mark);
                machine.hardware = resize.unwrap_or(machine.hardware);
            }),
            WorkerPlacement::Clone { address, .. } => {
                let mut machine = marked(&spawn.name, |_| {});
                let mut mark = machine.mark().expect("a mark").clone();
                running(&mut machine, &mut mark);
                mark.ip_address = address.as_ref().map(|at| at.ip.to_string()).unwrap_or_default();
                machine.recognised = Notes::Mark(Box::new(mark)).on(&machine.name);
                self.put(Machine { hardware: spawn.footprint, ..machine });
            }
        }
        self.list(&spawn.name, WorkerState::Alive);
        self.demands.retain(|demand| demand.job != spawn.job);
    }

    /// The worker that registered the model has come and gone.
    fn register(&mut self, registration: &Registration) {
        assert!(names::is_register_name(&registration.name));
        if let Some(remake) = &registration.remake {
            if let Some(old) = &remake.replaces {
                self.view.machines.remove(old);
            }
            if let Some(Left::Finished(left) | Left::InTheWay(left)) = &remake.left {
                self.view.machines.remove(left);
            }
            self.put(template_of(&registration.model, OWNER.name()));
        }
        for model in self.models.iter_mut().flatten() {
            if model.path() == registration.model.path() {
                (model.need_registration, model.check_registration) = (false, false);
            }
        }
    }
}
