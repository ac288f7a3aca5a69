//! Until when a token signs in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

/// How long CDS lets the token of a hatchery's consumer (V2) sign in. It cannot be chosen.
const OF_HATCHERIES: SignedDuration = SignedDuration::from_hours(365 * 24);

/// When a token ends and when it was made, as it says itself.
#[derive(Deserialize)]
pub(crate) struct Times {
    pub(crate) exp: Option<i64>,
    pub(crate) iat: Option<i64>,
}

/// The end of a token for V1 jobs, if the token itself has one. Otherwise only CDS knows it, and does not tell.
pub fn v1_token_end(token: &SecretString) -> Option<Timestamp> {
    Timestamp::from_second(times(token)?.exp?).ok()
}

/// The end of a token for V2 jobs: what it says, or a year after it was made.
pub fn v2_token_end(token: &SecretString) -> Option<Timestamp> {
    let Times { exp, iat } = times(token)?;
    let end = exp.and_then(|end| Timestamp::from_second(end).ok());
    end.or_else(|| Timestamp::from_second(iat?).ok()?.checked_add(OF_HATCHERIES).ok())
}

pub(crate) fn times(token: &SecretString) -> Option<Times> {
    let payload = URL_SAFE_NO_PAD.decode(token.expose_secret().split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_when_it_ends_or_at_least_when_it_was_made() {
        let ends = |payload: &str| {
            let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(payload)).into();
            (v1_token_end(&token), v2_token_end(&token))
        };
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let made = "2026-11-16T08:00:00Z".parse::<Timestamp>().unwrap().as_second();
        assert_eq!(ends(&format!(r#"{{"iat":{made}}}"#)), (None, at("2027-11-16T08:00:00Z")));
        let exp = made + 3600;
        let end = at("2026-11-16T09:00:00Z");
        assert_eq!(ends(&format!(r#"{{"iat":{made},"exp":{exp}}}"#)), (end, end));
        for nothing in
            ["{}", "", r#"{"iat":"today"}"#, &format!(r#"{{"iat":{},"exp":{}}}"#, i64::MAX, i64::MAX)]
        {
            assert_eq!(ends(nothing), (None, None), "{nothing}");
        }
        assert_eq!(v2_token_end(&"opaque".into()), None);
    }
}
