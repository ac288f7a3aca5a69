//! What became of a mutant.

use std::collections::BTreeSet;
use std::fmt;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Each of these tests failed.
    Killed(Vec<String>),
    /// These tests passed although the rule is broken.
    Survived(Vec<String>),
    /// It was not put to the test, and why.
    Broken(String),
}

impl Verdict {
    /// The verdict of these tests, from the output of their program.
    pub(super) fn of(names: &BTreeSet<&str>, output: &str) -> Self {
        let mut survived = vec![];
        for name in names {
            match passed(output, name) {
                Some(false) => {}
                Some(true) => survived.push((*name).to_owned()),
                None => {
                    return Self::Broken(format!(
                        "{name} gave no result: it hangs, or took its program with it"
                    ));
                }
            }
        }
        if survived.is_empty() {
            Self::Killed(names.iter().map(|&name| name.to_owned()).collect())
        } else {
            Self::Survived(survived)
        }
    }

    /// One verdict from those of several programs: the worst counts.
    pub(super) fn all(verdicts: Vec<Self>) -> Self {
        verdicts.into_iter().fold(Self::Killed(vec![]), |one, other| match (one, other) {
            (Self::Broken(why), _) | (_, Self::Broken(why)) => Self::Broken(why),
            (Self::Survived(names), Self::Killed(_)) | (Self::Killed(_), Self::Survived(names)) => {
                Self::Survived(names)
            }
            (Self::Survived(names), Self::Survived(more)) => Self::Survived([names, more].concat()),
            (Self::Killed(names), Self::Killed(more)) => Self::Killed([names, more].concat()),
        })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Killed(names) => f.write_str(&names.join(", ")),
            Self::Survived(names) => write!(f, "SURVIVED: {} passed", names.join(", ")),
            Self::Broken(why) => write!(f, "BROKEN: {why}"),
        }
    }
}

/// Whether a test passed; nothing if it did not run to its end.
pub(super) fn passed(output: &str, name: &str) -> Option<bool> {
    output.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("test ")?.strip_prefix(name)?;
        match rest.strip_prefix(" - should panic").unwrap_or(rest).strip_prefix(" ... ")? {
            "ok" => Some(true),
            "FAILED" => Some(false),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test a::held ... FAILED
test a::held_too - should panic ... FAILED
test a::slept ... ok
test a::later ... ignored, takes long

failures:
    a::held";

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_mutant_dies_only_where_each_of_its_tests_fails() {
        let of = |names: &[&str]| Verdict::of(&names.iter().copied().collect(), OUTPUT);
        assert_eq!(of(&["a::held", "a::held_too"]), Verdict::Killed(names(&["a::held", "a::held_too"])));
        assert_eq!(of(&["a::held", "a::slept"]), Verdict::Survived(names(&["a::slept"])));
        for unheard_of in ["a::later", "a::hel", "a", "held", "a::held_too - should"] {
            assert!(matches!(of(&["a::held", unheard_of]), Verdict::Broken(_)), "{unheard_of}");
        }
    }

    #[test]
    fn the_worst_verdict_counts() {
        let killed = |name| Verdict::Killed(names(&[name]));
        let survived = |name| Verdict::Survived(names(&[name]));
        let broken = || Verdict::Broken("it does not compile".to_owned());
        assert_eq!(Verdict::all(vec![killed("a"), killed("b")]), Verdict::Killed(names(&["a", "b"])));
        assert_eq!(Verdict::all(vec![survived("a"), killed("b")]), survived("a"));
        assert_eq!(Verdict::all(vec![survived("a"), survived("b")]), Verdict::Survived(names(&["a", "b"])));
        assert_eq!(Verdict::all(vec![killed("a"), broken(), survived("b")]), broken());
    }
}
