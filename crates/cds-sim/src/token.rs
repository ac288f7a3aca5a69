//! Tokens: those that the simulator signs, and those that a hatchery signs for its workers.
//!
//! Written against the signature library alone, so that the clients' library of tokens is checked by another one.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA512, RsaKeyPair, RsaParameters, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The key that sessions are signed with. Clones share it.
#[derive(Clone)]
pub struct SigningKey(Arc<RsaKeyPair>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

/// No key could be made or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no RSA key for signing sessions could be made")]
pub struct NoKey;

/// Why a token counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadToken {
    #[error("the token is not a JWT")]
    Shape,
    #[error("the token is signed with {0}, not with RS256, RS384 or RS512")]
    Algorithm(String),
    #[error("the signature does not match the known key")]
    Signature,
    #[error("the token is expired")]
    Expired,
    #[error("the token is used before it was issued")]
    Early,
}

impl SigningKey {
    pub fn generate() -> Result<Self, NoKey> {
        RsaKeyPair::generate(KeySize::Rsa2048).map(|key| Self(Arc::new(key))).map_err(|_| NoKey)
    }

    /// The key in a PKCS#8 document.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, NoKey> {
        RsaKeyPair::from_pkcs8(der).map(|key| Self(Arc::new(key))).map_err(|_| NoKey)
    }

    /// As a PKCS#8 document.
    pub fn to_pkcs8(&self) -> Result<Vec<u8>, NoKey> {
        let der: Pkcs8V1Der<'_> = self.0.as_der().map_err(|_| NoKey)?;
        Ok(der.as_ref().to_vec())
    }

    /// The public half as CDS hands it out: base64 of a PKCS#1 PEM block.
    pub fn public(&self) -> String {
        let body = STANDARD.encode(self.0.public_key().as_ref());
        let mut pem = String::from("-----BEGIN RSA PUBLIC KEY-----\n");
        for (at, c) in body.chars().enumerate() {
            if at > 0 && at % 64 == 0 {
                pem.push('\n');
            }
            pem.push(c);
        }
        pem.push_str("\n-----END RSA PUBLIC KEY-----\n");
        STANDARD.encode(pem)
    }

    /// A JWT that says this. Empty if nothing can be signed, which no check accepts.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&json!({"alg": "RS512", "typ": "JWT"})), part(claims));
        let mut signature = vec![0; self.0.public_modulus_len()];
        match self.0.sign(&RSA_PKCS1_SHA512, &SystemRandom::new(), signed.as_bytes(), &mut signature) {
            Ok(()) => format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)),
            Err(_) => String::new(),
        }
    }

    /// What a JWT of this key says.
    pub(crate) fn verify(&self, token: &str, now: Timestamp) -> Result<Value, BadToken> {
        verify(token, self.0.public_key().as_ref(), now)
    }
}

/// What a JWT says, whoever signed it.
pub(crate) fn unverified(token: &str) -> Result<Value, BadToken> {
    let mut parts = token.split('.').skip(1);
    let claims = parts.next().filter(|_| parts.count() == 1).ok_or(BadToken::Shape)?;
    decode(claims)
}

/// What a JWT says, if this key signed it and it is valid now.
pub(crate) fn verify(token: &str, public_key: &[u8], now: Timestamp) -> Result<Value, BadToken> {
    let (signed, signature) = token.rsplit_once('.').ok_or(BadToken::Shape)?;
    let (header, claims) = signed.split_once('.').ok_or(BadToken::Shape)?;
    let algorithm = decode(header)?["alg"].as_str().unwrap_or_default().to_owned();
    let parameters: &'static RsaParameters = match algorithm.as_str() {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        _ => return Err(BadToken::Algorithm(algorithm)),
    };
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| BadToken::Shape)?;
    UnparsedPublicKey::new(parameters, public_key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| BadToken::Signature)?;
    let claims = decode(claims)?;
    let seconds = |name: &str| claims[name].as_i64();
    if seconds("exp").is_some_and(|exp| exp < now.as_second()) {
        return Err(BadToken::Expired);
    }
    if seconds("iat").is_some_and(|iat| iat > now.as_second()) {
        return Err(BadToken::Early);
    }
    Ok(claims)
}

fn decode(part: &str) -> Result<Value, BadToken> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| BadToken::Shape)?;
    serde_json::from_slice(&bytes).map_err(|_| BadToken::Shape)
}

/// The key in base64 of a PEM block `RSA PUBLIC KEY`; none for anything else, `PUBLIC KEY` included.
pub(crate) fn public_key(text: &str) -> Option<Vec<u8>> {
    let pem = String::from_utf8(STANDARD.decode(text.trim()).ok()?).ok()?;
    let (_, rest) = pem.split_once("-----BEGIN RSA PUBLIC KEY-----")?;
    let (body, _) = rest.split_once("-----END RSA PUBLIC KEY-----")?;
    let body: String = body.split_whitespace().collect();
    STANDARD.decode(body).ok().filter(|der| is_pkcs1(der))
}

/// A sequence that begins with a number. The algorithm of a `SubjectPublicKeyInfo` would be a sequence there.
fn is_pkcs1(der: &[u8]) -> bool {
    let content = match der {
        [0x30, length, rest @ ..] if *length < 0x80 => rest,
        [0x30, length, rest @ ..] => rest.get(usize::from(length & 0x7F)..).unwrap_or_default(),
        _ => return false,
    };
    content.first() == Some(&0x02)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_for_its_key_and_its_time() {
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let now = Timestamp::from_second(1000).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        let token = key.sign(&json!({"jti": "x", "iat": 1000, "exp": 1010}));
        assert_eq!(key.verify(&token, now).unwrap()["jti"], "x");
        assert_eq!(unverified(&token).unwrap()["jti"], "x");
        assert_eq!(key.verify(&token, at(1011)), Err(BadToken::Expired));
        assert_eq!(key.verify(&token, at(999)), Err(BadToken::Early));
        assert_eq!(other.verify(&token, now), Err(BadToken::Signature));
        for bad in ["", "a", "a.b.c", "....", "e30.e30.e30"] {
            assert!(key.verify(bad, now).is_err(), "{bad}");
        }
        let copy = SigningKey::from_pkcs8(&key.to_pkcs8().unwrap()).unwrap();
        assert_eq!(copy.public(), key.public());
    }

    #[test]
    fn a_public_key_is_pkcs1_under_its_own_name() {
        let key = SigningKey::generate().unwrap();
        assert!(public_key(&key.public()).is_some());
        let pem = String::from_utf8(STANDARD.decode(key.public()).unwrap()).unwrap();
        for bad in [
            pem.clone(),
            STANDARD.encode(pem.replace("RSA PUBLIC", "PUBLIC")),
            STANDARD.encode("-----BEGIN RSA PUBLIC KEY-----\nMAA=\n-----END RSA PUBLIC KEY-----"),
            String::new(),
        ] {
            assert_eq!(public_key(&bad), None, "{bad}");
        }
    }
}
