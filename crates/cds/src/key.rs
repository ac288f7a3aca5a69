//! The hatchery's key: it signs the tokens of workers, and its public half is shown to CDS at every sign-in.

use std::fmt;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::EncodingKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret, SecretString};

/// Characters on a line of PEM.
const PEM_LINE: usize = 64;
/// Tags of DER elements.
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// An RSA private key.
#[derive(Clone)]
pub struct HatcheryKey {
    private: EncodingKey,
    public: String,
}

/// Why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidKey {
    #[error(
        "the private key is not PEM: PEM begins with -----BEGIN RSA PRIVATE KEY----- or -----BEGIN PRIVATE KEY-----"
    )]
    NotPem,
    #[error("the private key is not an RSA key that can be used: {reason}")]
    NotRsa { reason: String },
}

impl HatcheryKey {
    /// Reads a private key: PEM, in either of its two forms (PKCS#1 or PKCS#8).
    pub fn from_pem(pem: &SecretString) -> Result<Self, InvalidKey> {
        let der =
            PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes()).map_err(|_| InvalidKey::NotPem)?;
        let not_rsa = |reason: &dyn fmt::Display| InvalidKey::NotRsa { reason: reason.to_string() };
        // Signing takes the inner form only; the outer one is a wrapper around it.
        let inner = match &der {
            PrivateKeyDer::Pkcs1(key) => key.secret_pkcs1_der(),
            PrivateKeyDer::Pkcs8(key) => {
                KeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(|error| not_rsa(&error))?;
                unwrap(key.secret_pkcs8_der()).ok_or_else(|| not_rsa(&"its PKCS#8 wrapper cannot be read"))?
            }
            PrivateKeyDer::Sec1(_) | _ => {
                return Err(not_rsa(&"it is a key for elliptic curves, not for RSA"));
            }
        };
        let pair = KeyPair::from_der(inner).map_err(|error| not_rsa(&error))?;
        let public = STANDARD.encode(as_pem("RSA PUBLIC KEY", pair.public_key().as_ref()));
        Ok(Self { private: EncodingKey::from_rsa_der(inner), public })
    }

    /// A new private key, as PEM (PKCS#8).
    pub fn generate_pem() -> Result<SecretString, InvalidKey> {
        let failed = |_| InvalidKey::NotRsa { reason: "none could be generated".to_owned() };
        let pair = KeyPair::generate(KeySize::Rsa4096).map_err(failed)?;
        let der: Pkcs8V1Der<'_> = pair.as_der().map_err(failed)?;
        Ok(as_pem("PRIVATE KEY", der.as_ref()).into())
    }

    /// The public half as CDS takes it: base64 of PEM of the type `RSA PUBLIC KEY`.
    pub fn public(&self) -> &str {
        &self.public
    }

    pub(crate) fn private(&self) -> &EncodingKey {
        &self.private
    }
}

impl fmt::Debug for HatcheryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HatcheryKey").finish_non_exhaustive()
    }
}

fn as_pem(kind: &str, der: &[u8]) -> String {
    let encoded = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {kind}-----\n");
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(PEM_LINE).unwrap_or((rest, ""));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    for part in ["-----END ", kind, "-----\n"] {
        pem.push_str(part);
    }
    pem
}

/// The key inside a PKCS#8 wrapper: a sequence of version, algorithm, and the key as an octet string.
fn unwrap(pkcs8: &[u8]) -> Option<&[u8]> {
    let (wrapper, _) = element(pkcs8, SEQUENCE)?;
    let (_, rest) = element(wrapper, INTEGER)?;
    let (_, rest) = element(rest, SEQUENCE)?;
    element(rest, OCTET_STRING).map(|(key, _)| key)
}

/// The content of a DER element, and what follows it.
fn element(der: &[u8], expected: u8) -> Option<(&[u8], &[u8])> {
    let (&[tag, length], rest) = der.split_first_chunk::<2>()?;
    if tag != expected {
        return None;
    }
    let long = usize::from(length & 0x7f);
    let (length, rest) = if length < 0x80 {
        (long, rest)
    } else {
        let (digits, rest) = rest.split_at_checked(long)?;
        let length =
            digits.iter().try_fold(0_usize, |sum, &digit| sum.checked_mul(256)?.checked_add(digit.into()))?;
        (length, rest)
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Made with `openssl genrsa -traditional 2048`.
    pub(crate) const PKCS1: &str = include_str!("../tests/keys/pkcs1.pem");
    /// The same key, by `openssl pkcs8 -topk8 -nocrypt`.
    const PKCS8: &str = include_str!("../tests/keys/pkcs8.pem");
    /// Its public half, by `openssl rsa -RSAPublicKey_out`.
    const PUBLIC: &str = include_str!("../tests/keys/public.pem");

    fn read(pem: &str) -> Result<HatcheryKey, InvalidKey> {
        HatcheryKey::from_pem(&pem.into())
    }

    #[test]
    fn both_forms_are_the_same_key_and_its_public_half_is_what_openssl_prints() {
        for pem in [PKCS1, PKCS8, &format!("\n\n{PKCS8}\n")] {
            let key = read(pem).unwrap();
            let public = STANDARD.decode(key.public()).unwrap();
            assert_eq!(std::str::from_utf8(&public).unwrap(), PUBLIC);
            assert_eq!(key.private().as_bytes(), read(PKCS1).unwrap().private().as_bytes());
        }
    }

    #[test]
    fn what_is_no_rsa_key_is_refused_without_being_shown() {
        let elliptic = include_str!("../tests/keys/elliptic.pem");
        for bad in ["", "hunter2", PUBLIC, elliptic, &PKCS1.replace("MII", "MIJ")] {
            let error = read(bad).expect_err("no key").to_string();
            assert!(!error.contains("hunter2") && !error.contains("MI"), "{error}");
        }
        assert!(!format!("{:?}", read(PKCS1).unwrap()).contains("MI"));
    }

    proptest! {
        #[test]
        fn no_wrapper_panics(bytes in any::<Vec<u8>>(), at in 0..2000_usize) {
            prop_assert!(unwrap(&bytes).is_none_or(|inner| inner.len() < bytes.len()));
            let der = PrivateKeyDer::from_pem_slice(PKCS8.as_bytes()).unwrap();
            let cut = der.secret_der().get(..at).unwrap_or_default();
            prop_assert!(unwrap(cut).is_none_or(|inner| inner.len() < cut.len()));
        }
    }
}
