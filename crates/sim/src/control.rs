//! What the control APIs of simulated servers have in common: who may call them, and how far time is advanced.

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;

use crate::message::{Reply, Request};

/// The most that one call advances the time.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);

/// Admits clients on this machine that show the control token.
pub fn admit<B: From<String>>(request: &Request, token: &str) -> Result<(), Reply<B>> {
    if !request.is_local() {
        return Err(Reply::error(403, "the simulator is controlled from its own machine only"));
    }
    if !request.bearer().is_some_and(|shown| is_same(shown, token)) {
        return Err(Reply::error(401, "show the control token in the header: Authorization: Bearer TOKEN"));
    }
    Ok(())
}

/// Takes as long for a wrong token as for the right one.
fn is_same(shown: &str, token: &str) -> bool {
    let differing = shown.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == token.len() && differing == 0
}

/// Reads the body of a request as JSON.
pub fn body<T: DeserializeOwned, B: From<String>>(request: &Request) -> Result<T, Reply<B>> {
    serde_json::from_slice(&request.body).map_err(|error| Reply::error(400, &error.to_string()))
}

/// The time after an advance.
pub fn advanced<B: From<String>>(now: Timestamp, by: SignedDuration) -> Result<Timestamp, Reply<B>> {
    if !(SignedDuration::ZERO..=LONGEST).contains(&by) {
        return Err(Reply::error(400, "time can only be advanced, and by a year at most"));
    }
    Ok(now.saturating_add(by).unwrap_or(now))
}
