//! Who the server is, over TLS.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate and its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("no certificate could be made: {0}")]
    Made(String),
    #[error("the certificate or its key cannot be used: {0}")]
    Given(String),
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({} certificates)", self.chain.len())
    }
}

impl Identity {
    /// A new self-signed certificate for these names and addresses.
    pub fn self_signed(names: &[&str]) -> Result<Self, IdentityError> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).map_err(|error| IdentityError::Made(error.to_string()))?;
        let key = PrivateKeyDer::try_from(signing_key.serialize_der())
            .map_err(|error| IdentityError::Made(error.to_owned()))?;
        Ok(Self { chain: vec![cert.der().clone()], key })
    }

    /// From the text of PEM files.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, IdentityError> {
        let given = |error: &dyn std::fmt::Display| IdentityError::Given(error.to_string());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.map_err(|error| given(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| given(&error))?;
        Ok(Self { chain, key })
    }

    /// The certificate itself, first of its chain.
    pub fn certificate(&self) -> &[u8] {
        self.chain.first().map(AsRef::as_ref).unwrap_or_default()
    }

    /// The same as PEM.
    pub fn pem(&self) -> String {
        let text = BASE64_STANDARD.encode(self.certificate());
        let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect::<Vec<_>>().join("\n");
        format!("-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n")
    }

    /// What serves connections as this identity.
    pub fn acceptor(self) -> Result<TlsAcceptor, IdentityError> {
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(self.chain, self.key);
        let config = config.map_err(|error| IdentityError::Given(error.to_string()))?;
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}
