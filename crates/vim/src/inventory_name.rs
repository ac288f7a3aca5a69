//! Names of inventory objects as vCenter spells them.
//!
//! In a stored name `/`, `\` and `%` stand as `%2f`, `%5c` and `%25`: the slash separates inventory paths. People
//! write and read the plain form; only the wire sees the other one.

/// The spelling for the wire.
pub fn escape(plain: &str) -> String {
    plain.replace('%', "%25").replace('/', "%2f").replace('\\', "%5c")
}

/// The spelling for people. A `%` that starts none of the three sequences stays: another client may have left it.
pub fn unescape(stored: &str) -> String {
    if !stored.contains('%') {
        return stored.to_owned();
    }
    let mut plain = String::with_capacity(stored.len());
    let mut rest = stored;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        let (replacement, length) = match rest.as_bytes().get(at + 1..at + 3) {
            Some(b"2f" | b"2F") => ('/', 3),
            Some(b"5c" | b"5C") => ('\\', 3),
            Some(b"25") => ('%', 3),
            _ => ('%', 1),
        };
        plain.push(replacement);
        rest = &rest[at + length..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_three_characters_are_spelled_as_vcenter_does() {
        assert_eq!(escape("a/b\\c%d é"), "a%2fb%5cc%25d é");
        assert_eq!(unescape("a%2Fb%5cc%25d%20"), "a/b\\c%d%20");
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%é"), "%é");
    }

    proptest! {
        #[test]
        fn what_was_escaped_comes_back(name in any::<String>()) {
            prop_assert_eq!(unescape(&escape(&name)), name);
        }
    }
}
