//! Adds up what the test programs report.

use std::ops::AddAssign;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Counts {
    /// The numbers of one line of output: zeros unless it is a `test result:` line.
    pub(super) fn of(line: &str) -> Self {
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
        Self { passed: number("passed;"), failed: number("failed;"), skipped: number("ignored;") }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
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
        assert_eq!(counts, Counts { passed: 13, failed: 2, skipped: 1 });
    }

    #[test]
    fn only_tests_of_a_listing_count() {
        let listing = "a::b: test\nc: benchmark\nd: test\n\n2 tests, 1 benchmark\n";
        assert_eq!(listed(listing), 2);
    }
}
