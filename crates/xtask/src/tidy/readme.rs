//! Commands that the README shows exist.

use std::path::Path;

use super::Problems;
use super::markdown::{Kind, lines};
use crate::COMMANDS;
use crate::checkout::Checkout;
use crate::failure::Outcome;

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let readme = Path::new("README.md");
    if !checkout.workspace.root.join(readme).exists() {
        return Ok(vec!["README.md is missing".to_owned()]);
    }
    let text = checkout.text(readme)?;
    let unknown =
        shown(&text).into_iter().filter(|(_, name)| !COMMANDS.iter().any(|command| command.name == *name));
    Ok(unknown.map(|(line, name)| format!("README.md:{line}: there is no `cargo xtask {name}`")).collect())
}

/// Subcommands of `cargo xtask` in code blocks, each with its line.
fn shown(readme: &str) -> Vec<(usize, &str)> {
    let code = lines(readme).into_iter().filter(|line| line.kind == Kind::Code);
    let names = code.flat_map(|line| {
        let after = line.text.split("cargo xtask ").skip(1);
        let words =
            after.filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next());
        words.filter(|word| !word.is_empty()).map(move |word| (line.number, word))
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_code_blocks_only() {
        let readme = "`cargo xtask prose`\n```\n$ cargo xtask test --fast   # all\n$ cargo xtask   # usage\n$ cargo xtask tidy; cargo xtask tools\n```\n";
        assert_eq!(shown(readme), [(3, "test"), (5, "tidy"), (5, "tools")]);
    }
}
