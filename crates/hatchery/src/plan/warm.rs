//! Warm machines: how the pool moves on, and the sweep of all others.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use crate::machine::{Machine, View};
use crate::names::{self, ModelKind};
use crate::plan::braked::{self, Subject};
use crate::plan::hold;
use crate::plan::sweep::{self, Facts, Noticed, Reason, Sweep};
use crate::standing::{Standing, standing};
use rand::rngs::StdRng;
use rookery_cds::V1Model;
use rookery_fleet::address::Assigned;
use rookery_fleet::flavor::Flavor;
use rookery_fleet::origin::Origin;
use rookery_fleet::warm::{self, Addresses, Making, PoolKey, PoolTarget, TemplateState};
use rookery_fleet::{Hardware, MachineId, OwnerId, Power};

use super::pool::{WarmKind, membership};
use super::templates::{V1Template, v1_template};
use super::{
    Action, DeleteReason, Finish, Keep, ModelRef, NotMade, Observed, Pass, Pool, ServedJob, Unclaim,
    WaitReason,
};
use crate::intake::model::last_modified;
use crate::plan::running::RunningAction;

/// How many machines may be deleted at once. The next one begins when one has ended; one that hangs keeps its own place.
const AT_ONCE: usize = 10;

#[derive(Debug, Clone)]
pub struct Make {
    pub kind: ModelKind,
    pub model: String,
    pub name: String,
    pub template: MachineId,
    pub incarnation: Option<String>,
    /// When the V1 model was changed last.
    pub last_modified: String,
    /// Its address; none: from DHCP.
    pub address: Option<Assigned>,
    pub flavor: Option<Flavor>,
    /// What it takes while it is made.
    pub footprint: Hardware,
}

impl Pass<'_> {
    pub(super) fn keep_warm(&mut self) {
        let pools = &self.want.warm.pools;
        let wishes: Vec<PoolTarget> = pools.iter().map(|pool| self.wish(pool)).collect();
        let (making, pool_size) = self.making();
        let addresses = if self.want.networks.is_empty() {
            Addresses::Dhcp
        } else if self.seen.addresses_settled {
            Addresses::From { networks: self.want.networks, held: &self.held }
        } else {
            Addresses::NotYet
        };
        let observed = warm::Observed {
            view: self.seen.view,
            membership: &|machine| membership(machine, self.want.owner),
            name: &|key, ip, random, taken| pooled_name(self.seen, key, ip, random, taken),
            now: self.seen.now,
            stop: self.stop,
            reckoning: self.seen.reckoning,
            making: &making,
            busy: &|machine: &Machine| self.busy.has(machine) || self.given.contains(&machine.id),
            condemned: &|id: &MachineId| self.seen.condemned.contains(id),
            addresses,
            ledger: self.ledger.size,
            room: self.seen.room.copied(),
            disks: self.seen.disks,
        };
        let desired = warm::Desired {
            wishes: &wishes,
            pool_size,
            refresh_budget: self.want.warm.refresh_budget as usize,
            max_age: self.want.warm.max_age.and_then(|age| age.try_into().ok()),
            limits: &self.want.limits.size,
            flavors: self.want.flavors,
        };
        let planned = warm::plan(&observed, &desired, self.random);
        let model =
            |wish: usize| wishes.get(wish).map(|wish| WarmKind::of(&wish.key).model).unwrap_or_default();
        self.plan.warm =
            planned.counts.iter().enumerate().map(|(wish, count)| (model(wish), *count)).collect();
        let waiting = planned
            .waiting
            .iter()
            .map(|one| (model(one.wish), NotMade::Warm { missing: one.missing, why: one.why.clone() }));
        self.plan.not_made.extend(waiting);
        for finish in planned.finish.iter().filter_map(|id| finish(self.seen.view, id)) {
            let machine = self.seen.view.machines.get(&finish.machine);
            if machine.is_some_and(|machine| machine.power == Some(Power::Off)) {
                self.ledger.size.take(&finish.footprint);
            }
            self.plan.actions.push(Action::Finish(finish));
        }
        let avoided = |id: &MachineId| self.seen.avoided.contains(id);
        let unclaimed = planned.give_back.iter().filter(|id| !avoided(id));
        self.plan.actions.extend(unclaimed.filter_map(|id| unclaim(self.seen.view, id)));
        self.removed = planned.remove.into_iter().filter(|(id, _)| !avoided(id)).collect();
        if self.seen.draining {
            return;
        }
        // What is not known about room concerns new machines alone.
        if self.seen.room_is_asked {
            self.plan.missing.room |= !planned.make.is_empty();
            return;
        }
        if self.is_full().is_err() {
            return;
        }
        for make in planned.make {
            self.ledger.size.take(&make.footprint);
            self.held.extend(make.address.as_ref().map(|assigned| assigned.ip));
            let made = wishes.get(make.wish).and_then(|wish| made(wish, make));
            self.plan.actions.extend(made.map(|made| Action::Make(Box::new(made))));
        }
    }

    /// What is being made, and how much may be at once. Warm machines that the view has lost may be there: they count as if
    /// they were being made, so that they are not replaced, and take no place.
    fn making(&self) -> (Vec<Making>, Option<usize>) {
        let missed = self.seen.brake.missed().filter_map(|machine| missed(machine, self.want.owner));
        let missed: Vec<Making> = missed.collect();
        let pool_size = self.want.warm.concurrency.map(|size| (size as usize).saturating_add(missed.len()));
        let making = self.seen.running.iter().filter_map(making).chain(missed).collect();
        (making, pool_size)
    }

    fn wish(&self, pool: &Pool) -> PoolTarget {
        let (kind, model, template) = match &pool.model {
            ModelRef::V1(path) => (ModelKind::V1, path, self.v1_state(path)),
            ModelRef::V2(template) => (ModelKind::V2, template, self.v2_state(template)),
        };
        // Where no flavors are configured, names of flavors mean nothing.
        let flavor = pool.flavor.clone().filter(|_| !self.want.flavors.is_empty());
        let key = WarmKind::new(kind, model, flavor.as_deref().unwrap_or_default()).key();
        let rests_until = self.rests_until(kind, model);
        PoolTarget { key, flavor, number: pool.number, template, rests_until }
    }

    fn v2_state(&self, template: &str) -> TemplateState {
        match self.template_named(template) {
            Ok(machine) => ready(machine, None),
            Err(WaitReason::TemplateMissing { .. }) => TemplateState::Missing,
            Err(why) => TemplateState::NotNow(why.to_string()),
        }
    }

    fn v1_state(&self, path: &str) -> TemplateState {
        let not_now = |why: &str| TemplateState::NotNow(why.to_owned());
        let Some(models) = self.seen.models else {
            return not_now("CDS has not told its worker models yet");
        };
        let Some(model) = models.iter().find(|model| model.path() == path) else {
            return not_now(&format!("CDS has no worker model {path}, or not for this hatchery"));
        };
        if model.need_registration || model.check_registration {
            return not_now("the model has to be registered first");
        }
        match v1_template(self.seen.view, self.want.owner, model) {
            V1Template::Current(id) => match self.seen.view.machines.get(&id) {
                Some(machine) => ready(machine, Some(model)),
                None => TemplateState::Missing,
            },
            V1Template::Missing | V1Template::Outdated(_) => {
                not_now("the template of the model has to be made first")
            }
            V1Template::Taken(taken) => TemplateState::NotNow(taken.why(model).to_string()),
            V1Template::Unknown => not_now("vCenter has not told what its template is"),
        }
    }

    /// What goes, for its own reasons.
    pub(super) fn sweep(&mut self) {
        let cleaning = self.want.cleaning;
        let signed = |duration: std::time::Duration| duration.try_into().unwrap_or(jiff::SignedDuration::MAX);
        let disabled: Vec<String> = self.disabled.iter().map(|(worker, _)| worker.name.clone()).collect();
        let facts = Facts {
            owner: self.want.owner,
            now: self.seen.now,
            ours: self.seen.ours,
            stop: self.stop,
            worker_ttl: signed(cleaning.worker_ttl),
            registration_ttl: signed(cleaning.registration_ttl),
            grace: signed(cleaning.grace),
            listing: self.seen.listing,
            budget: self.free_deletions(),
            brake: self.seen.brake,
            disable: &disabled,
        };
        // What the pool removes is on its way already.
        let removed: BTreeSet<&MachineId> = self.removed.iter().map(|(id, _)| id).collect();
        let busy = |machine: &Machine| {
            self.busy.has(machine)
                || self.given.contains(&machine.id)
                || self.seen.avoided.contains(&machine.id)
                || self.seen.view.is_gone(&machine.id)
                || removed.contains(&machine.id)
        };
        let noticed = Noticed {
            busy: &busy,
            condemned: self.seen.condemned,
            changed_at: self.seen.changed_at,
            events: self.seen.events,
            reckoning: self.seen.reckoning,
            jobs: self.seen.job_reads,
            stubborn: self.seen.stubborn,
        };
        let mut swept = sweep::verdicts(self.seen.view, &facts, &noticed);
        let facts = hold::Facts {
            owner: self.want.owner,
            now: self.seen.now,
            wishes: self.seen.wishes,
            told: self.seen.outcomes,
            condemned: self.seen.condemned,
            busy: &busy,
        };
        let gone = self.seen.brake.missed().map(|machine| braked::Waiting {
            subject: Subject::Lost(machine.id.clone()),
            name: machine.name.clone(),
            why: "it has vanished from the inventory".to_owned(),
        });
        self.plan.braked =
            gone.chain(std::mem::take(&mut swept.braked).into_iter().map(Into::into)).collect();
        let holding = hold::decide(self.seen.view, &facts, &mut swept);
        let Sweep { delete, needs_events, needs_jobs, kept, stopped, braked: _ } = swept;
        (self.plan.kept, self.plan.stopped) = (kept, stopped);
        self.plan.missing.events = needs_events;
        self.plan.missing.jobs = needs_jobs;
        self.plan.missing.outcomes = holding.ask;
        for (id, hold) in holding.keep {
            let Some(machine) = self.seen.view.machines.get(&id) else { continue };
            let of = machine.mark().map(ServedJob::from).unwrap_or_default();
            self.plan.actions.push(Action::Keep(Keep { machine: id, name: machine.name.clone(), hold, of }));
        }
        self.disable_orphans();
        for (id, reason) in delete {
            // What has to go goes at any time.
            if self.seen.sweep_is_due || matches!(reason, Reason::Doomed(_)) {
                self.delete(&id, DeleteReason::Swept(reason));
            }
        }
        let mut removed = std::mem::take(&mut self.removed);
        removed.sort_by_key(|(id, _)| self.seen.failures(id));
        removed.truncate(self.free_deletions());
        for (id, removal) in removed {
            self.delete(&id, DeleteReason::Pool(removal));
        }
    }

    /// How many more machines may be deleted now.
    pub(super) fn free_deletions(&self) -> usize {
        let is_deletion = |action: &Action| matches!(action, Action::Delete(_));
        let running = self.seen.running.iter().filter(|running| is_deletion(&running.action)).count();
        let planned = self.plan.actions.iter().filter(|action| is_deletion(action)).count();
        AT_ONCE.saturating_sub(running + planned)
    }
}

/// The warm machine that the pool decided to make.
fn made(wish: &PoolTarget, make: warm::Make) -> Option<Make> {
    let TemplateState::Ready { id, origin, .. } = &wish.template else { return None };
    let WarmKind { kind, model, .. } = WarmKind::of(&wish.key);
    Some(Make {
        kind,
        model,
        name: make.name,
        template: id.clone(),
        incarnation: origin.incarnation.clone(),
        last_modified: origin.revision.clone().unwrap_or_default(),
        address: make.address,
        flavor: make.flavor,
        footprint: make.footprint,
    })
}

/// What finishing a warm machine takes.
fn finish(view: &View, id: &MachineId) -> Option<Finish> {
    let machine = view.machines.get(id)?;
    let mark = machine.mark()?;
    let WarmKind { kind, model, flavor } = WarmKind::of_machine(machine, mark)?;
    Some(Finish {
        machine: id.clone(),
        name: machine.name.clone(),
        is_on: machine.power == Some(Power::On),
        kind,
        model,
        flavor: Some(flavor).filter(|flavor| !flavor.is_empty()),
        address: mark.address(),
        footprint: machine.hardware,
    })
}

fn unclaim(view: &View, id: &MachineId) -> Option<Action> {
    let machine = view.machines.get(id)?;
    let (machine, name, mark) = (id.clone(), machine.name.clone(), Box::new(machine.mark()?.clone()));
    Some(Action::Unclaim(Unclaim { machine, name, mark }))
}

fn ready(machine: &Machine, model: Option<&V1Model>) -> TemplateState {
    TemplateState::Ready {
        id: machine.id.clone(),
        origin: Origin {
            incarnation: machine.incarnation.clone(),
            revision: model.map(last_modified).filter(|text| !text.is_empty()),
        },
        hardware: machine.hardware,
    }
}

/// A warm machine that is not in sight, as one that is being made.
fn missed(machine: &Machine, owner: &OwnerId) -> Option<Making> {
    let mark = machine.mark_of(owner).filter(|_| standing(machine, owner) == Standing::Pooled)?;
    Some(Making {
        key: WarmKind::of_machine(machine, mark)?.key(),
        name: machine.name.clone(),
        machine: None,
    })
}

/// A name that no other front has reserved, either.
fn pooled_name(
    seen: &Observed<'_>,
    key: &PoolKey,
    address: Option<Ipv4Addr>,
    random: &mut StdRng,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    let taken = |name: &str| taken(name) || seen.reserved.names.contains(name);
    names::pooled(WarmKind::of(key).kind, address, random, &taken)
}

fn making(running: &RunningAction) -> Option<Making> {
    let flavor = if let Action::Make(make) = &running.action {
        make.flavor.as_ref().map(|flavor| flavor.name.as_str())
    } else if let Action::Finish(finish) = &running.action {
        finish.flavor.as_deref()
    } else {
        return None;
    };
    let (kind, model) = running.action.model()?;
    let key = WarmKind::new(kind, &model, flavor.unwrap_or_default()).key();
    Some(Making { key, name: running.name.clone(), machine: running.machine.clone() })
}
