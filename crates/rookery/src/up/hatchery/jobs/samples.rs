//! A stream of sample jobs: both protocols, several models, scripts of different lengths. Pure: one seed, one stream.

use std::num::NonZeroU64;

use rand::RngExt as _;
use rand::rngs::StdRng;
use rookery_cds_sim::{NewJob, Protocol, Requirement};

/// What jobs are called.
const NAMES: [&str; 4] = ["build", "test", "lint", "package"];
/// Each so many-th job wants a size of its own: the others have their template's.
const SIZED: u64 = 6;

/// Where sample jobs come from.
#[derive(Debug)]
pub(super) struct Samples {
    pub(super) random: StdRng,
    /// How many there were until now.
    pub(super) made: u64,
    /// Each so many-th job fails, if any does.
    pub(super) fail_every: Option<NonZeroU64>,
    /// What they ask for, in turns.
    pub(super) kinds: Vec<(Protocol, String)>,
    /// The sizes that there are.
    pub(super) flavors: Vec<String>,
    pub(super) region: String,
}

impl Samples {
    pub(super) fn next(&mut self) -> NewJob {
        self.made += 1;
        let turn = usize::try_from(self.made - 1).unwrap_or_default() % self.kinds.len().max(1);
        let (protocol, model) = self.kinds.get(turn).cloned().unwrap_or_default();
        let sized = self.made.is_multiple_of(SIZED).then_some(self.made / SIZED);
        let flavor = sized.and_then(|turn| {
            let turn = turn.checked_rem(self.flavors.len() as u64)?;
            self.flavors.get(usize::try_from(turn).ok()?).cloned()
        });
        let (flavor, requirements) = match protocol {
            Protocol::V2 => (flavor, Vec::new()),
            Protocol::V1 => {
                (None, flavor.map(|size| Requirement::new("flavor", &size, &size)).into_iter().collect())
            }
        };
        let name = NAMES.get(self.random.random_range(0..NAMES.len())).copied().unwrap_or("build");
        let tenths: u32 = self.random.random_range(0..20);
        let fails = self.fail_every.is_some_and(|every| self.made.is_multiple_of(every.get()));
        let end = if fails { "echo this one is meant to fail; exit 1" } else { "echo done" };
        NewJob {
            protocol,
            workflow: "samples".to_owned(),
            name: name.to_owned(),
            model: Some(model),
            region: Some(self.region.clone()),
            flavor,
            requirements,
            script: format!(
                "echo {name} number {}\nsleep {}.{}\n{end}\n",
                self.made,
                tenths / 10,
                tenths % 10
            ),
            ..NewJob::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn jobs(seed: u64, fail_every: u64) -> Vec<NewJob> {
        let (random, fail_every) = (StdRng::seed_from_u64(seed), NonZeroU64::new(fail_every));
        let (kinds, flavors) =
            (crate::up::hatchery::cds::kinds(), ["large", "small"].map(str::to_owned).to_vec());
        let mut samples = Samples { random, made: 0, fail_every, kinds, flavors, region: "here".to_owned() };
        (0..40).map(|_| samples.next()).collect()
    }

    #[test]
    fn one_seed_makes_one_stream_over_all_models_and_both_protocols() {
        assert_eq!(jobs(1, 0), jobs(1, 0));
        assert_ne!(jobs(1, 0), jobs(2, 0));
        let kinds: std::collections::BTreeSet<_> =
            jobs(1, 0).into_iter().map(|job| (job.protocol, job.model)).collect();
        assert_eq!(kinds.len(), 4, "{kinds:?}");
    }

    #[test]
    fn some_of_both_protocols_want_a_size_of_their_own() {
        let wanted =
            |job: &NewJob| job.requirements.first().map(|one| one.value.clone()).or(job.flavor.clone());
        let sizes: Vec<_> = jobs(1, 0).iter().filter_map(|job| Some((job.protocol, wanted(job)?))).collect();
        let (first, second) = (Protocol::V2, Protocol::V1);
        let expected =
            [(first, "small"), (second, "large")].map(|(protocol, size)| (protocol, size.to_owned()));
        assert_eq!(sizes[..2], expected);
        assert_eq!(sizes.len(), 6);
    }

    #[test]
    fn only_those_fail_that_are_meant_to() {
        let failing = |jobs: Vec<NewJob>| jobs.iter().filter(|job| job.script.contains("exit 1")).count();
        assert_eq!((failing(jobs(1, 0)), failing(jobs(1, 10))), (0, 4));
    }
}
