//! Delays between attempts. Pure: the caller's loop is the only place that sleeps.

use std::iter::FusedIterator;
use std::time::Duration;

use rand::{Rng, RngExt};

/// How long to wait between attempts: doubling steps up to a cap, each with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    /// No step is longer than this.
    pub cap: Duration,
    /// How many delays there are; `None`: for ever.
    pub attempts: Option<u32>,
}

impl Backoff {
    /// The delays of one series of attempts; the same generator state gives the same delays.
    pub fn delays<R: Rng>(&self, rng: R) -> Delays<R> {
        Delays { step: self.first.min(self.cap), cap: self.cap, left: self.attempts, rng }
    }
}

/// The delays of one series of attempts, from [`Backoff::delays`].
#[derive(Debug)]
pub struct Delays<R> {
    step: Duration,
    cap: Duration,
    left: Option<u32>,
    rng: R,
}

impl<R: Rng> Iterator for Delays<R> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let step = self.step;
        self.step = step.saturating_mul(2).min(self.cap);
        // Equal jitter: the fixed half keeps a peer that is down from being hammered by an unlucky draw.
        Some(self.rng.random_range(step.saturating_sub(step / 2)..=step))
    }
}

impl<R: Rng> FusedIterator for Delays<R> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn backoff(attempts: impl Strategy<Value = Option<u32>>) -> impl Strategy<Value = Backoff> {
        let edges = prop_oneof![Just(Duration::ZERO), Just(Duration::from_nanos(1)), Just(Duration::MAX)];
        let any_duration =
            prop_oneof![any::<Duration>(), (0..100_000_u64).prop_map(Duration::from_millis), edges];
        (any_duration.clone(), any_duration, attempts).prop_map(|(first, cap, attempts)| Backoff {
            first,
            cap,
            attempts,
        })
    }

    proptest! {
        #[test]
        fn every_delay_is_between_half_its_step_and_its_step(given in backoff(Just(None)), seed: u64) {
            let mut step = given.first.min(given.cap);
            for delay in given.delays(StdRng::seed_from_u64(seed)).take(200) {
                prop_assert!(delay >= step / 2 && delay <= step, "{delay:?} for step {step:?}");
                step = step.saturating_mul(2).min(given.cap);
            }
        }

        #[test]
        fn there_are_as_many_delays_as_attempts(given in backoff((0..300_u32).prop_map(Some)), seed: u64) {
            let delays = given.delays(StdRng::seed_from_u64(seed));
            prop_assert_eq!(Some(delays.count()), given.attempts.map(|count| count as usize));
        }

        #[test]
        fn the_same_seed_gives_the_same_delays(given in backoff(Just(Some(50))), seed: u64) {
            let series = || given.delays(StdRng::seed_from_u64(seed)).collect::<Vec<_>>();
            prop_assert_eq!(series(), series());
        }
    }

    #[test]
    fn the_steps_double_up_to_the_cap() {
        let backoff =
            Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(6), attempts: Some(5) };
        let ceilings = [1, 2, 4, 6, 6].map(Duration::from_secs);
        // Over many seeds the longest draw of each step comes close to the step itself.
        let mut longest = [Duration::ZERO; 5];
        for seed in 0..500 {
            for (longest, delay) in longest.iter_mut().zip(backoff.delays(StdRng::seed_from_u64(seed))) {
                *longest = delay.max(*longest);
            }
        }
        for (longest, ceiling) in longest.into_iter().zip(ceilings) {
            assert!(longest <= ceiling && longest > ceiling.mul_f64(0.9), "{longest:?} of {ceiling:?}");
        }
    }
}
