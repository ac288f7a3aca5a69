//! Where the time of the tests goes.

use std::fs;
use std::time::{Duration, Instant};

use super::report::seconds;

/// How many of the slowest tests are named.
const NAMED: usize = 10;

/// What the programs and their tests took.
#[derive(Debug, Default)]
pub(super) struct Times {
    programs: Vec<Taken>,
    /// By the clock, and by the processors.
    all: (Duration, Duration),
}

/// What one program and its tests took.
#[derive(Debug, Default)]
pub(super) struct Taken {
    name: String,
    wall: Duration,
    tests: Vec<(Duration, String)>,
}

/// A moment, and what the processors had done by then.
pub(super) struct Started(Instant, Option<Duration>);

impl Started {
    pub(super) fn now() -> Self {
        Self(Instant::now(), cpu_of_children())
    }
}

impl Taken {
    /// Notes what a test took, if the line tells it: `test a::b ... ok <1.234s>`.
    pub(super) fn line(&mut self, line: &str) {
        let told = || {
            let (test, took) = line.strip_prefix("test ")?.strip_suffix("s>")?.rsplit_once(" <")?;
            let (name, _) = test.split_once(" ... ")?;
            Some((Duration::try_from_secs_f64(took.parse().ok()?).ok()?, name.to_owned()))
        };
        self.tests.extend(told());
    }

    pub(super) fn ended(&mut self, name: &str, wall: Duration) {
        (self.name, self.wall) = (name.to_owned(), wall);
    }
}

impl Times {
    pub(super) fn program(&mut self, taken: Taken) {
        self.programs.push(taken);
    }

    /// All programs have ended that were started since then.
    pub(super) fn all(&mut self, Started(begun, before): Started) {
        let cpu = cpu_of_children().zip(before);
        let cpu = cpu.map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before));
        self.all = (begun.elapsed(), cpu);
    }

    pub(super) fn print(&self) {
        let (wall, cpu) = self.all;
        if wall.is_zero() {
            return;
        }
        println!("\nprogram                                                    time");
        for Taken { name, wall, .. } in self.programs.iter().filter(|one| one.wall.as_secs() >= 1) {
            println!("{name:52} {:>10}", seconds(*wall));
        }
        let share = cpu.as_secs_f64() / wall.as_secs_f64();
        println!(
            "{:52} {:>10}  CPU {}, CPU / time {share:.2}",
            "all, side by side",
            seconds(wall),
            seconds(cpu)
        );
        println!("\nslowest tests");
        let mut slowest: Vec<_> = self.programs.iter().flat_map(|one| &one.tests).collect();
        slowest.sort_by(|one, other| other.cmp(one));
        for (took, name) in slowest.into_iter().take(NAMED) {
            println!("{:>10}  {name}", seconds(*took));
        }
    }
}

/// The processor time of all processes that we, and those that we started, have waited for. None where it is not told.
pub(super) fn cpu_of_children() -> Option<Duration> {
    /// Linux counts these times in hundredths of a second, whatever its own clock does.
    const TICKS: u64 = 100;
    let told = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may contain anything; what follows it are words. The 14th and 15th are ours.
    let mut words = told.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || words.next()?.parse::<u64>().ok();
    let ticks = next()? + next()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_took_is_read_from_its_line() {
        let mut times = Taken::default();
        times.line("test a::b ... ok <1.250s>");
        times.line("test a::c ... FAILED <0.500s>");
        times.line("test a::d ... ok");
        times.line("test a::e has been running for over 60 seconds");
        times.line("somebody prints <1s>");
        let expected = [(1250, "a::b"), (500, "a::c")];
        assert_eq!(times.tests, expected.map(|(took, name)| (Duration::from_millis(took), name.to_owned())));
    }

    #[test]
    fn the_time_of_a_child_is_counted_when_it_has_ended() {
        let before = cpu_of_children().unwrap();
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", burn]).status().unwrap().success());
        assert!(cpu_of_children().unwrap() > before);
    }
}
