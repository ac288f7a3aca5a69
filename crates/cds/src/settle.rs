//! What must not be done twice: when its answer is lost, a look at the job tells what happened.

use tokio::time::sleep;

use crate::error::CdsError;
use crate::session::{PAUSE, RETRIES};

/// What a look at the job says about an attempt whose answer was lost.
#[derive(Debug)]
pub(crate) enum Seen<T> {
    /// It was carried out.
    Done(T),
    /// It was not, and may be tried again.
    NotDone,
    /// It was not, and never will be.
    Impossible(CdsError),
}

/// Tries until it is known that the attempt was carried out or refused. A refusal after a lost answer may be the work
/// of our own earlier request, so it is no answer either: only the look is. If the look fails, nobody knows, and the
/// error says so.
pub(crate) async fn settle<T, A, L>(attempt: impl Fn() -> A, look: impl Fn() -> L) -> Result<T, CdsError>
where
    A: Future<Output = Result<T, CdsError>>,
    L: Future<Output = Result<Seen<T>, CdsError>>,
{
    let mut lost = None;
    let mut retries = 0;
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if lost.is_none() && !error.may_have_happened() {
            if retries == RETRIES || !error.is_transient() {
                return Err(error);
            }
        } else {
            let unknown = if error.may_have_happened() { error } else { lost.take().unwrap_or(error) };
            match look().await {
                Ok(Seen::Done(done)) => return Ok(done),
                // A request that is still under way may yet be carried out: the caller is told of the lost answer.
                Ok(Seen::NotDone) if retries == RETRIES => return Err(unknown),
                Ok(Seen::NotDone) => lost = Some(unknown),
                Ok(Seen::Impossible(refusal)) => return Err(refusal),
                Err(gone) if gone.is_gone() => return Err(gone),
                Err(_) => return Err(unknown),
            }
        }
        retries += 1;
        sleep(PAUSE).await;
    }
}
