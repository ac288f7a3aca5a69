//! Where a CDS API is: a server, and the path below which its routes are.

use std::fmt;

use rookery_dial::{Address, Endpoint, InvalidAddress};

/// The address of a CDS API, such as `https://cds.example.org/api`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAddress {
    endpoint: Endpoint,
    base: String,
}

/// Why a text is not the address of a CDS API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidApiAddress {
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    #[error("a CDS API takes a token, no user name and password: leave out what stands before the @")]
    Credentials,
    #[error("{path:?} is not a path: leave out everything from ? or # on, and spaces")]
    Path { path: String },
}

impl ApiAddress {
    /// Reads an address. A slash at its end means nothing.
    pub fn parse(given: &str) -> Result<Self, InvalidApiAddress> {
        let Address { endpoint, user_info, path } = Address::parse(given)?;
        if user_info.is_some() {
            return Err(InvalidApiAddress::Credentials);
        }
        if !path.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '?' | '#')) {
            return Err(InvalidApiAddress::Path { path });
        }
        Ok(Self { endpoint, base: path.trim_end_matches('/').to_owned() })
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The path of a route on the server.
    pub(crate) fn route(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

impl fmt::Display for ApiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.endpoint, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_below_the_path_of_the_address() {
        for (given, printed, route) in [
            ("https://cds.example.org/api", "https://cds.example.org:443/api", "/api/ws"),
            ("https://cds.example.org/a/b/", "https://cds.example.org:443/a/b", "/a/b/ws"),
            ("http://127.0.0.1:8081", "http://127.0.0.1:8081", "/ws"),
            ("http://127.0.0.1:8081/", "http://127.0.0.1:8081", "/ws"),
        ] {
            let address = ApiAddress::parse(given).expect(given);
            assert_eq!((address.to_string().as_str(), address.route("/ws").as_str()), (printed, route));
        }
    }

    #[test]
    fn what_no_request_could_be_sent_to_is_refused() {
        for bad in
            ["", "ftp://cds", "https://u:p@cds", "https://cds/api?x=1", "https://cds/#x", "https://cds/a b"]
        {
            assert!(ApiAddress::parse(bad).is_err(), "{bad}");
        }
    }
}
