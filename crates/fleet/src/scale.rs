//! Ten thousand machines: each decision looks at each of them once.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::address::{self, Network};
use crate::brake::{Brake, Subject};
use crate::capacity::{self, Ledger, Limits};
use crate::claim::{self, Resizing, Wanted};
use crate::disks::Disks;
use crate::flavor::Flavors;
use crate::machine::{Hardware, Machine, View};
use crate::names::Line;
use crate::origin::Origin;
use crate::reckoning::Reckoning;
use crate::samples::{OWNER, at, id, view, warm, worker};
use crate::sweep::{self, Facts, JobRead, Noticed};
use crate::warm::{self, Addresses, Desired, Observed, TemplateState, Wish};
use crate::workers::Listing;

const MANY: usize = 10_000;

/// Half of them warm with addresses, half of them workers that have run for hours.
fn crowd() -> View {
    view((0..MANY).map(|n| {
        if n % 2 == 0 {
            warm(&format!("provision-v2-ip-10-0-{}-{}-x", n / 256, n % 256), "deb", "")
        } else {
            worker(&format!("worker-{n}"), "01:00:00")
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
struct Asked(Cell<usize>);

impl Asked {
    fn none() -> Self {
        Self(Cell::new(0))
    }

    fn busy(&self, answer: bool) -> impl Fn(&Machine) -> bool {
        move |_| {
            self.0.set(self.0.get() + 1);
            answer
        }
    }
}

#[test]
fn a_claim_looks_at_each_machine_once() {
    let view = crowd();
    let asked = Asked::none();
    let origin = Origin::default();
    let wanted = Wanted {
        owner: OWNER,
        line: Line::V2,
        model: "deb",
        flavor: None,
        template: None,
        origin: &origin,
        disks: &Disks::new(),
    };
    let misses =
        claim::find(&view, &wanted, &asked.busy(true), Resizing::default()).expect_err("all are busy");
    assert_eq!(misses.iter().map(|(_, number)| number as usize).sum::<usize>(), MANY / 2);
    assert_eq!(asked.0.get(), MANY / 2);
}

#[test]
fn a_sweep_looks_at_each_machine_once() {
    let view = crowd();
    let asked = Asked::none();
    let listing = Listing { begun: at("11:59:00"), workers: BTreeMap::new() };
    // Otherwise all of them would wait.
    let mut brake = Brake::default();
    brake.confirm(view.iter().map(|machine| Subject::Machine(machine.id.clone())), at("12:00:00"));
    let facts = Facts {
        owner: OWNER,
        now: at("12:00:00"),
        ours: at("12:00:00"),
        stop: None,
        worker_ttl: SignedDuration::from_hours(2),
        registration_ttl: SignedDuration::from_mins(10),
        grace: SignedDuration::from_mins(3),
        listing: Some(&listing),
        budget: 10,
        brake: &brake,
        disable: &[],
    };
    let (doomed, events, reckoning) = (BTreeMap::new(), BTreeMap::new(), Reckoning::default());
    let elsewhere = JobRead { runs_here: false, at: at("12:00:00") };
    let noticed = Noticed {
        busy: &asked.busy(false),
        doomed: &doomed,
        changed_at: &|_| None,
        events: &events,
        reckoning: &reckoning,
        jobs: &view.iter().map(|machine| (machine.id.clone(), elsewhere)).collect(),
        stubborn: &BTreeMap::new(),
    };
    let sweep = sweep::verdicts(&view, &facts, &noticed);
    assert_eq!((sweep.delete.len(), sweep.kept.len()), (10, MANY - 10));
    assert_eq!(asked.0.get(), MANY);
}

#[test]
fn a_plan_for_thousands_gives_each_its_address_and_looks_at_each_machine_once() {
    let view = crowd();
    let asked = Asked::none();
    let held = address::held(&networks(), &view, std::iter::empty());
    let template = TemplateState::Ready {
        id: id("deb"),
        origin: Origin::default(),
        hardware: Some(Hardware { cpus: 2, memory_mb: 4096 }),
    };
    let number = u32::try_from(MANY).expect("a number");
    let wish = Wish { line: Line::V2, model: "deb".to_owned(), flavor: None, number, template };
    let networks = networks();
    let observed = Observed {
        view: &view,
        owner: OWNER,
        now: at("12:00:00"),
        stop: None,
        reckoning: &Reckoning::default(),
        making: &[],
        busy: &asked.busy(false),
        doomed: &|_| false,
        resting: &BTreeMap::new(),
        addresses: Addresses::From { networks: &networks, held: &held },
        ledger: Ledger::default(),
        room: None,
        disks: &Disks::new(),
    };
    let limits = Limits { workers: None, starting: 10, cpus: None, memory_mb: None, keep_smaller: 0 };
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

    let listing = Listing { begun: at("11:59:00"), workers: BTreeMap::new() };
    let ledger = capacity::usage(&view, OWNER, &[], &listing, &|_| false).ledger;
    assert_eq!(ledger.workers as usize, MANY / 2);
    let usage = address::usage(&networks, &view, std::iter::empty());
    assert_eq!((usage.total, usage.used), (65_534, held.len() as u64 - 1));
}
