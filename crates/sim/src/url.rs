//! How HTTP writes dates and special characters.

use jiff::Timestamp;

/// A date as HTTP headers write it.
pub fn http_date(at: Timestamp) -> String {
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Undoes percent-encoding in a path, where a plus stands for itself. Malformed escapes stay, and bytes that are not
/// UTF-8 become replacement characters.
pub fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = tail
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        if let Some(byte) = escaped {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names and values of a query, where a plus stands for a space. A name without a value has an empty one.
pub(crate) fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let decode = |text: &str| percent_decode(&text.replace('+', " "));
    pairs.map(|(name, value)| (decode(name), decode(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_encoding_is_undone_and_bad_encoding_stays() {
        for (text, expected) in [
            ("gituser%2Frigrepo", "gituser/rigrepo"),
            ("a%", "a%"),
            ("a%2", "a%2"),
            ("%zz", "%zz"),
            ("%é", "%é"),
            ("a+b", "a+b"),
        ] {
            assert_eq!(percent_decode(text), expected);
        }
        let pairs = [("a b", "c+d"), ("e", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(parameters("a+b=c%2Bd&&e"), pairs);
    }

    #[test]
    fn a_date_is_as_http_writes_it() {
        assert_eq!(http_date("2026-11-06T05:03:08.9Z".parse().unwrap()), "Fri, 06 Nov 2026 05:03:08 GMT");
    }
}
