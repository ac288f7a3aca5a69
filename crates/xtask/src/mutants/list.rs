//! `mutants.list`: its head explains the format.

use std::fmt;
use std::iter::Peekable;

use crate::failure::Outcome;

/// Where the list is, from the root of the checkout.
pub(crate) const LIST: &str = "crates/xtask/mutants.list";

/// A row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    pub(crate) id: String,
    pub(crate) breaks: String,
    pub(crate) file: String,
    pub(crate) line: String,
    pub(crate) into: String,
    /// At least one.
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Test {
    pub(crate) suite: Suite,
    /// With its modules, as the test program prints it.
    pub(crate) name: String,
}

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Suite {
    pub(crate) package: String,
    /// What chooses it among those of the package: `--lib`, `--bin X` or `--test X`.
    pub(crate) target: Vec<String>,
}

impl Suite {
    /// What cargo calls it.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        ["-p", &self.package].into_iter().chain(self.target.iter().map(String::as_str))
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.package, self.target.join(" "))
    }
}

impl Mutant {
    /// The file with the line replaced.
    pub(crate) fn apply(&self, source: &str) -> Outcome<String> {
        let found = source.lines().filter(|line| line.trim() == self.line).count();
        if found != 1 {
            return Err(
                format!("the line stands {found} times in {}, not once: {}", self.file, self.line).into()
            );
        }
        let mutated = source.split_inclusive('\n').map(|line| match line.trim() {
            text if text == self.line => line.replacen(text, &self.into, 1),
            _ => line.to_owned(),
        });
        Ok(mutated.collect())
    }
}

pub(crate) fn parse(list: &str) -> Outcome<Vec<Mutant>> {
    let numbered = (1..).zip(list.lines().map(str::trim));
    let mut lines = numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
    let mut mutants: Vec<Mutant> = vec![];
    while lines.peek().is_some() {
        let (number, id) = member(&mut lines, "mutant")?;
        let filled = |(number, text): (usize, &str)| match text {
            "" => Err(format!("{LIST}:{number}: something has to stand here")),
            _ => Ok(text.to_owned()),
        };
        let mut mutant = Mutant {
            id: filled((number, id))?,
            breaks: filled(member(&mut lines, "breaks")?)?,
            file: filled(member(&mut lines, "file")?)?,
            line: filled(member(&mut lines, "line")?)?,
            into: member(&mut lines, "into")?.1.to_owned(),
            tests: vec![test(member(&mut lines, "test")?)?],
        };
        while lines.peek().is_some_and(|(_, line)| line.starts_with("test:")) {
            mutant.tests.push(test(member(&mut lines, "test")?)?);
        }
        if mutants.iter().any(|other| other.id == mutant.id) {
            return Err(format!("{LIST}:{number}: there is a mutant {id} already").into());
        }
        mutants.push(mutant);
    }
    Ok(mutants)
}

/// The next line, which has to hold that member: its number and its text.
fn member<'l>(
    lines: &mut Peekable<impl Iterator<Item = (usize, &'l str)>>,
    name: &str,
) -> Outcome<(usize, &'l str)> {
    let (number, line) = lines.next().ok_or_else(|| format!("{LIST}: the last row lacks `{name}:`"))?;
    match line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')) {
        Some(text) => Ok((number, text.trim())),
        None => Err(format!("{LIST}:{number}: `{name}:` was expected, not: {line}").into()),
    }
}

fn test((number, text): (usize, &str)) -> Outcome<Test> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (package, target, name) = match words[..] {
        [package, "--lib", name] => (package, vec!["--lib"], name),
        [package, kind @ ("--bin" | "--test"), target, name] => (package, vec![kind, target], name),
        _ => {
            return Err(format!(
                "{LIST}:{number}: `PACKAGE TARGET NAME` was expected, where TARGET is --lib, --bin X or --test X"
            )
            .into());
        }
    };
    let target = target.into_iter().map(str::to_owned).collect();
    Ok(Test { suite: Suite { package: package.to_owned(), target }, name: name.to_owned() })
}

#[cfg(test)]
mod tests;
