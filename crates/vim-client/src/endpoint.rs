//! Where a vCenter is: a server, and at most the one path that speaks this protocol.

use std::fmt;
use std::ops::Deref;

use rookery_dial::{Address, InvalidAddress, UserInfo};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(rookery_dial::Endpoint);

/// Why a text is not a vCenter's address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    #[error("the address is empty: give a host, host:port or https://host/sdk")]
    Empty,
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    #[error("the path {path:?} is not /sdk: other paths of a vCenter do not speak this protocol")]
    Path { path: String },
}

impl Endpoint {
    /// Reads an address, and the credentials that may stand before an `@` in it.
    pub fn parse(given: &str) -> Result<(Self, Option<UserInfo>), InvalidEndpoint> {
        let Address { endpoint, user_info, path } = match Address::parse(given) {
            Err(InvalidAddress::Empty) => return Err(InvalidEndpoint::Empty),
            parsed => parsed?,
        };
        if matches!(path.as_str(), "" | "/" | "/sdk" | "/sdk/") {
            Ok((Self(endpoint), user_info))
        } else {
            Err(InvalidEndpoint::Path { path })
        }
    }
}

impl Deref for Endpoint {
    type Target = rookery_dial::Endpoint;
    fn deref(&self) -> &rookery_dial::Endpoint {
        &self.0
    }
}

impl From<Endpoint> for rookery_dial::Endpoint {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vcenter_is_a_server_with_or_without_its_path() {
        for given in ["vc", "https://vc", "https://vc/", "https://vc/sdk", "https://vc/sdk/"] {
            let (endpoint, info) = Endpoint::parse(given).expect(given);
            assert_eq!((endpoint.to_string().as_str(), info), ("https://vc:443", None), "{given}");
        }
    }

    #[test]
    fn another_path_is_refused() {
        for path in ["/ui", "/sdk/x", "?sdk", "#sdk"] {
            let refused = Endpoint::parse(&format!("https://vc{path}"));
            assert_eq!(refused, Err(InvalidEndpoint::Path { path: path.to_owned() }));
        }
        for bad in ["", "ftp://vc", "vc:70000", "a b"] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
    }
}
