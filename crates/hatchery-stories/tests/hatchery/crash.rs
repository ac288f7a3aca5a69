//! The hatchery dies at every request that it sends, and the next one puts everything right.
//!
//! Each scenario is run once undisturbed, to learn which requests there are, and what both worlds are like before each of
//! them and when its answer comes. Then it is run for every request that changes something thrice: killed before the
//! request leaves, after it was done but before its answer, and after the answer. Of all other crashes those that leave
//! the same worlds at the same time are one, and played once; `ROOKERY_ALL_CRASHES=1` plays them all the same. What is
//! asserted comes from the two worlds alone.

mod scenario;

use std::collections::{BTreeMap, BTreeSet};

use rookery_hatchery_stories::Sight;
use rookery_kit::{Moment, Step};

use scenario::{Ground, Scenario};

#[test]
fn a_crash_while_a_worker_is_started_leaves_nothing_behind() {
    every_crash(Scenario::Spawn);
}

#[test]
fn a_crash_while_a_warm_machine_is_claimed_leaves_nothing_behind() {
    every_crash(Scenario::Claim);
}

#[test]
fn a_crash_while_warm_machines_are_made_leaves_nothing_behind() {
    every_crash(Scenario::Provision);
}

#[test]
fn a_crash_while_a_model_is_registered_leaves_nothing_behind() {
    every_crash(Scenario::Register);
}

#[test]
fn a_crash_while_a_template_is_replaced_leaves_nothing_behind() {
    every_crash(Scenario::Remake);
}

#[test]
fn a_crash_while_machines_are_deleted_leaves_nothing_behind() {
    every_crash(Scenario::Clean);
}

fn every_crash(scenario: Scenario) {
    let ground = Ground::prepare(scenario);
    let course = ground.undisturbed().unwrap_or_else(|error| panic!("undisturbed: {error}"));
    let crashes = course.crashes(std::env::var_os("ROOKERY_ALL_CRASHES").is_some());
    // Every request that changes something is among them, in all its moments.
    let changing: Vec<usize> = (1..=course.requests.len()).filter(|number| course.changes(*number)).collect();
    assert!(changing.len() >= scenario.fewest_changes(), "{changing:?} of {:#?}", course.requests);
    for number in &changing {
        assert!(
            Moment::ALL.iter().all(|moment| crashes.contains(&(*number, *moment))),
            "{number}: {crashes:?}"
        );
    }
    let mut failed = Vec::new();
    for (number, moment) in &crashes {
        let at = format!("{moment:?} of {number} ({})", course.requests[number - 1]);
        match ground.crash(*number, *moment) {
            Err(error) => failed.push(format!("{at}: {error}")),
            Ok(requests) if !requests.starts_with(&course.requests[..*number]) => {
                failed.push(format!("{at}: it went another way than undisturbed: {requests:?}"));
            }
            Ok(_) => {}
        }
    }
    let (requests, crashes, failures) = (course.requests.len(), crashes.len(), failed.len());
    println!("{scenario:?}: {requests} requests, {crashes} crashes, {failures} failures");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What a hatchery does that nobody disturbs.
#[derive(Debug, Default)]
struct Course {
    requests: Vec<String>,
    /// What was seen in each step, in their order.
    sights: Vec<(Step, Sight)>,
}

impl Course {
    /// All crashes, or all that differ: nobody who comes later can tell two from each other that leave the same worlds at
    /// the same time.
    fn crashes(&self, all: bool) -> Vec<(usize, Moment)> {
        let seen: BTreeMap<Step, Sight> = self.sights.iter().copied().collect();
        let changes = |number: usize| changes(&seen, number);
        let (mut left_behind, mut under_way) = (BTreeSet::new(), BTreeSet::new());
        let mut crashes = BTreeSet::new();
        for (step, sight) in &self.sights {
            let (Step::Request(number) | Step::Answer(number)) = *step;
            under_way.remove(&number);
            let is_new = left_behind.insert((*sight, under_way.clone()));
            let all = all || changes(number);
            match step {
                Step::Request(_) => {
                    crashes.extend((is_new || all).then_some((number, Moment::BeforeRequest)));
                    under_way.extend(changes(number).then_some(number));
                }
                Step::Answer(_) => {
                    crashes.extend(all.then_some((number, Moment::BeforeAnswer)));
                    crashes.extend((is_new || all).then_some((number, Moment::AfterAnswer)));
                }
            }
        }
        crashes.into_iter().collect()
    }

    fn changes(&self, number: usize) -> bool {
        changes(&self.sights.iter().copied().collect(), number)
    }
}

/// Whether a request is answered at once, and the worlds are not what they were.
fn changes(seen: &BTreeMap<Step, Sight>, number: usize) -> bool {
    match (seen.get(&Step::Request(number)), seen.get(&Step::Answer(number))) {
        (Some(before), Some(after)) => before.at == after.at && before.worlds != after.worlds,
        _ => false,
    }
}
