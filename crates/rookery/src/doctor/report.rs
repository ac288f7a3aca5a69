//! What a person reads: a line for each check, what to do below it, and a summary at the end.

use console::style;

use super::check::{Check, Group, State};
use crate::output::printable;

/// Whether the reader has colours and all characters, or is perhaps a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Marks and colours.
    Fancy,
    /// Words.
    Plain,
}

impl Look {
    fn mark(self, state: State) -> String {
        match (self, state) {
            (Self::Fancy, State::Ok) => style("✓").green().force_styling(true).to_string(),
            (Self::Fancy, State::Warning) => style("!").yellow().force_styling(true).to_string(),
            (Self::Fancy, State::Problem) => style("✗").red().force_styling(true).to_string(),
            (Self::Fancy, State::Skipped) => style("–").dim().force_styling(true).to_string(),
            (Self::Plain, State::Ok) => "ok      ".to_owned(),
            (Self::Plain, State::Warning) => "warning ".to_owned(),
            (Self::Plain, State::Problem) => "PROBLEM ".to_owned(),
            (Self::Plain, State::Skipped) => "skipped ".to_owned(),
        }
    }

    fn indent(self) -> &'static str {
        match self {
            Self::Fancy => "    ",
            Self::Plain => "           ",
        }
    }
}

pub(super) fn lines(checks: &[Check], look: Look) -> String {
    let mut lines = Vec::new();
    let mut rest = checks;
    while let Some((first, others)) = rest.split_first() {
        let alike =
            1 + others.iter().take_while(|check| is_granted(first) && are_alike(first, check)).count();
        let shown = if is_granted(first) { granted(first, alike) } else { told(first) };
        lines.push(format!("{} {shown}", look.mark(first.state)));
        lines.extend(first.advice.iter().map(|advice| format!("{}{}", look.indent(), printable(advice))));
        rest = rest.get(alike..).unwrap_or_default();
    }
    lines.push(summary(checks));
    lines.join("\n")
}

fn told(check: &Check) -> String {
    printable(&format!("{}: {}", check.title(), check.seen))
}

fn is_granted(check: &Check) -> bool {
    check.group == Group::Privileges && check.state == State::Ok
}

fn are_alike(one: &Check, other: &Check) -> bool {
    is_granted(other) && one.about == other.about
}

/// Privileges that are there are many, and of no interest one by one.
fn granted(first: &Check, count: usize) -> String {
    let object = first.about.as_deref().unwrap_or("/");
    let word = if count == 1 { "privilege" } else { "privileges" };
    printable(&format!("{count} {word} on {object}: granted"))
}

fn summary(checks: &[Check]) -> String {
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!(
        "{}, {}, {} fine, {} not checked",
        plural(count(State::Problem), "problem"),
        plural(count(State::Warning), "warning"),
        count(State::Ok),
        count(State::Skipped)
    )
}

#[cfg(test)]
mod tests;
