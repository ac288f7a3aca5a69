//! Adds up what the test programs report.

use std::ops::AddAssign;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// Of those that passed: they did nothing, and said so.
    pub(super) left_out: usize,
}

/// How a line begins that a test prints which cannot run here: its name and the reason follow.
const LEFT_OUT: &str = "test left out: ";

impl Counts {
    /// The numbers of one line of output: zeros unless it is a `test result:` line, or a test says of itself that it was
    /// left out. That one reports as passed: the test programs know no other way.
    pub(super) fn of(line: &str) -> Self {
        if line.starts_with(LEFT_OUT) {
            return Self { left_out: 1, ..Self::default() };
        }
        let Some(result) = line.trim().strip_prefix("test result: ") else { return Self::default() };
        // "ok. 3 passed; 0 failed; 1 ignored; …": the word after a number says what it counts.
        let words: Vec<&str> = result.split_whitespace().collect();
        let number = |label: &str| {
            let before = words.windows(2).find_map(|pair| match pair {
                [number, word] if *word == label => Some(*number),
                _ => None,
            });
            before.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Self {
            passed: number("passed;"),
            failed: number("failed;"),
            skipped: number("ignored;"),
            left_out: 0,
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.left_out += more.left_out;
        // Its program may count it as passed later than it speaks.
        let moved = self.left_out.min(self.passed);
        self.passed -= moved;
        self.skipped += moved;
        self.left_out -= moved;
    }
}

/// How many tests `cargo test -- --list` named.
pub(super) fn listed(output: &str) -> usize {
    output.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let output = "\
running 3 tests
test json::tests::a_document_is_read ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.20s";
        let mut counts = Counts::default();
        for line in output.lines() {
            counts += Counts::of(line);
        }
        assert_eq!(counts, Counts { passed: 13, failed: 2, skipped: 1, left_out: 0 });
    }

    #[test]
    fn a_test_that_says_it_was_left_out_is_not_one_that_passed() {
        let output = "\
running 2 tests
test left out: clones::cards: vcsim only
test clones::cards ... ok
test clones::names ... ok
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        let mut counts = Counts::default();
        for line in output.lines() {
            counts += Counts::of(line);
        }
        assert_eq!(counts, Counts { passed: 1, failed: 0, skipped: 1, left_out: 0 });
    }

    #[test]
    fn only_tests_of_a_listing_count() {
        let listing = "a::b: test\nc: benchmark\nd: test\n\n2 tests, 1 benchmark\n";
        assert_eq!(listed(listing), 2);
    }
}
