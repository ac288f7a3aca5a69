//! Files stay short enough to read in one sitting.

use super::Problems;
use crate::checkout::Checkout;
use crate::failure::Outcome;

const MOST_LINES: usize = 600;

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut problems = vec![];
    let sources = checkout.of_kind("rs").filter(|path| path.starts_with("crates"));
    for path in sources.filter(|path| !path.iter().any(|folder| folder == "generated")) {
        let lines = checkout.text(path)?.lines().count();
        if lines > MOST_LINES {
            problems.push(format!(
                "{}: {lines} lines, at most {MOST_LINES}: split it by subject",
                path.display()
            ));
        }
    }
    Ok(problems)
}
