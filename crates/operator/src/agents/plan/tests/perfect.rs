//! What becomes of a world in which everything that is planned succeeds at once, and the neighbours do their part.

use super::*;

impl World {
    /// The world after a plan, a quarter of an hour later.
    pub(super) fn after(&self, plan: &Plan) -> Self {
        let mut next = self.clone();
        for (name, status) in &plan.vms {
            let Some(request) = next.seen.requests.get_mut(name) else { continue };
            let stored = &mut request.stored;
            (stored.agent, stored.machine) = (status.agent.clone(), status.machine.clone());
            (stored.phase, stored.reason) = (Some(status.phase.clone()), Some(status.reason.clone()));
            stored.since = Some(status.since);
        }
        plan.actions.iter().for_each(|action| next.act(action));
        next.make_vms();
        next.bind();
        next.seen.confirmed_gone = plan.ask.iter().filter(|object| next.is_gone(object)).cloned().collect();
        next.seen.carried = plan.carried.clone();
        next.seen.now = next.seen.now.saturating_add(SignedDuration::from_mins(15)).expect("a time");
        next.seed += 1;
        next
    }

    pub(super) fn is_gone(&self, object: &Object) -> bool {
        match object {
            Object::AgentMachine(name) => !self.seen.agent_machines.contains_key(name),
            Object::Machine(name, uid) => self
                .seen
                .machines
                .get(name)
                .is_none_or(|machine| uid.as_ref().is_some_and(|uid| machine.uid != *uid)),
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Create { request: name, vm, purpose, place } => {
                assert!(!self.seen.requests.contains_key(name) && !self.seen.other_requests.contains(name));
                let mut new = request(name.as_str(), 0, Phase::Provisioning, VmReason::VmCreatePending);
                (new.vm_name, new.purpose) = (vm.clone(), purpose.clone());
                new.stored = StoredVm { place: Some(place.clone()), ..StoredVm::default() };
                new.seen = Seen::Absent;
                self.seen.requests.insert(name.clone(), new);
            }
            Action::Assign { request, agent_machine } => {
                let request = self.seen.requests.get_mut(request).expect("a request");
                request.purpose = Purpose::AgentMachine(agent_machine.clone());
            }
            Action::Pin { agent_machine } => {
                let machine = self.seen.agent_machines.get_mut(agent_machine).expect("an AgentMachine");
                machine.pinned = Some(agent_machine.to_string());
            }
            Action::Unpin { agent_machine } => {
                self.seen.agent_machines.get_mut(agent_machine).expect("an AgentMachine").pinned = None;
            }
            Action::Patch(patch) => {
                let agent = self.seen.agents.get_mut(&patch.agent).expect("an Agent");
                agent.labels.extend(patch.labels.clone());
                agent.role = patch.role.clone().or(agent.role.take());
                agent.hostname = patch.hostname.clone().or(agent.hostname.take());
                agent.approved |= patch.approve;
            }
            Action::Renew { request, failures, .. } => {
                let request = self.seen.requests.get_mut(request).expect("a request");
                let place = request.stored.place.clone();
                request.stored = StoredVm { place, ..StoredVm::default() };
                request.seen = Seen::Absent;
                request.discovery.count = *failures;
                request.discovery.generation = Some(self.want.generation);
            }
            Action::DeleteRequest { request, .. } => {
                self.seen.requests.get_mut(request).expect("a request").deleting = true;
            }
            Action::DestroyVm { request, .. } => {
                self.seen.requests.get_mut(request).expect("a request").seen = Seen::Absent;
            }
            Action::DeleteAgent { agent, .. } => drop(self.seen.agents.remove(agent)),
            Action::Finish { request } => drop(self.seen.requests.remove(request)),
            Action::FinishPool => {}
        }
    }

    /// vCenter makes what is missing, under an identity of its own, and the host appears as an Agent.
    fn make_vms(&mut self) {
        let missing = self.seen.requests.iter_mut().filter(|(_, request)| {
            let serves =
                matches!(request.stored.phase, Some(Phase::Bound | Phase::Released | Phase::Orphaned));
            request.seen == Seen::Absent && !request.deleting && !serves
        });
        let mut made = vec![];
        for (place, (name, request)) in missing.enumerate() {
            let serial = u64::from(u8::try_from(place).expect("a few")) + self.seed * 1000;
            let mut bytes = [0xee; 16];
            bytes[..8].copy_from_slice(&serial.to_be_bytes());
            let identity = Identity { uuid: Some(BiosUuid::from_bytes(bytes)), macs: BTreeSet::new() };
            request.stored.identity = identity.clone();
            request.stored.powered_on_at = Some(self.seen.now);
            request.seen = Seen::Present(Vm { identity: identity.clone(), mark: Mark::Ours });
            request.create_failed = false;
            made.push((format!("made-{serial}-{name}"), identity));
        }
        for (name, identity) in made {
            let agent = Agent { serial: identity.uuid, macs: BTreeSet::new(), ..fresh(0) };
            self.add_agent(&name, agent);
        }
    }

    /// The CAPI provider binds an approved Agent to the AgentMachine whose pin it carries.
    fn bind(&mut self) {
        for (name, machine) in &mut self.seen.agent_machines {
            let pin = machine.pinned.clone().filter(|_| machine.waits() && machine.agent.is_none());
            let Some(pin) = pin else { continue };
            let suits = |agent: &&mut Agent| {
                agent.approved && !agent.is_bound() && agent.labels.get(AGENT_MACHINE_LABEL) == Some(&pin)
            };
            let names: Vec<_> = self.seen.agents.keys().cloned().collect();
            for found in names {
                let Some(agent) = self.seen.agents.get_mut(&found).filter(suits) else { continue };
                (agent.bound_to, agent.cluster) = (Some(name.to_string()), Some("demo".to_owned()));
                (machine.agent, machine.ready) = (Some(found), Ready::Yes);
                break;
            }
        }
    }

    /// The world in which nothing more is to be done.
    pub(super) fn settled(self) -> Self {
        let mut world = self;
        let mut calm = 0;
        for _ in 0..40 {
            let plan = world.plan();
            // A pool whose finalizer is gone is gone.
            let is_idle = plan.actions.iter().all(|action| *action == Action::FinishPool);
            calm = if is_idle { calm + 1 } else { 0 };
            // One round for the grace, one to ask, one to act.
            if calm > 3 {
                return world;
            }
            world = world.after(&plan);
        }
        panic!("it never ends: {:?}", world.plan().told());
    }
}

#[test]
fn a_scale_up_ends_with_nodes_and_a_scale_down_with_nothing() {
    let mut world = empty();
    for name in ["w-a", "w-b", "w-c"] {
        world.add_machine(name, waiting(name));
    }
    let mut up = world.settled();
    assert!(up.seen.agent_machines.values().all(|machine| machine.ready == Ready::Yes));
    assert_eq!((up.seen.requests.len(), up.seen.agents.len()), (3, 3));
    // Machines are seen deleting; then Agents are unbound and both are gone.
    up.seen.machines.values_mut().for_each(|machine| machine.deleting = true);
    let mut down = up.after(&up.plan());
    for agent in down.seen.agents.values_mut() {
        (agent.bound_to, agent.cluster) = (None, None);
    }
    (down.seen.agent_machines, down.seen.machines) = (BTreeMap::new(), BTreeMap::new());
    let down = down.settled();
    assert_eq!((down.seen.requests.len(), down.seen.agents.len()), (0, 0));
}
