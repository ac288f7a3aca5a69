//! Tests that a document names as proof of its rules exist.

use std::path::Path;

use super::Problems;
use super::markdown::column;
use super::test_functions::TestFunctions;
use crate::checkout::Checkout;
use crate::failure::Outcome;

/// Documents whose tables have a column `test`.
const DOCUMENTS: &[&str] = &["docs/hatchery.md"];

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let tests = TestFunctions::read(checkout)?;
    let mut problems = vec![];
    for document in DOCUMENTS {
        let path = Path::new(document);
        if checkout.paths.contains(path) {
            problems.extend(unknown(document, &checkout.text(path)?, &tests));
        }
    }
    Ok(problems)
}

fn unknown(document: &str, text: &str, tests: &TestFunctions) -> Problems {
    let cells = column(text, "test").into_iter();
    let named = cells.flat_map(|(line, cell)| {
        let code = cell.split('`').skip(1).step_by(2).map(str::to_owned);
        code.map(move |name| (line, name)).collect::<Vec<_>>()
    });
    let unknown = named.filter(|(_, name)| !tests.anywhere(name));
    unknown.map(|(line, name)| format!("{document}:{line}: there is no test {name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_in_the_column_of_tests_has_to_exist() {
        let mut tests = TestFunctions::default();
        tests.add("fleet", "#[test]\nfn a_rule() {}\nfn helper() {}");
        let document = "`prose`\n\n| rule | test |\n|---|---|\n| `x` | `tests::a_rule`, `a_rule` |\n\
            | y | `a_rule` and `helper` |\n| z | by eye |\n";
        assert_eq!(unknown("d.md", document, &tests), ["d.md:6: there is no test helper"]);
    }
}
