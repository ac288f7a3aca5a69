//! Where the content of a file goes: an address from the server, judged before anything is sent to it. Pure.

use rookery_dial::Thumbprint;
use rookery_vim::Node;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::endpoint::Endpoint;

/// Where to send a request. The path holds a token: whoever knows it may read or write the file.
#[derive(PartialEq, Eq)]
pub(super) enum Route {
    /// To the server that was asked.
    Asked { path: String },
    /// To a host that vCenter manages.
    Host { host: Endpoint, path: String },
}

/// Why an address is not used. The address itself is a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// It is no address.
    #[error("vCenter gave an address that cannot be understood")]
    Unintelligible,
    /// It would be sent in the open.
    #[error("vCenter gave an address at {host} without TLS: the file was not sent there unprotected")]
    Open { host: String },
}

/// The way to an address. `*` stands for the server that was asked, on whatever port and with whatever encryption it
/// was asked; any other way must be encrypted, unless that server itself is spoken to in the open.
pub(super) fn route(url: &str, asked: &Endpoint) -> Result<Route, RouteError> {
    let (scheme, rest) = url.split_once("://").ok_or(RouteError::Unintelligible)?;
    let (authority, path) = rest.find('/').map(|at| rest.split_at(at)).ok_or(RouteError::Unintelligible)?;
    let path = path.to_owned();
    if authority.split(':').next() == Some("*") {
        return Ok(Route::Asked { path });
    }
    let parsed = Endpoint::parse(&format!("{scheme}://{authority}"));
    let (host, _) = parsed.map_err(|_| RouteError::Unintelligible)?;
    let same = host.host().eq_ignore_ascii_case(asked.host()) && host.is_tls() == asked.is_tls();
    match host.is_tls() {
        _ if same => Ok(Route::Asked { path }),
        true => Ok(Route::Host { host, path }),
        false => Err(RouteError::Open { host: host.authority() }),
    }
}

/// The thumbprint of a host's certificate as vCenter knows it: PEM, as an array of bytes.
pub(super) fn thumbprint(certificate: Node) -> Option<Thumbprint> {
    let signed = |byte: i16| i8::try_from(byte).map(i8::cast_unsigned).or_else(|_| u8::try_from(byte)).ok();
    let bytes: Vec<u8> = certificate.items().ok()?.into_iter().map(signed).collect::<Option<_>>()?;
    CertificateDer::from_pem_slice(&bytes).ok().map(|certificate| Thumbprint::of(&certificate))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, asked: &str, expected: Result<Option<&str>, RouteError>) {
        let (asked, _) = Endpoint::parse(asked).expect("an address");
        let found = route(url, &asked).map(|route| match route {
            Route::Asked { path } => (None, path),
            Route::Host { host, path } => (Some(host.to_string()), path),
        });
        let path = "/guestFile?id=139&token=s3cret";
        let expected = expected.map(|host| (host.map(str::to_owned), path.to_owned()));
        assert_eq!(found, expected, "{url} from {asked}");
    }

    fn at(host: &str) -> String {
        format!("{host}/guestFile?id=139&token=s3cret")
    }

    #[test]
    fn a_star_is_the_server_that_was_asked_however_it_was_asked() {
        for star in ["https://*:443", "https://*", "http://*", "http://*:80"] {
            for asked in ["https://vc.example", "https://vc.example:8443", "http://127.0.0.1:8989"] {
                check(&at(star), asked, Ok(None));
            }
        }
    }

    #[test]
    fn the_own_name_of_the_server_is_the_server() {
        check(&at("https://VC.example:443"), "https://vc.example:8443", Ok(None));
        check(&at("http://127.0.0.1:8989"), "http://127.0.0.1:8989", Ok(None));
        check(&at("https://[::1]"), "https://[::1]:8989", Ok(None));
    }

    #[test]
    fn another_host_is_spoken_to_with_encryption_only() {
        check(&at("https://esx-1.example:443"), "https://vc", Ok(Some("https://esx-1.example:443")));
        check(&at("https://10.0.0.7"), "http://127.0.0.1:8989", Ok(Some("https://10.0.0.7:443")));
        let open = |host: &str| Err(RouteError::Open { host: host.to_owned() });
        check(&at("http://esx-1.example"), "https://vc", open("esx-1.example:80"));
        check(&at("http://esx-1.example"), "http://vc", open("esx-1.example:80"));
        check(&at("http://vc"), "https://vc", open("vc:80"));
    }

    #[test]
    fn what_is_no_address_is_refused_without_showing_it() {
        for bad in [
            "",
            "/guestFile?token=s3cret",
            "https://",
            "https://host",
            "ftp://h/s3cret",
            "https://a b/s3cret",
        ] {
            check(bad, "https://vc", Err(RouteError::Unintelligible));
            assert!(!RouteError::Unintelligible.to_string().contains("s3cret"));
        }
    }
}
