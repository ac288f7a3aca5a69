//! Checks the PEM envelope of the private key. The key itself is parsed where it is used.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const LABELS: [&str; 2] = ["RSA PRIVATE KEY", "PRIVATE KEY"];

/// The messages quote nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidPem {
    #[error("is not a PEM block that begins with -----BEGIN RSA PRIVATE KEY----- and ends with its END line")]
    NoBlock,
    #[error("is protected by a passphrase, which nobody is there to type: give the key without one")]
    Encrypted,
    #[error("is a PEM block of another kind: an RSA private key is needed (PKCS#1 or PKCS#8)")]
    OtherKind,
    #[error("is a PEM block, but its content is not base64")]
    NotBase64,
}

pub(super) fn check(text: &str) -> Result<(), InvalidPem> {
    let mut lines = text.trim().lines().map(str::trim);
    let label = lines.next().and_then(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
    let label = label.ok_or(InvalidPem::NoBlock)?;
    let end = lines.next_back().and_then(|line| line.strip_prefix("-----END ")?.strip_suffix("-----"));
    if end != Some(label) {
        return Err(InvalidPem::NoBlock);
    }
    let body: Vec<_> = lines.collect();
    if label == "ENCRYPTED PRIVATE KEY" || body.iter().any(|line| line.contains("ENCRYPTED")) {
        return Err(InvalidPem::Encrypted);
    }
    if !LABELS.contains(&label) {
        return Err(InvalidPem::OtherKind);
    }
    let content = STANDARD.decode(body.concat()).map_err(|_| InvalidPem::NotBase64)?;
    if content.is_empty() { Err(InvalidPem::NotBase64) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_of_a_key_is_checked() {
        let block =
            |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        let check = |text: &str, expected| assert_eq!(super::check(text), expected, "{text}");
        check(&block("RSA PRIVATE KEY", "MIIB\nAAAA"), Ok(()));
        check(&block("PRIVATE KEY", "MIIB"), Ok(()));
        check(&format!("\n  {}\n\n", block("PRIVATE KEY", "  MIIB  \r")), Ok(()));
        check("", Err(InvalidPem::NoBlock));
        check("<PKCS#1 PEM>", Err(InvalidPem::NoBlock));
        check("-----BEGIN PRIVATE KEY-----", Err(InvalidPem::NoBlock));
        check("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----", Err(InvalidPem::NoBlock));
        check(&block("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\n\nMIIB"), Err(InvalidPem::Encrypted));
        check(&block("ENCRYPTED PRIVATE KEY", "MIIB"), Err(InvalidPem::Encrypted));
        check(&block("EC PRIVATE KEY", "MIIB"), Err(InvalidPem::OtherKind));
        check(&block("PUBLIC KEY", "MIIB"), Err(InvalidPem::OtherKind));
        check(&block("PRIVATE KEY", "not base64!"), Err(InvalidPem::NotBase64));
        check(&block("PRIVATE KEY", ""), Err(InvalidPem::NotBase64));
    }
}
