//! Ten thousand machines: each decision looks at each of them once.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::address::{self, Network};
use crate::brake::{Brake, Subject, Weight};
use crate::capacity::{self, Ledger, Limits};
use crate::claim::{self, ClaimRequest, Resizing};
use crate::deletion::{self, Case, Gate, Kept};
use crate::disks::Disks;
use crate::flavor::Flavors;
use crate::machine::{Hardware, Machine, View};
use crate::names;
use crate::origin::Origin;
use crate::reckoning::Reckoning;
use crate::samples::{Mark, OWNER, POOL_A, at, candidacy, id, key, membership, running, view, warm};
use crate::warm::{self, Addresses, Desired, Observed, PoolTarget, TemplateState};

const MANY: usize = 10_000;

/// Half of them warm with addresses, half of them in use for hours.
fn crowd() -> View<Mark> {
    view((0..MANY).map(|n| {
        if n % 2 == 0 {
            warm(&format!("pool-a-ip-10-0-{}-{}-x", n / 256, n % 256), "deb", "")
        } else {
            running(&format!("node-{n}"), "01:00:00")
        }
    }))
}

fn networks() -> [Network; 1] {
    [Network {
        ranges: vec!["10.0.0.0/16".parse().expect("a block")],
        prefix: 16,
        gateway: None,
        dns: Vec::new(),
    }]
}

/// Counts how often it is asked.
struct CallCounter(Cell<usize>);

impl CallCounter {
    fn none() -> Self {
        Self(Cell::new(0))
    }

    fn busy(&self, answer: bool) -> impl Fn(&Machine<Mark>) -> bool {
        move |_| {
            self.0.set(self.0.get() + 1);
            answer
        }
    }
}

#[test]
fn a_claim_looks_at_each_machine_once() {
    let view = crowd();
    let asked = CallCounter::none();
    let wanted = ClaimRequest { flavor: None, template: Hardware::default(), disks: &Disks::new() };
    let times = Cell::new(0);
    let candidacy = |machine| {
        times.set(times.get() + 1);
        candidacy(machine, "deb", &Origin::default())
    };
    let found = claim::find(&view, &wanted, &candidacy, &asked.busy(true), Resizing::default());
    let misses = found.expect_err("all are busy");
    assert_eq!(times.get(), MANY);
    assert_eq!(misses.iter().map(|(_, number)| number as usize).sum::<usize>(), MANY / 2);
    assert_eq!(asked.0.get(), MANY / 2);
}

#[test]
fn the_gate_before_deletions_looks_at_each_machine_once() {
    let view = crowd();
    let (asked, times) = (CallCounter::none(), Cell::new(0));
    // Otherwise all of them would wait.
    let mut brake = Brake::default();
    brake.confirm(view.iter().map(|machine| Subject::Machine(machine.id.clone())), at("12:00:00"));
    let gate = Gate {
        view: &view,
        owner: &OWNER,
        now: at("12:00:00"),
        evidence_begun: at("11:59:00"),
        budget: 10,
        brake: &brake,
        also: Vec::new(),
        busy: &asked.busy(false),
        changed_at: &|_| None,
        reckoning: &Reckoning::default(),
        stubborn: &BTreeMap::new(),
    };
    let verdicts = deletion::decide::<_, _, Kept>(&gate, &|_, _| {
        times.set(times.get() + 1);
        let age = SignedDuration::from_hours(2);
        Ok(Case { reason: "old", urgency: 0, age, weight: Weight::Lasting, by_evidence: true })
    });
    assert_eq!((verdicts.delete.len(), verdicts.kept.len()), (10, MANY - 10));
    assert_eq!((asked.0.get(), times.get()), (MANY, MANY));
}

#[test]
fn a_plan_for_thousands_gives_each_its_address_and_looks_at_each_machine_once() {
    let view = crowd();
    let asked = CallCounter::none();
    let held = address::held(&networks(), &view, std::iter::empty());
    let template =
        TemplateState::Ready { id: id("deb"), origin: Origin::default(), hardware: Hardware::new(2, 4096) };
    let number = u32::try_from(MANY).expect("a number");
    let wish = PoolTarget { key: key(POOL_A, "deb", ""), flavor: None, number, template, rests_until: None };
    let networks = networks();
    let observed = Observed {
        view: &view,
        membership: &membership,
        name: &|key, _, random, taken| names::fresh(key.family, random, taken),
        now: at("12:00:00"),
        stop: None,
        reckoning: &Reckoning::default(),
        making: &[],
        busy: &asked.busy(false),
        condemned: &|_| false,
        addresses: Addresses::From { networks: &networks, held: &held },
        ledger: Ledger::default(),
        room: None,
        disks: &Disks::new(),
    };
    let limits = Limits::default();
    let desired = Desired {
        wishes: &[wish],
        pool_size: Some(MANY),
        refresh_budget: 1,
        max_age: None,
        limits: &limits,
        flavors: &Flavors::default(),
    };
    let plan = warm::plan(&observed, &desired, &mut StdRng::seed_from_u64(3));
    let given: BTreeSet<_> = plan.make.iter().filter_map(|make| Some(make.address.as_ref()?.ip)).collect();
    assert_eq!(given.len(), MANY / 2);
    assert!(given.is_disjoint(&held));
    assert_eq!(asked.0.get(), MANY / 2);

    let mut counted = 0;
    let ledger = capacity::ledger(&view, &OWNER, &[], &mut |_, _| counted += 1);
    assert_eq!((ledger.cpus, counted), (MANY as u64, MANY), "half of them run, with two CPUs each");
    let usage = address::usage(&networks, &view, std::iter::empty());
    assert_eq!((usage.total, usage.used), (65_534, held.len() as u64 - 1));
}
