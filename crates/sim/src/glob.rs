//! Patterns of names and paths.

use wildmatch::WildMatch;

/// Whether a name matches a pattern in which `*` stands for anything and `?` for one character.
pub fn matches(pattern: &str, name: &str) -> bool {
    WildMatch::new(pattern).matches(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_and_a_question_mark_for_one_character() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("", "", true),
            ("", "a", false),
            ("ci-*", "ci-1", true),
            ("ci-*", "xci-1", false),
            ("*-1", "ci-1-1", true),
            ("c?-1", "ci-1", true),
            ("c?-1", "c-1", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("PowerO*VM_Task", "PowerOffVM_Task", true),
            ("[x]", "x", false),
            ("größe*", "größe-1", true),
            ("/a", "/a/b", false),
            ("/a/*", "/a/b/c", true),
            ("/v2/queue/*/take", "/v2/queue/r/job/1/hatchery/take", true),
            ("/v2/queue/*/take", "/v2/queue/r/job/1/hatchery/takes", false),
            ("*x*", "é", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_many_stars_takes_no_longer_than_its_length_times_that_of_the_name() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }
}
