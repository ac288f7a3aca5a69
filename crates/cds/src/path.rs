//! Paths and queries of requests.

use std::fmt::Write as _;

/// A text as one segment of a path or one value of a query: whatever has a meaning there is encoded.
pub(crate) fn segment(text: &str) -> String {
    encode(text, |byte| matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

/// A text as a value of a query, where a slash means nothing.
pub(crate) fn value(text: &str) -> String {
    encode(text, |byte| matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/'))
}

fn encode(text: &str, legal: impl Fn(u8) -> bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || legal(byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").ok();
        }
    }
    encoded
}

/// `?a=1&a=2`, or nothing.
pub(crate) fn query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, text)| format!("{name}={}", value(text))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_repository_is_one_segment() {
        assert_eq!(segment("gituser/rigrepo"), "gituser%2Frigrepo");
        assert_eq!(segment("a b?c#d%e+é"), "a%20b%3Fc%23d%25e%2B%C3%A9");
    }

    #[test]
    fn an_empty_value_stands_in_the_query() {
        let regions = [("modelType", "vsphere"), ("region", "default"), ("region", "")];
        assert_eq!(query(regions), "?modelType=vsphere&region=default&region=");
        assert_eq!(query([("osarch", "linux/amd64")]), "?osarch=linux/amd64");
        assert_eq!(query([]), "");
    }

    proptest! {
        #[test]
        fn any_text_makes_a_path_that_can_be_sent(text in any::<String>()) {
            let path = format!("/a/{}?b={}", segment(&text), value(&text));
            let uri: hyper::Uri = path.parse().expect("a path");
            prop_assert_eq!(uri.path().matches('/').count(), 2);
        }
    }
}
