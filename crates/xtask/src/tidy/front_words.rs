//! The core that every front shares knows no front: not one of its words, in code, tests or comments.

use super::Problems;
use crate::checkout::Checkout;
use crate::failure::Outcome;

const CORE: &[&str] = &["crates/fleet", "crates/fleet-vsphere"];

/// Words and their beginnings, however they are written.
const ANY_CASE: &[&str] = &["hatcher", "worker"];
/// Whole words, as they stand here: others contain them.
const WHOLE: &[&str] = &["CDS", "V1", "V2"];

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut problems = vec![];
    for path in checkout.paths.iter().filter(|path| CORE.iter().any(|folder| path.starts_with(folder))) {
        let name = path.to_string_lossy();
        problems.extend(found(&name).map(|word| format!("{name}: its name has {word:?} in it")));
        for (line, text) in checkout.text(path)?.lines().enumerate() {
            problems
                .extend(found(text).map(|word| format!("{name}:{}: {word:?} is a front's word", line + 1)));
        }
    }
    Ok(problems)
}

fn found(text: &str) -> impl Iterator<Item = &'static str> {
    let small = text.to_lowercase();
    let any_case = ANY_CASE.iter().filter(move |word| small.contains(**word));
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let whole = WHOLE.iter().filter(|word| words.clone().any(|other| other == **word));
    any_case.chain(whole.collect::<Vec<_>>()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_fronts_are_found_however_they_stand() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(found(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("/// A machine of the pool, in group-v1.", &[]);
        check("const ECDSA: &str = \"V10 CDSs v2\"; // works", &[]);
        check("use rookery_hatchery::Mark;", &["hatcher"]);
        check("fn start_worker() {} // Hatcheries do", &["hatcher", "worker"]);
        check("WorkerState::Alive", &["worker"]);
        check("Line::V1 => \"CDS\",", &["CDS", "V1"]);
        check("// (V2)", &["V2"]);
    }
}
