//! "Did you mean": the known name nearest to a mistyped one.

use std::iter;

/// The known path that differs from `given` least, if it is near enough to be what was meant.
pub fn closest(given: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    // A third of the last segment: tables are usually right, and short names must not match everything.
    let last = given.rsplit('.').next().unwrap_or(given);
    let limit = last.chars().count().div_ceil(3);
    let near = known.into_iter().filter_map(|name| Some((distance(given, &name, limit)?, name)));
    near.min().map(|(_, name)| name)
}

/// Insertions, deletions and replacements between two texts (Levenshtein), if at most `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    // Also keeps a hostile key of a megabyte from costing more than counting its letters.
    if a.chars().count().abs_diff(b.chars().count()) > limit {
        return None;
    }
    let mut above: Vec<usize> = (0..=b.chars().count()).collect();
    for (row, left) in a.chars().enumerate() {
        let mut before = row + 1;
        let steps = b.chars().zip(above.windows(2)).map(|(right, corner)| {
            let replaced = corner.first().map_or(0, |cost| cost + usize::from(left != right));
            let removed = corner.last().map_or(0, |cost| cost + 1);
            before = replaced.min(removed).min(before + 1);
            before
        });
        above = iter::once(row + 1).chain(steps.collect::<Vec<_>>()).collect();
    }
    above.last().copied().filter(|cost| *cost <= limit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slip_finds_what_was_meant() {
        let known =
            ["vcenter", "vcenter.endpoint", "vcenter.password", "vcenter.password-file", "vcenter.ca"];
        let check = |given, expected: Option<&str>| {
            assert_eq!(closest(given, known.map(str::to_owned)).as_deref(), expected, "{given}");
        };
        check("vcenter.endpiont", Some("vcenter.endpoint"));
        check("vcentre.endpoint", Some("vcenter.endpoint"));
        check("vcenter.password_file", Some("vcenter.password-file"));
        check("vcentre", Some("vcenter"));
        check("vcenter.cat", Some("vcenter.ca"));
        check("vcenter.ac", None);
        check("vcenter.url", None);
        check("hatchery", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn distance_is_symmetric_and_zero_only_for_equals(a in "[abc]{0,6}", b in "[abc]{0,6}") {
            let cost = distance(&a, &b, 6);
            prop_assert_eq!(cost, distance(&b, &a, 6));
            prop_assert_eq!(cost == Some(0), a == b);
        }

        #[test]
        fn one_edit_costs_one(text in "[a-z]{1,8}", extra in "[0-9]") {
            prop_assert_eq!(distance(&text, &format!("{text}{extra}"), 3), Some(1));
            prop_assert_eq!(distance(&text, &format!("{extra}{text}"), 3), Some(1));
        }
    }
}
