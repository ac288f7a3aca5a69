//! Mutants still have something to mutate, and tests to kill them. Whether these do is `cargo xtask mutants`' business.

use std::path::Path;

use super::Problems;
use super::test_functions::TestFunctions;
use crate::checkout::Checkout;
use crate::failure::Outcome;
use crate::mutants::list::{LIST, Mutant, parse};

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let tests = TestFunctions::read(checkout)?;
    let mut problems = vec![];
    for mutant in parse(&checkout.text(Path::new(LIST))?)? {
        let path = Path::new(&mutant.file);
        // Only what belongs to the repository is copied.
        let source = if checkout.paths.contains(path) { Some(checkout.text(path)?) } else { None };
        problems.extend(stale(&mutant, source.as_deref(), &tests));
    }
    Ok(problems)
}

fn stale(mutant: &Mutant, source: Option<&str>, tests: &TestFunctions) -> Problems {
    let place = match source {
        None => Some(format!("there is no file {}", mutant.file)),
        Some(source) => mutant.apply(source).err().map(|failure| failure.to_string()),
    };
    let unknown = mutant.tests.iter().filter(|test| !tests.in_package(&test.suite.package, &test.name));
    let unknown = unknown.map(|test| format!("there is no test {} in {}", test.name, test.suite.package));
    place.into_iter().chain(unknown).map(|problem| format!("{LIST}: {}: {problem}", mutant.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_needs_its_file_its_line_and_its_tests() {
        let row =
            "mutant: m\nbreaks: A rule.\nfile: a.rs\nline: x();\ninto:\ntest: rookery-fleet --lib tests::";
        let mutant = |test: &str| parse(&format!("{row}{test}")).unwrap().remove(0);
        let mut tests = TestFunctions::default();
        tests.add("fleet", "#[test]\nfn a_rule() {}\nfn helper() {}");

        let at = |problem: &str| vec![format!("crates/xtask/mutants.list: m: {problem}")];
        let source = Some("  x();\n");
        assert_eq!(stale(&mutant("a_rule"), source, &tests), [""; 0]);
        assert_eq!(stale(&mutant("a_rule"), None, &tests), at("there is no file a.rs"));
        assert_eq!(
            stale(&mutant("a_rule"), Some("y();\n"), &tests),
            at("the line stands 0 times in a.rs, not once: x();")
        );
        assert_eq!(
            stale(&mutant("helper"), source, &tests),
            at("there is no test tests::helper in rookery-fleet")
        );
    }
}
