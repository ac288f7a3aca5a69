//! Stories run on paused time unless what they show is about real time or a real process: those stand in a list, each with
//! its reason.

use std::path::Path;

use super::Problems;
use super::test_functions::unpaused;
use crate::checkout::Checkout;
use crate::failure::Outcome;

const LIST: &str = "real_time.list";

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut problems = vec![];
    let crates = checkout.of_kind("toml").filter_map(Path::parent);
    for folder in crates.filter(|folder| folder.to_string_lossy().ends_with("-stories")) {
        let (list, folder) = (folder.join(LIST), folder.join("tests"));
        let mut stories = vec![];
        for path in checkout.of_kind("rs") {
            if let Ok(within) = path.strip_prefix(&folder) {
                let (module, source) = (module(within), checkout.text(path)?);
                stories.extend(unpaused(&source).into_iter().map(|name| format!("{module}::{name}")));
            }
        }
        let entries = checkout.text(&list)?;
        problems
            .extend(compare(&entries, &stories).into_iter().map(|it| format!("{}: {it}", list.display())));
    }
    Ok(problems)
}

/// `hatchery::election` of `hatchery/election.rs`.
fn module(within: &Path) -> String {
    within.with_extension("").iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("::")
}

fn compare(entries: &str, stories: &[String]) -> Problems {
    let lines = entries.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed: Vec<_> = lines.map(|line| line.split_once(": ").unwrap_or((line, ""))).collect();
    let covers = |entry: &str, story: &str| {
        story.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let unlisted = stories.iter().filter(|story| !listed.iter().any(|(entry, _)| covers(entry, story)));
    let unlisted = unlisted.map(|story| format!("{story} runs on real time without a reason"));
    let gone = listed.iter().filter(|(entry, _)| !stories.iter().any(|story| covers(entry, story)));
    let gone = gone.map(|(entry, _)| format!("{entry} is no story on real time"));
    let silent = listed.iter().filter(|(_, reason)| reason.trim().is_empty());
    let silent = silent.map(|(entry, _)| format!("{entry} has no reason"));
    unlisted.chain(gone).chain(silent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_story_on_real_time_has_a_reason_and_each_reason_a_story() {
        let stories = ["a::b::one".to_owned(), "a::c".to_owned(), "a::bc::two".to_owned()];
        assert_eq!(compare("# why\na::b: a process\na::bc: a process\na::c: pipes\n", &stories), [""; 0]);
        assert_eq!(
            compare("a::b: a process\na::d: pipes\na::b::one:\n", &stories),
            [
                "a::c runs on real time without a reason",
                "a::bc::two runs on real time without a reason",
                "a::d is no story on real time",
                "a::b::one: is no story on real time",
                "a::b::one: has no reason"
            ]
        );
        assert_eq!(module(Path::new("hatchery/election/rights.rs")), "hatchery::election::rights");
    }
}
