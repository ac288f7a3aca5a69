//! govc's file of known hosts: lines of `host:port AA:BB:…`.

use std::fs;

use rookery_daemon::settings::Settings;
use rookery_vim_client::{Endpoint, Thumbprint};

/// The thumbprint that the file knows for the effective address, or why none can be had from it.
///
/// A file that cannot be read is no error: without a thumbprint the system's roots decide, which is not weaker.
pub(crate) fn thumbprint(file: &str, settings: &Settings) -> Result<Option<Thumbprint>, String> {
    let Some((endpoint, _)) = settings.text("vcenter.endpoint").and_then(|text| Endpoint::parse(text).ok())
    else {
        return Ok(None);
    };
    let lines = fs::read_to_string(file)
        .map_err(|error| format!("{file} (GOVC_TLS_KNOWN_HOSTS) cannot be read: {error}"))?;
    find(&lines, &endpoint.authority()).map_err(|why| format!("{file} (GOVC_TLS_KNOWN_HOSTS): {why}"))
}

/// Passes over what is not about this host; of several entries the first that can be used counts.
fn find(lines: &str, authority: &str) -> Result<Option<Thumbprint>, String> {
    let entries = lines.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    let ours: Vec<_> =
        entries.filter(|(host, _)| *host == authority).map(|(_, print)| print.trim()).collect();
    let usable = ours.iter().find_map(|print| print.parse().ok());
    match (usable, ours.first()) {
        (None, Some(print)) if print.bytes().filter(u8::is_ascii_hexdigit).count() == 40 => {
            Err(format!("the thumbprint of {authority} is a SHA-1, which proves nothing; it is ignored"))
        }
        (None, Some(_)) => Err(format!("the thumbprint of {authority} cannot be read; it is ignored")),
        (found, _) => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sha_256_of_this_very_host_counts() {
        let long = "AB:".repeat(31) + "AB";
        let short = "AB:".repeat(19) + "AB";
        let print = long.parse().ok();
        let check = |lines: &str, expected: Result<Option<Thumbprint>, &str>| {
            let found = find(lines, "vc:443");
            assert_eq!(found.as_ref().map_err(|why| &why[..25]), expected.as_ref().map_err(|why| &why[..25]));
        };
        check("", Ok(None));
        check(&format!("vc:8443 {long}\nother:443 {long}\n"), Ok(None));
        check(&format!("other:443 {short}\n\n  vc:443   {long}  \n"), Ok(print));
        check(&format!("vc:443 {short}\nvc:443 {long}\n"), Ok(print));
        assert!(find(&format!("vc:443 {short}"), "vc:443").unwrap_err().contains("is a SHA-1"));
        assert!(find("vc:443 nonsense", "vc:443").unwrap_err().contains("cannot be read"));
    }
}
