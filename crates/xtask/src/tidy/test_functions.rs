//! The test functions of each crate, found by reading its sources.

use std::collections::{BTreeMap, BTreeSet};

use crate::checkout::Checkout;
use crate::failure::Outcome;

/// Names without their modules, by the folder of the crate below `crates`.
#[derive(Debug, Default)]
pub(super) struct TestFunctions(BTreeMap<String, BTreeSet<String>>);

impl TestFunctions {
    pub(super) fn read(checkout: &Checkout<'_>) -> Outcome<Self> {
        let mut found = Self::default();
        for path in checkout.of_kind("rs") {
            if let Some(folder) = path.strip_prefix("crates").ok().and_then(|path| path.iter().next()) {
                found.add(&folder.to_string_lossy(), &checkout.text(path)?);
            }
        }
        Ok(found)
    }

    pub(super) fn add(&mut self, folder: &str, source: &str) {
        let names = in_source(source).into_iter().map(str::to_owned);
        self.0.entry(folder.to_owned()).or_default().extend(names);
    }

    /// Whether a package has a test of that name. Modules in front of it are not looked at.
    pub(super) fn in_package(&self, package: &str, test: &str) -> bool {
        let folder = package.strip_prefix("rookery-").unwrap_or(package);
        self.0.get(folder).is_some_and(|names| names.contains(last(test)))
    }

    /// Whether any package has a test of that name.
    pub(super) fn anywhere(&self, test: &str) -> bool {
        self.0.values().any(|names| names.contains(last(test)))
    }
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The first function after each `#[test]`, `#[tokio::test]` and their like.
fn in_source(source: &str) -> Vec<&str> {
    after(source, |attribute| last(attribute.split(['(', ']']).next().unwrap_or_default()) == "test")
}

/// The asynchronous tests that do not run on paused time.
pub(super) fn unpaused(source: &str) -> Vec<&str> {
    after(source, |attribute| {
        attribute.starts_with("tokio::test") && !attribute.contains("start_paused = true")
    })
}

/// The first function after each such attribute.
fn after(source: &str, is_it: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut names = vec![];
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        if let Some(attribute) = line.strip_prefix("#[") {
            is_test |= is_it(attribute);
        } else if let Some(name) = function(line) {
            if is_test {
                names.push(name);
            }
            is_test = false;
        }
    }
    names
}

/// The name of the function that begins on this line.
fn function(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    line.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
fn helper() {}
#[cfg(test)]
mod tests {
    fn also_a_helper() {}
    #[test]
    fn plain() { fn inner() {} }
    #[tokio::test(start_paused = true)]
    #[expect(
        clippy::x,
    )]
    async fn patient() {}
    proptest! {
        /// Words.
        #[test]
        // More.
        fn random(x in any::<u8>()) {}
    }
    fn last() {}
}
";

    #[test]
    fn only_functions_with_a_test_attribute_are_tests() {
        assert_eq!(in_source(SOURCE), ["plain", "patient", "random"]);
        assert_eq!(unpaused(SOURCE), [""; 0]);
        assert_eq!(unpaused("#[tokio::test]\nasync fn a() {}\n#[test]\nfn b() {}\n"), ["a"]);
    }

    #[test]
    fn tests_are_found_by_their_last_name() {
        let mut tests = TestFunctions::default();
        tests.add("fleet", SOURCE);
        assert!(tests.in_package("rookery-fleet", "tests::plain"));
        assert!(!tests.in_package("rookery-fleet", "tests::helper"));
        assert!(!tests.in_package("rookery-vim", "tests::plain"));
        assert!(tests.anywhere("plain"));
        assert!(!tests.anywhere("plain::x"));
    }
}
