//! An address that carries more than a place: `https://user:password@host/sdk`, as `GOVC_URL` often is.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;

use rookery_daemon::settings::{Origin, Settings};
use rookery_vim_client::{Endpoint, InvalidAddress, InvalidEndpoint};

const ENDPOINT: &str = "vcenter.endpoint";
const HIDDEN: &str = "***";

/// What the effective address says about other keys, and where it stands.
///
/// Credentials in a variable's or a flag's URL replace those of weaker layers. Within the same layer they only fill
/// what it leaves open: keys that are written out beside the URL mean what they say.
pub(crate) fn implied(settings: &Settings) -> Option<(Origin, Vec<(&'static str, String)>)> {
    let (_, info) = Endpoint::parse(settings.text(ENDPOINT)?).ok()?;
    let info = info?;
    let origin = settings.origin(ENDPOINT)?;
    let beside = |key: &str| match (origin, settings.origin(key)) {
        (Origin::File(_), Some(_)) | (Origin::Flag(_), Some(Origin::Flag(_))) => true,
        (Origin::Flag(_), _) if key == "vcenter.password" => {
            matches!(settings.origin("vcenter.password-file"), Some(Origin::Flag(_)))
        }
        (
            Origin::Default
            | Origin::File(_)
            | Origin::Computed(_)
            | Origin::Environment(_)
            | Origin::Flag(_),
            _,
        ) => false,
    };
    let user = ("vcenter.user", Some(info.user).filter(|user| !user.is_empty()));
    let password = ("vcenter.password", info.password);
    let values = [user, password].into_iter().filter_map(|(key, value)| Some((key, value?)));
    let open = values.filter(|(key, _)| !beside(key));
    Some((origin.clone(), open.collect()))
}

/// A value as it may be shown: the password inside an address is hidden.
pub(crate) fn without_password(key: &str, value: &str) -> String {
    match value.rsplit_once('@') {
        Some((before, host)) if key == ENDPOINT => {
            // A scheme and a user are no secrets, provided that this is what they are.
            let info = Endpoint::parse(value).ok().and_then(|(_, info)| info);
            if info.as_ref().is_some_and(|info| info.password.is_none()) {
                return value.to_owned();
            }
            let user = info.map_or_else(|| HIDDEN.to_owned(), |info| info.user);
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            match scheme {
                "https" | "http" => format!("{scheme}://{user}:{HIDDEN}@{host}"),
                _ => format!("{user}:{HIDDEN}@{host}"),
            }
        }
        None if key == ENDPOINT => match Endpoint::parse(value) {
            // `user:password`, with the host forgotten.
            Err(InvalidEndpoint::Address(InvalidAddress::Port { port })) => value.replace(&port, HIDDEN),
            Ok(_) | Err(_) => value.to_owned(),
        },
        Some(_) | None => value.to_owned(),
    }
}

/// Why a text is no address, without what may be a password in it.
pub(crate) fn complaint(error: &InvalidEndpoint) -> String {
    match error {
        InvalidEndpoint::Address(InvalidAddress::Scheme { scheme })
            if !scheme.chars().all(|c| c.is_ascii_alphanumeric()) =>
        {
            "is not an address: give a host, host:port or https://host/sdk".to_owned()
        }
        InvalidEndpoint::Address(InvalidAddress::Port { port })
            if !port.chars().all(|c| c.is_ascii_digit()) =>
        {
            "what stands behind the colon is not a port".to_owned()
        }
        InvalidEndpoint::Empty | InvalidEndpoint::Address(_) | InvalidEndpoint::Path { .. } => {
            error.to_string()
        }
    }
}

/// What is unwise about how the address is given.
pub(crate) fn exposure(settings: &Settings) -> Vec<String> {
    let Some(text) = settings.text(ENDPOINT) else { return Vec::new() };
    let Ok((endpoint, info)) = Endpoint::parse(text) else { return Vec::new() };
    let mut warnings = Vec::new();
    if info.is_some_and(|info| info.password.is_some()) {
        warnings.extend(settings.origin(ENDPOINT).and_then(readable_by_others));
    }
    if !endpoint.is_tls() && !is_here(endpoint.host()) {
        warnings.push(format!("the password travels to {endpoint} unprotected"));
    }
    warnings
}

fn readable_by_others(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Flag(_) => {
            Some("everybody on this machine can read the password in an address that is a flag".to_owned())
        }
        Origin::File(path) => {
            let mode = path.metadata().ok()?.permissions().mode() & 0o777;
            let warning =
                format!("{} holds a password and others may read it (mode {mode:03o})", path.display());
            (mode & 0o044 != 0).then_some(warning)
        }
        Origin::Default | Origin::Computed(_) | Origin::Environment(_) => None,
    }
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let check = |given, expected| assert_eq!(without_password(ENDPOINT, given), expected, "{given}");
        check("https://vc/sdk", "https://vc/sdk");
        check("https://me:hunter2@vc/sdk", "https://me:***@vc/sdk");
        check("me@vsphere.local:hunter2@vc", "me@vsphere.local:***@vc");
        check("me@vc", "me@vc");
        check("https://me:hunter2@vc/ui", "https://***:***@vc/ui");
        check("hunter2://me@vc", "***:***@vc");
        check("me:hunter2", "me:***");
        check("https://me:hun:ter2", "https://me:***");
        check("vc:8443", "vc:8443");
        assert_eq!(without_password("vcenter.user", "me@vsphere.local"), "me@vsphere.local");
    }

    #[test]
    fn a_complaint_does_not_quote_a_password() {
        let error = Endpoint::parse("me:hunter2@https://vc").unwrap_err();
        assert!(!complaint(&error).contains("hunter2"));
        // A URL without its host: the password stands where a port would.
        let error = Endpoint::parse("me:hunter2").unwrap_err();
        assert!(!complaint(&error).contains("hunter2"));
        let error = Endpoint::parse("vc:70000").unwrap_err();
        assert!(complaint(&error).contains("70000"));
        let error = Endpoint::parse("ftp://vc").unwrap_err();
        assert!(complaint(&error).contains("ftp"));
    }
}
