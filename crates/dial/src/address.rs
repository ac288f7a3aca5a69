//! Where a server is: a host, `host:port`, or a URL, as people write it.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::percent_decode_str;

/// All that an address says. What its path may be is the business of whoever speaks to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub endpoint: Endpoint,
    /// The credentials before an `@`.
    pub user_info: Option<UserInfo>,
    /// What follows the server, as it was written: empty, or beginning with `/`, `?` or `#`.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    host: String,
    port: u16,
    tls: bool,
}

/// A user name and password that stood inside a URL.
#[derive(Clone, PartialEq, Eq)]
pub struct UserInfo {
    /// The user, decoded.
    pub user: String,
    /// The password, decoded.
    pub password: Option<String>,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    #[error("the address is empty: give a host, host:port or a URL")]
    Empty,
    #[error("{scheme}:// is not supported: use https:// (or http:// for a simulator)")]
    Scheme { scheme: String },
    #[error("{port:?} is not a port")]
    Port { port: String },
    #[error("{host:?} is not a host name or address")]
    Host { host: String },
}

impl Address {
    pub fn parse(given: &str) -> Result<Self, InvalidAddress> {
        let given = given.trim();
        let (tls, rest) = match given.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some((scheme, _)) => return Err(InvalidAddress::Scheme { scheme: scheme.to_owned() }),
            None => (true, given),
        };
        // The user may be an address itself (`administrator@vsphere.local`): the last @ before the path separates.
        let authority_end = rest.rfind('@').map_or(0, |at| at + 1);
        let path_at = rest[authority_end..].find(['/', '?', '#']).map_or(rest.len(), |at| authority_end + at);
        let (authority, path) = rest.split_at(path_at);
        let (user_info, address) = match authority.rsplit_once('@') {
            Some((info, address)) => (Some(UserInfo::parse(info)), address),
            None => (None, authority),
        };
        let (host, port) = split_port(address)?;
        let port = match port {
            None if tls => 443,
            None => 80,
            Some(text) => text.parse().map_err(|_| InvalidAddress::Port { port: text.to_owned() })?,
        };
        let endpoint = Endpoint { host: host.to_owned(), port, tls };
        Ok(Self { endpoint, user_info, path: path.to_owned() })
    }
}

impl Endpoint {
    /// Host name or address, without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// `host:port`, an IPv6 address in brackets.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

fn split_port(address: &str) -> Result<(&str, Option<&str>), InvalidAddress> {
    let invalid = || InvalidAddress::Host { host: address.to_owned() };
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or_else(invalid)?;
        let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(invalid)?) };
        host.parse::<std::net::Ipv6Addr>().map_err(|_| invalid())?;
        (host, port)
    } else if address.parse::<std::net::Ipv6Addr>().is_ok() {
        (address, None)
    } else {
        address.split_once(':').map_or((address, None), |(host, port)| (host, Some(port)))
    };
    if host.is_empty() {
        return Err(InvalidAddress::Empty);
    }
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if host.chars().all(legal) { Ok((host, port)) } else { Err(invalid()) }
}

impl UserInfo {
    /// What does not decode was meant literally: nobody has to know about percent-encoding.
    fn parse(info: &str) -> Self {
        let (user, password) = match info.split_once(':') {
            Some((user, password)) => (user, Some(percent_decode(password))),
            None => (info, None),
        };
        Self { user: percent_decode(user), password }
    }
}

fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }
}

impl fmt::Debug for UserInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserInfo").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(given: &str, endpoint: &str, path: &str, user: Option<(&str, Option<&str>)>) {
        let address = Address::parse(given).expect(given);
        assert_eq!(
            (address.endpoint.to_string().as_str(), address.path.as_str()),
            (endpoint, path),
            "{given}"
        );
        let info = address.user_info.map(|i| (i.user, i.password));
        assert_eq!(info, user.map(|(u, p)| (u.to_owned(), p.map(str::to_owned))), "{given}");
    }

    #[test]
    fn host_port_and_url_are_all_addresses() {
        check("vc.example.com", "https://vc.example.com:443", "", None);
        check(" vc.example.com:8443 ", "https://vc.example.com:8443", "", None);
        check("http://127.0.0.1:8989", "http://127.0.0.1:8989", "", None);
        check("fe80::1", "https://[fe80::1]:443", "", None);
        check("https://[::1]:8989/sdk", "https://[::1]:8989", "/sdk", None);
    }

    #[test]
    fn the_path_is_handed_back_as_it_was_written() {
        check("https://cds.example.org/api", "https://cds.example.org:443", "/api", None);
        check("http://cds:8081/a/b%20c/?q=1#f", "http://cds:8081", "/a/b%20c/?q=1#f", None);
        check("http://cds?q", "http://cds:80", "?q", None);
    }

    #[test]
    fn credentials_may_stand_in_the_url_encoded_or_not() {
        check("https://user:pass@vc/sdk", "https://vc:443", "/sdk", Some(("user", Some("pass"))));
        check("user@vc", "https://vc:443", "", Some(("user", None)));
        check(
            "https://administrator@vsphere.local:p%40ss/%2F100%@vc:1",
            "https://vc:1",
            "",
            Some(("administrator@vsphere.local", Some("p@ss//100%"))),
        );
    }

    #[test]
    fn what_cannot_be_an_address_is_refused_with_its_reason() {
        for bad in ["", "https://", "ftp://vc", "vc:port", "vc:70000", "a b", "[::1", "https://[x]"] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_password_is_not_printed() {
        let address = Address::parse("u:hunter2@vc").expect("parses");
        assert!(!format!("{address:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>()) {
            drop(Address::parse(&text));
        }
    }
}
