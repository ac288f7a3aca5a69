//! Addresses of servers.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// An address such as `https://cds.example.org/api`, without a slash at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url(String);

/// The messages quote nothing of the text: it may contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    #[error("is not an address such as https://host/path")]
    NotHttp,
    #[error("holds a user or password before its @; they do not belong there")]
    Credentials,
    #[error("has a query, which would end up in the middle of longer addresses")]
    Query,
    #[error("is not an address such as host:4545")]
    NotHostPort,
}

impl Url {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Url {
    type Err = InvalidAddress;

    fn from_str(given: &str) -> Result<Self, InvalidAddress> {
        let text = given.trim();
        if text.contains('@') {
            return Err(InvalidAddress::Credentials);
        }
        let uri: Uri = text.parse().map_err(|_| InvalidAddress::NotHttp)?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_http || uri.host().is_none_or(str::is_empty) || uri.authority().is_none_or(has_wrong_port) {
            return Err(InvalidAddress::NotHttp);
        }
        if uri.query().is_some() || text.contains('#') {
            return Err(InvalidAddress::Query);
        }
        Ok(Self(text.trim_end_matches('/').to_owned()))
    }
}

/// Checks an address such as `cdn.example.org:4545`.
pub(super) fn host_port(given: &str) -> Result<String, InvalidAddress> {
    let text = given.trim();
    let authority = text.parse::<hyper::http::uri::Authority>().map_err(|_| InvalidAddress::NotHostPort)?;
    let complete = !authority.host().is_empty() && authority.port_u16().is_some_and(|port| port != 0);
    if text.contains('@') {
        return Err(InvalidAddress::Credentials);
    }
    if complete { Ok(text.to_owned()) } else { Err(InvalidAddress::NotHostPort) }
}

fn has_wrong_port(authority: &hyper::http::uri::Authority) -> bool {
    authority.port().is_some_and(|port| port.as_u16() == 0)
        || (authority.port_u16().is_none()
            && authority.as_str().rsplit(']').next().unwrap_or("").contains(':'))
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_of_servers_are_read() {
        let check =
            |given: &str, expected| assert_eq!(given.parse::<Url>().map(|url| url.0).as_deref(), expected);
        check("http://localhost:8081", Ok("http://localhost:8081"));
        check(" https://cds.example.org/api/ ", Ok("https://cds.example.org/api"));
        check("https://[::1]:8081", Ok("https://[::1]:8081"));
        for wrong in
            ["", "cds.example.org", "ftp://x", "http://", "http://x:port", "http://x:0", "http://x:70000"]
        {
            check(wrong, Err(&InvalidAddress::NotHttp));
        }
        check("https://me:secret@cds", Err(&InvalidAddress::Credentials));
        check("https://cds?x=1", Err(&InvalidAddress::Query));
    }

    #[test]
    fn a_host_needs_its_port() {
        let check = |given: &str, expected| {
            assert_eq!(host_port(given).as_deref(), expected);
        };
        check("cdn.example.org:4545", Ok("cdn.example.org:4545"));
        check("[::1]:4545", Ok("[::1]:4545"));
        for wrong in ["", "cdn", "cdn:", ":4545", "cdn:0", "tcp://cdn:4545", "cdn:70000"] {
            check(wrong, Err(&InvalidAddress::NotHostPort));
        }
        check("me@cdn:4545", Err(&InvalidAddress::Credentials));
    }

    proptest! {
        #[test]
        fn any_text_is_an_address_or_none(text: String, tail in "[a-z0-9:/@?#\\[\\].]{0,20}") {
            for text in [text, format!("http://{tail}"), tail] {
                text.parse::<Url>().ok();
                host_port(&text).ok();
            }
        }
    }
}
