//! A session: one sign-in for all callers, renewed before it ends and after CDS has forgotten it. Every sign-in
//! introduces the hatchery anew: CDS registers it by that, and by nothing else.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Method;
use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_daemon::telemetry::chain;
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use crate::api::{Answer, Api, Call, Repeat};
use crate::error::CdsError;
use crate::identity::Identity;
use crate::validity::{Times, times};

/// How often a request is sent again.
pub(crate) const RETRIES: u32 = 2;
/// How long after the failure before it.
pub(crate) const PAUSE: Duration = Duration::from_millis(250);
/// A session is renewed in the last tenth of its life, and at most this long before its end.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);
/// Callers that queued up behind a failed sign-in share its failure instead of trying one after the other.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How one of the two protocols signs in.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// What CDS says about the hatchery.
    type Registered: fmt::Debug + Send + Sync;
    const NAME: &'static str;
    /// The path of the sign-in request.
    const SIGN_IN: &'static str;
    /// The body of the sign-in request.
    fn introduction(identity: &Identity, token: &SecretString) -> Value;
    /// The session's token, and what CDS says about the hatchery.
    fn registered(answer: &Answer) -> Result<(SecretString, Self::Registered), CdsError>;
}

/// The session of one protocol.
pub(crate) struct Session<P: Protocol> {
    pub(crate) api: Arc<Api>,
    pub(crate) identity: Arc<Identity>,
    current: Mutex<Option<Arc<Grant<P>>>>,
    /// Held while signing in or out: whoever waits for it finds a new session, or a fresh failure.
    gate: tokio::sync::Mutex<Gate>,
    random: Mutex<StdRng>,
}

/// A session that CDS granted.
pub(crate) struct Grant<P: Protocol> {
    pub(crate) token: SecretString,
    pub(crate) registered: P::Registered,
    life: Option<Life>,
}

/// When a session is to be renewed, and when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Life {
    renew: Timestamp,
    end: Timestamp,
}

#[derive(Debug)]
struct Gate {
    closed: bool,
    failed: Option<(Instant, CdsError)>,
    token: SecretString,
}

impl<P: Protocol> fmt::Debug for Session<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("protocol", &P::NAME)
            .field("api", &self.api.address)
            .finish_non_exhaustive()
    }
}

impl<P: Protocol> Session<P> {
    pub(crate) fn new(api: Arc<Api>, identity: Arc<Identity>, token: SecretString, random: StdRng) -> Self {
        let gate = tokio::sync::Mutex::new(Gate { closed: false, failed: None, token });
        Self { api, identity, current: Mutex::default(), gate, random: Mutex::new(random) }
    }

    /// A generator of its own for whoever needs one.
    pub(crate) fn fork_random(&self) -> StdRng {
        StdRng::seed_from_u64(self.random.lock().unwrap_or_else(PoisonError::into_inner).random())
    }

    /// Makes a call: signs in where that is needed, and repeats what may be repeated.
    pub(crate) async fn call(&self, call: &Call) -> Result<Answer, CdsError> {
        let mut signed_in_again = false;
        let mut retries = 0;
        loop {
            let grant = self.grant(&call.what).await?;
            let sent = if retries == 0 {
                self.api.send(call, Some(&grant.token)).await
            } else {
                // The connection that was kept may have been the trouble.
                self.api.send_freshly(call, Some(&grant.token)).await
            };
            let error = match sent {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.is_unauthorized() {
                self.forget(&grant);
                if signed_in_again || call.repeat != Repeat::Harmless {
                    return Err(error);
                }
                signed_in_again = true;
            } else if retries < RETRIES && may_repeat(call.repeat, &error) {
                retries += 1;
                sleep(PAUSE).await;
            } else {
                return Err(error);
            }
        }
    }

    /// The session to use for the next call; signs in if there is none, or if it ends soon.
    pub(crate) async fn grant(&self, for_what: &str) -> Result<Arc<Grant<P>>, CdsError> {
        if let Some(grant) = self.fresh() {
            return Ok(grant);
        }
        let mut gate = self.gate.lock().await;
        if gate.closed {
            return Err(CdsError::SignedOut { what: for_what.to_owned() });
        }
        if let Some(grant) = self.fresh() {
            return Ok(grant);
        }
        let outcome = match &gate.failed {
            Some((until, error)) if Instant::now() < *until => Err(error.clone()),
            Some(_) | None => self.sign_in(&gate.token).await.inspect_err(|error| {
                gate.failed = Some((Instant::now() + AFTER_FAILURE, error.clone()));
            }),
        };
        match (outcome, self.alive()) {
            (Ok(grant), _) => {
                gate.failed = None;
                self.set(Some(Arc::clone(&grant)));
                Ok(grant)
            }
            // It was to be renewed early: there is time to try again.
            (Err(error), Some(grant)) if error.is_transient() => {
                warn!(protocol = P::NAME, error = %chain(&error), "could not renew the CDS session yet");
                Ok(grant)
            }
            (Err(error), _) => Err(error.before(for_what)),
        }
    }

    /// Signs in with another token, which signs in from now on. One that CDS refuses changes nothing; one that could not
    /// be tried is, with the next sign-in.
    pub(crate) async fn change_token(&self, token: SecretString) -> Result<(), CdsError> {
        let mut gate = self.gate.lock().await;
        if gate.closed {
            return Err(CdsError::SignedOut { what: "sign in with another token".to_owned() });
        }
        let signed_in = self.sign_in(&token).await;
        if !matches!(signed_in, Err(CdsError::SignIn { .. })) {
            (gate.token, gate.failed) = (token, None);
        }
        self.set(Some(signed_in?));
        Ok(())
    }

    /// Drops a session that CDS does not accept, unless it was renewed already.
    pub(crate) fn forget(&self, refused: &Arc<Grant<P>>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.take_if(|grant| Arc::ptr_eq(grant, refused));
    }

    /// Ends the session with a last call. Later calls fail instead of signing in again.
    pub(crate) async fn close(&self, call: &Call) -> Result<(), CdsError> {
        let mut gate = self.gate.lock().await;
        gate.closed = true;
        let Some(grant) = self.alive() else { return Ok(()) };
        self.set(None);
        match self.api.send(call, Some(&grant.token)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_unauthorized() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn sign_in(&self, token: &SecretString) -> Result<Arc<Grant<P>>, CdsError> {
        let what = format!("sign in hatchery {}", self.identity.name);
        let introduction = P::introduction(&self.identity, token);
        let call = Call::new(what, Method::POST, P::SIGN_IN, Repeat::Harmless).with(&introduction)?;
        let mut retries = 0;
        let answer = loop {
            match self.api.send(&call, None).await {
                Ok(answer) => break answer,
                Err(error) if retries < RETRIES && may_repeat(Repeat::Harmless, &error) => {
                    retries += 1;
                    sleep(PAUSE).await;
                }
                Err(CdsError::Refused { source, .. }) if source.status < 500 => {
                    let hatchery = self.identity.name.clone();
                    return Err(CdsError::SignIn { protocol: P::NAME, hatchery, source });
                }
                Err(error) => return Err(error),
            }
        };
        let (token, registered) = P::registered(&answer)?;
        info!(protocol = P::NAME, hatchery = self.identity.name, "signed in to CDS");
        let life = life(&token, self.api.clock.now());
        Ok(Arc::new(Grant { token, registered, life }))
    }

    /// The current session, if it need not be renewed.
    fn fresh(&self) -> Option<Arc<Grant<P>>> {
        let now = self.api.clock.now();
        self.current().filter(|grant| grant.life.is_none_or(|life| now < life.renew))
    }

    /// The current session, if it has not ended.
    fn alive(&self) -> Option<Arc<Grant<P>>> {
        let now = self.api.clock.now();
        self.current().filter(|grant| grant.life.is_none_or(|life| now < life.end))
    }

    fn current(&self) -> Option<Arc<Grant<P>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, grant: Option<Arc<Grant<P>>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = grant;
    }
}

/// Whether a request that failed is sent again. A session that is not accepted is another matter.
pub(crate) fn may_repeat(repeat: Repeat, error: &CdsError) -> bool {
    let passes = error.is_transient() && !error.is_unauthorized();
    match repeat {
        Repeat::Harmless => passes,
        Repeat::IfNotDone => passes && !error.may_have_happened(),
        Repeat::Never => false,
    }
}

/// The life of a session, from its token. It is counted from now on, by the length that the server gave it: the
/// server's clock may differ from ours. A token that cannot be read is used until it is refused.
fn life(token: &SecretString, now: Timestamp) -> Option<Life> {
    let Times { exp, iat } = times(token)?;
    let length = SignedDuration::from_secs(exp?.checked_sub(iat.unwrap_or_else(|| now.as_second()))?);
    let end = now.checked_add(length).ok()?;
    let renew = end.checked_sub((length / 10).min(MARGIN)).ok()?;
    Some(Life { renew, end })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn lived(payload: &str) -> Option<(i64, i64)> {
        let now: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let life = life(&format!("e30.{}.x", URL_SAFE_NO_PAD.encode(payload)).into(), now)?;
        Some((life.renew.as_second() - now.as_second(), life.end.as_second() - now.as_second()))
    }

    #[test]
    fn a_session_is_renewed_a_little_before_its_end() {
        assert_eq!(lived(r#"{"iat":1000,"exp":4600}"#), Some((3540, 3600)));
        assert_eq!(lived(r#"{"iat":1000,"exp":1030}"#), Some((27, 30)));
        assert_eq!(lived(r#"{"exp":1794733200}"#), Some((3540, 3600)));
    }

    #[test]
    fn a_token_that_cannot_be_read_is_used_until_it_is_refused() {
        let extreme = format!(r#"{{"iat":{},"exp":{}}}"#, i64::MIN, i64::MAX);
        for bad in ["", "{}", r#"{"exp":"soon"}"#, &extreme] {
            assert_eq!(lived(bad), None, "{bad}");
        }
        assert_eq!(life(&"opaque".into(), Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn only_what_was_not_done_or_is_harmless_is_repeated() {
        let answer = |status, body: &str| CdsError::of_answer("x", status, body.as_bytes());
        let table = [
            (answer(500, r#"{"id":1}"#), true, false),
            (answer(502, "<html>"), true, false),
            (answer(503, r#"{"id":60}"#), true, true),
            (answer(409, r#"{"id":147}"#), true, true),
            (answer(401, r#"{"id":10}"#), false, false),
            (answer(403, r#"{"id":89}"#), false, false),
            (answer(404, "<html>"), false, false),
            (CdsError::of_http("x", rookery_dial::HttpError::TimedOut(PAUSE)), true, false),
            (CdsError::NotUnderstood { what: "x".into(), reason: String::new() }, false, false),
        ];
        for (error, harmless, if_not_done) in table {
            assert_eq!(may_repeat(Repeat::Harmless, &error), harmless, "{error:?}");
            assert_eq!(may_repeat(Repeat::IfNotDone, &error), if_not_done, "{error:?}");
            assert!(!may_repeat(Repeat::Never, &error), "{error:?}");
        }
    }
}
