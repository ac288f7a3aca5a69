//! What each step took and how it ended.

use std::time::{Duration, Instant};

use super::counts::Counts;
use super::times::Times;
use crate::failure::Outcome;

#[derive(Debug, Default)]
pub(super) struct Report {
    steps: Vec<Step>,
    pub(super) tests: Counts,
    pub(super) times: Times,
}

#[derive(Debug)]
struct Step {
    name: &'static str,
    took: Duration,
    end: End,
}

#[derive(Debug)]
enum End {
    Passed,
    Failed,
    NotRun(&'static str),
}

impl Report {
    /// Runs a step and tells whether it passed.
    pub(super) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Outcome<()>) -> bool {
        self.step_with(name, |_| work())
    }

    /// The same for a step that has more to report.
    pub(super) fn step_with(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> bool {
        println!("\n── {name}");
        let begin = Instant::now();
        let result = work(self);
        let took = begin.elapsed();
        if let Err(failure) = &result {
            println!("{failure}");
        }
        let end = if result.is_ok() { End::Passed } else { End::Failed };
        println!("── {name}: {} in {}", end.word(), seconds(took));
        self.steps.push(Step { name, took, end });
        result.is_ok()
    }

    pub(super) fn not_run(&mut self, name: &'static str, why: &'static str) {
        println!("\n── {name}: not run ({why})");
        self.steps.push(Step { name, took: Duration::ZERO, end: End::NotRun(why) });
    }

    pub(super) fn passed(&self) -> bool {
        self.numbers().failed == 0
    }

    /// The table of steps, then the line that a machine reads: nothing may follow it.
    pub(super) fn print(&self) {
        self.times.print();
        println!();
        for Step { name, took, end } in &self.steps {
            let why = if let End::NotRun(why) = end { format!(" ({why})") } else { String::new() };
            println!("{name:12} {:>9}  {}{why}", seconds(*took), end.word());
        }
        let total = self.steps.iter().map(|step| step.took).sum();
        println!("{:12} {:>9}", "total", seconds(total));
        let failed: Vec<_> = self.failed_steps().collect();
        if !failed.is_empty() {
            println!("failed: {}", failed.join(", "));
        }
        let Counts { passed, failed, skipped, .. } = self.numbers();
        println!("{passed} passed, {failed} failed, {skipped} skipped");
    }

    /// Tests and failed steps together. A step that failed because tests did is not counted twice.
    fn numbers(&self) -> Counts {
        let told = |name: &&str| *name == "run" && self.tests.failed > 0;
        let steps = self.failed_steps().filter(|name| !told(name)).count();
        Counts { failed: self.tests.failed + steps, ..self.tests }
    }

    fn failed_steps(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().filter(|step| matches!(step.end, End::Failed)).map(|step| step.name)
    }
}

impl End {
    fn word(&self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::NotRun(_) => "not run",
        }
    }
}

pub(super) fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_counts_and_names_itself() {
        let mut report = Report::default();
        assert!(report.step("fmt", || Ok(())));
        assert!(report.passed());
        assert!(!report.step("clippy", || Err("two warnings".into())));
        report.tests = Counts { passed: 7, skipped: 2, ..Counts::default() };
        assert_eq!(report.numbers(), Counts { passed: 7, failed: 1, skipped: 2, ..Counts::default() });
        assert_eq!(report.failed_steps().collect::<Vec<_>>(), ["clippy"]);
    }

    #[test]
    fn failed_tests_are_not_counted_twice_but_a_crash_is_counted() {
        let run_failed = |failed| {
            let mut report = Report::default();
            report.step("run", || Err("exit status: 101".into()));
            report.tests = Counts { failed, ..Counts::default() };
            report.numbers().failed
        };
        assert_eq!(run_failed(3), 3);
        assert_eq!(run_failed(0), 1);
    }
}
