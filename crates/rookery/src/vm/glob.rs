//! Names by pattern: `*` is any text, `?` any one character, all else itself.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use wildmatch::WildMatch;

/// A pattern for names.
#[derive(Clone)]
pub struct Glob {
    pattern: String,
    matcher: WildMatch,
}

/// As it was given, in quotes.
impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.pattern)
    }
}

impl FromStr for Glob {
    type Err = Infallible;

    fn from_str(pattern: &str) -> Result<Self, Infallible> {
        Ok(Self { pattern: pattern.to_owned(), matcher: WildMatch::new(pattern) })
    }
}

impl Glob {
    /// Whether the whole name fits.
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.matches(name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn glob(pattern: &str) -> Glob {
        pattern.parse().unwrap()
    }

    #[test]
    fn stars_and_question_marks_stand_for_text() {
        let check = |pattern: &str, name, expected| {
            assert_eq!(glob(pattern).matches(name), expected, "{pattern} {name}");
        };
        check("web-1", "web-1", true);
        check("web-1", "web-10", false);
        check("web-?", "web-1", true);
        check("web-?", "web-", false);
        check("*", "", true);
        check("", "", true);
        check("", "x", false);
        check("*-db-*", "prod-db-7", true);
        check("*-db-*", "prod-web-7", false);
        check("a*b*c", "a-b-b-c", true);
        check("a*b*c", "a-b-b-", false);
        check("?*", "", false);
        check("é?/*", "éà/100% [x]", true);
        check("[ab]", "a", false);
    }

    #[test]
    fn a_hostile_pattern_costs_no_more_than_both_lengths() {
        assert!(!glob(&"*a".repeat(500)).matches(&"a".repeat(499)));
        assert!(glob(&"a*".repeat(200)).matches(&"a".repeat(20_000)));
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_definition(pattern in "[ab?*]{0,7}", name in "[ab]{0,7}") {
            let [signs, letters] = [&pattern, &name].map(|text| text.chars().collect::<Vec<char>>());
            prop_assert_eq!(glob(&pattern).matches(&name), defined(&signs, &letters));
        }
    }

    fn defined(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, rest) => rest.is_none(),
            (Some(('*', after)), rest) => {
                defined(after, name) || rest.is_some_and(|(_, shorter)| defined(pattern, shorter))
            }
            (Some((c, after)), Some((letter, rest))) => (*c == '?' || c == letter) && defined(after, rest),
            (Some(_), None) => false,
        }
    }
}
