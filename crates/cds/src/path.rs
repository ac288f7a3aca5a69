//! Paths and queries of requests.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What has no meaning anywhere in a path or a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one segment of a path or one value of a query: whatever has a meaning there is encoded.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A text as a value of a query, where a slash means nothing.
pub(crate) fn value(text: &str) -> String {
    const PLAIN_OR_SLASH: &AsciiSet = &PLAIN.remove(b'/');
    utf8_percent_encode(text, PLAIN_OR_SLASH).to_string()
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
