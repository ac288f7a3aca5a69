//! Questions to whoever sits at the terminal.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};

use anyhow::Context as _;

use crate::output::{Typed, answer, printable};

/// Somebody at the terminal who can be asked.
#[derive(Debug)]
pub(super) struct Person(());

impl Person {
    /// `None` if standard input or standard error is no terminal.
    pub(super) fn at_terminal() -> Option<Self> {
        (io::stdin().is_terminal() && io::stderr().is_terminal()).then_some(Self(()))
    }

    /// An answer that is not empty.
    pub(super) async fn ask(&self, what: &str) -> anyhow::Result<String> {
        loop {
            let answer = line(format!("{what}: "), Typed::Shown).await?;
            if !answer.is_empty() {
                return Ok(answer);
            }
        }
    }

    /// An answer that is not shown. It may be empty.
    pub(super) async fn ask_secret(&self, what: &str) -> anyhow::Result<String> {
        line(format!("{what} (not shown): "), Typed::Hidden).await
    }

    /// One of several.
    pub(super) async fn choose(&self, what: &str, why: &str, all: &[String]) -> anyhow::Result<String> {
        let mut text = format!("{}\n", printable(why));
        for (number, one) in all.iter().enumerate() {
            writeln!(text, "  {} {}", number + 1, printable(one)).ok();
        }
        loop {
            let answer = line(format!("{text}which {what}, by number or name: "), Typed::Shown).await?;
            if let Some(chosen) = picked(&answer, all) {
                return Ok(chosen.to_owned());
            }
            text.clear();
        }
    }
}

fn picked<'a>(answer: &str, all: &'a [String]) -> Option<&'a str> {
    let named = all.iter().find(|one| *one == answer);
    let numbered = || all.get(answer.parse::<usize>().ok()?.checked_sub(1)?);
    named.or_else(numbered).map(String::as_str)
}

async fn line(question: String, typed: Typed) -> anyhow::Result<String> {
    answer(question, typed).await?.context("nothing was written: the input has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_is_named_or_numbered() {
        let all = ["a", "2", "b"].map(str::to_owned);
        for (answer, expected) in
            [("a", Some("a")), ("2", Some("2")), ("3", Some("b")), ("0", None), ("4", None), ("x", None)]
        {
            assert_eq!(picked(answer, &all), expected, "{answer}");
        }
    }
}
