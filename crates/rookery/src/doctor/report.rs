//! What a person reads: a line for each check, what to do below it, and a summary at the end.

use console::style;

use super::check::{Check, Group, State};
use crate::output::{Paint, printable};

/// A mark in colour, or a word.
fn mark(paint: Paint, state: State) -> String {
    match (paint, state) {
        (Paint::Colours, State::Ok) => style("✓").green().force_styling(true).to_string(),
        (Paint::Colours, State::Warning) => style("!").yellow().force_styling(true).to_string(),
        (Paint::Colours, State::Problem) => style("✗").red().force_styling(true).to_string(),
        (Paint::Colours, State::Skipped) => style("–").dim().force_styling(true).to_string(),
        (Paint::Plain, State::Ok) => "ok      ".to_owned(),
        (Paint::Plain, State::Warning) => "warning ".to_owned(),
        (Paint::Plain, State::Problem) => "PROBLEM ".to_owned(),
        (Paint::Plain, State::Skipped) => "skipped ".to_owned(),
    }
}

fn indent(paint: Paint) -> &'static str {
    match paint {
        Paint::Colours => "    ",
        Paint::Plain => "           ",
    }
}

pub(super) fn lines(checks: &[Check], paint: Paint) -> String {
    let mut lines = Vec::new();
    let mut rest = checks;
    while let Some((first, others)) = rest.split_first() {
        let alike =
            1 + others.iter().take_while(|check| is_granted(first) && are_alike(first, check)).count();
        let shown = if is_granted(first) { granted(first, alike) } else { told(first) };
        lines.push(format!("{} {shown}", mark(paint, first.state)));
        lines.extend(first.advice.iter().map(|advice| format!("{}{}", indent(paint), printable(advice))));
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
