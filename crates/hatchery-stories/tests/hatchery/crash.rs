//! The hatchery dies at every request that it sends, and the next one puts everything right.
//!
//! Each scenario is run once undisturbed, to learn which requests there are, and what both worlds are like before each of
//! them and when its answer comes. Then it is run for every request that changes something thrice: killed before the
//! request leaves, after it was done but before its answer, and after the answer. Of all other crashes those that leave
//! the same worlds at the same time are one, and played once; `ROOKERY_ALL_CRASHES=1` plays them all the same. What is
//! asserted comes from the two worlds alone.

mod scenario;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rookery_hatchery_stories::Sight;
use rookery_kit::{Moment, Step};

use scenario::{Ground, Scenario};

/// A story whose crashes are divided among several tests, `STORY::first` and so on, so that they run side by side. The
/// undisturbed run that counts the crashes is shared: all shards divide the same list.
macro_rules! in_shards {
    ($(#[test] fn $story:ident() { $scenario:expr => $($shard:ident),+ })+) => {$(
        mod $story {
            use super::{OnceLock, Rehearsal, Scenario, Shard};

            static REHEARSAL: OnceLock<Rehearsal> = OnceLock::new();
            const SHARDS: &[&str] = &[$(stringify!($shard)),+];

            $(
                #[test]
                fn $shard() {
                    let rehearsal = REHEARSAL.get_or_init(|| Rehearsal::of($scenario));
                    rehearsal.crash_in_each_moment_of(Shard::named(stringify!($shard), SHARDS));
                }
            )+
        }
    )+};
}

in_shards! {
    #[test]
    fn a_crash_while_a_worker_is_started_leaves_nothing_behind() {
        Scenario::Spawn => first, second
    }

    #[test]
    fn a_crash_while_a_warm_machine_is_claimed_leaves_nothing_behind() {
        Scenario::Claim => first, second
    }

    #[test]
    fn a_crash_while_warm_machines_are_made_leaves_nothing_behind() {
        Scenario::Provision => only
    }

    #[test]
    fn a_crash_while_a_model_is_registered_leaves_nothing_behind() {
        Scenario::Register => first, second, third, fourth, fifth, sixth
    }

    #[test]
    fn a_crash_while_a_template_is_replaced_leaves_nothing_behind() {
        Scenario::Remake => first, second, third, fourth, fifth, sixth
    }

    #[test]
    fn a_crash_while_machines_are_deleted_leaves_nothing_behind() {
        Scenario::Clean => only
    }
}

#[test]
fn shards_divide_all_crashes_among_them() {
    for of in 1..=6 {
        let crashes: Vec<usize> = (0..20).collect();
        let mut shares: Vec<usize> =
            (0..of).flat_map(|index| Shard { index, of }.share(&crashes)).copied().collect();
        shares.sort_unstable();
        assert_eq!(shares, crashes);
    }
}

/// One of the tests that divide the crashes of a story.
#[derive(Debug, Clone, Copy)]
struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    fn named(name: &str, all: &[&str]) -> Self {
        let index = all.iter().position(|shard| *shard == name).expect("one of them");
        Self { index, of: all.len() }
    }

    /// Every n-th: neighbours take about as long as each other.
    fn share<T>(self, all: &[T]) -> impl Iterator<Item = &T> {
        all.iter().skip(self.index).step_by(self.of)
    }
}

/// A scenario that was run undisturbed, and the crashes to play.
#[derive(Debug)]
struct Rehearsal {
    scenario: Scenario,
    ground: Ground,
    course: Course,
    crashes: Vec<(usize, Moment)>,
}

impl Rehearsal {
    fn of(scenario: Scenario) -> Self {
        let ground = Ground::prepare(scenario);
        let course = ground.undisturbed().unwrap_or_else(|error| panic!("undisturbed: {error}"));
        let crashes = course.crashes(std::env::var_os("ROOKERY_ALL_CRASHES").is_some());
        // Every request that changes something is among them, in all its moments.
        let changing: Vec<usize> =
            (1..=course.requests.len()).filter(|number| course.changes(*number)).collect();
        assert!(changing.len() >= scenario.fewest_changes(), "{changing:?} of {:#?}", course.requests);
        for number in &changing {
            assert!(
                Moment::ALL.iter().all(|moment| crashes.contains(&(*number, *moment))),
                "{number}: {crashes:?}"
            );
        }
        println!("{scenario:?}: {} requests, {} crashes", course.requests.len(), crashes.len());
        Self { scenario, ground, course, crashes }
    }

    fn crash_in_each_moment_of(&self, shard: Shard) {
        let requests = &self.course.requests;
        let (mut played, mut failed) = (0, Vec::new());
        for (number, moment) in shard.share(&self.crashes) {
            played += 1;
            let at = format!("{moment:?} of {number} ({})", requests[number - 1]);
            match self.ground.crash(*number, *moment) {
                Err(error) => failed.push(format!("{at}: {error}")),
                Ok(others) if !others.starts_with(&requests[..*number]) => {
                    failed.push(format!("{at}: it went another way than undisturbed: {others:?}"));
                }
                Ok(_) => {}
            }
        }
        println!("{:?}: {played} crashes of {shard:?}, {} failures", self.scenario, failed.len());
        assert!(played > 0, "{shard:?} has nothing to do");
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
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
