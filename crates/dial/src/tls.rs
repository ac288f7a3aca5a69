//! Whom we believe to be the server: system roots, a CA file, or a pinned thumbprint.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// How the server's certificate is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The certificate authorities that this machine trusts.
    SystemRoots,
    /// The certificate authorities in a PEM file; a server inside a company usually has one of its own.
    CaFile(PathBuf),
    Thumbprint(Thumbprint),
    /// Anybody. Must be asked for in so many words.
    Insecure,
}

/// The SHA-256 digest of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thumbprint([u8; 32]);

/// Why a thumbprint cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a thumbprint is the certificate's SHA-256: 64 hexadecimal digits, with or without colons")]
pub struct InvalidThumbprint;

impl Thumbprint {
    /// The thumbprint of a certificate.
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl std::str::FromStr for Thumbprint {
    type Err = InvalidThumbprint;
    fn from_str(text: &str) -> Result<Self, InvalidThumbprint> {
        let hex: Vec<u32> = text
            .trim()
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).ok_or(InvalidThumbprint))
            .collect::<Result<_, _>>()?;
        let mut bytes = [0; 32];
        if hex.len() != 64 {
            return Err(InvalidThumbprint);
        }
        for (byte, pair) in bytes.iter_mut().zip(hex.chunks_exact(2)) {
            *byte = u8::try_from(pair.iter().fold(0, |sum, digit| sum * 16 + digit))
                .map_err(|_| InvalidThumbprint)?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02X}", if index == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Thumbprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why trust could not be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    #[error("the CA file {} cannot be read: {reason}", path.display())]
    CaFile { path: PathBuf, reason: String },
    #[error("the CA file {} contains no certificate", path.display())]
    NoCertificate { path: PathBuf },
    #[error("this machine has no trusted certificate authorities: give a CA file or a thumbprint")]
    NoSystemRoots,
    #[error("TLS cannot be set up: {reason}")]
    Setup { reason: String },
}

/// A client configuration, and the verifier that remembers what it was shown.
pub(crate) fn client_config(trust: &Trust) -> Result<(Arc<ClientConfig>, Arc<Verifier>), TrustError> {
    let provider = Arc::new(provider::default_provider());
    let chain = match trust {
        Trust::SystemRoots => Some(system_roots()?),
        Trust::CaFile(path) => Some(ca_file(path)?),
        Trust::Thumbprint(_) | Trust::Insecure => None,
    };
    let setup = |error: &dyn fmt::Display| TrustError::Setup { reason: error.to_string() };
    let chain = chain
        .map(|roots| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()
        })
        .transpose()
        .map_err(|error| setup(&error))?;
    let pin = if let Trust::Thumbprint(pin) = trust { Some(*pin) } else { None };
    let verifier =
        Arc::new(Verifier { chain, pin, provider: Arc::clone(&provider), shown: Mutex::new(None) });
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| setup(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), verifier))
}

fn system_roots() -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TrustError::NoSystemRoots) } else { Ok(roots) }
}

fn ca_file(path: &Path) -> Result<RootCertStore, TrustError> {
    let unreadable =
        |error: &dyn fmt::Display| TrustError::CaFile { path: path.to_owned(), reason: error.to_string() };
    let pem = std::fs::read(path).map_err(|error| unreadable(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        roots.add(certificate).map_err(|error| unreadable(&error))?;
    }
    if roots.is_empty() { Err(TrustError::NoCertificate { path: path.to_owned() }) } else { Ok(roots) }
}

/// Judges certificates by one of the modes of [`Trust`]; the handshake's signature is checked in all of them, or
/// a pin would be worth nothing.
#[derive(Debug)]
pub(crate) struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    pin: Option<Thumbprint>,
    provider: Arc<CryptoProvider>,
    /// What the last server showed, so that a refusal can say which thumbprint to compare.
    shown: Mutex<Option<CertificateDer<'static>>>,
}

impl Verifier {
    /// The certificate that the last server showed.
    pub(crate) fn shown(&self) -> Option<CertificateDer<'static>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Thumbprint::of(leaf);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(leaf.clone().into_owned());
        match (&self.chain, self.pin) {
            (Some(chain), _) => chain.verify_server_cert(leaf, intermediates, server_name, ocsp, now),
            (None, Some(pin)) if pin != shown => {
                Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            (None, Some(_) | None) => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thumbprint_is_read_with_and_without_colons_and_printed_one_way() {
        let plain = "0123456789abcdef".repeat(4);
        let print: Thumbprint = plain.parse().expect("digits");
        assert_eq!(print.to_string().parse(), Ok(print));
        assert!(print.to_string().starts_with("01:23:45:67:89:AB:CD:EF:"));
        for bad in ["", "AA:BB", &plain[1..], "zz"] {
            assert_eq!(bad.parse::<Thumbprint>(), Err(InvalidThumbprint), "{bad}");
        }
    }
}
