//! Why a call gave no result, and what the caller may conclude from it.

use std::fmt;

use rookery_dial::{DialError, HttpError};
use serde::Deserialize;

use crate::job::JobId;

/// Why a call gave no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CdsError {
    /// CDS understood and said no.
    #[error("CDS refused the request to {what}")]
    Refused { what: String, source: Box<Refusal> },
    /// The sign-in was refused.
    #[error(
        "CDS refused the {protocol} sign-in of hatchery {hatchery}: its token must be valid, and its name, type and \
         region those that its consumer allows"
    )]
    SignIn { protocol: &'static str, hatchery: String, source: Box<Refusal> },
    /// Somebody else has the job. Normal life.
    #[error("job {job} went to {by}")]
    Taken { job: JobId, by: String },
    /// The job is over, or is not for this hatchery: CDS tells these apart only sometimes.
    #[error("job {job} is gone, or not for this hatchery")]
    Gone { job: JobId, source: Box<Refusal> },
    /// The connection failed. Nothing was done.
    #[error("cannot {what}: CDS {}", source.in_short())]
    Unreachable { what: String, source: DialError },
    /// The request was sent and no complete answer came: it may have been carried out.
    #[error("CDS gave no complete answer to the request to {what}")]
    Lost { what: String, source: HttpError },
    /// Something answered, but not in CDS's terms: a proxy, or a CDS that restarts.
    #[error("cannot {what}: HTTP {status}, and not from CDS itself: a proxy answers, or CDS is starting")]
    Unavailable { what: String, status: u16 },
    /// An answer that is not in the vocabulary.
    #[error("CDS's answer to the request to {what} cannot be read: {reason}")]
    NotUnderstood { what: String, reason: String },
    /// There is no session, since the sign-in got no answer. Nothing was done.
    #[error("cannot {what}: signing in failed")]
    NotSignedIn { what: String, source: Box<CdsError> },
    /// The hatchery has signed out.
    #[error("did not {what}: the hatchery has signed out of CDS")]
    SignedOut { what: String },
    /// This process may not change anything now. Nothing was done.
    #[error("did not {what}: this process may change nothing while another hatchery of its name may lead")]
    NoLease { what: String },
}

/// An error in CDS's own terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// Which error it is.
    pub id: ErrorId,
    pub message: String,
    /// What names the request in the logs of CDS.
    pub request_id: Option<String>,
    /// What CDS says of the cause.
    pub from: Option<String>,
}

/// Which error of CDS it is. Those that matter to a hatchery have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorId(pub i64);

impl ErrorId {
    /// The session is unknown or has ended.
    pub const UNAUTHORIZED: Self = Self(10);
    pub const FORBIDDEN: Self = Self(11);
    /// There is no such thing; a V2 job was taken by somebody else.
    pub const NOT_FOUND: Self = Self(38);
    /// CDS is in maintenance.
    pub const SERVICE_UNAVAILABLE: Self = Self(60);
    /// The request makes no sense.
    pub const WRONG_REQUEST: Self = Self(74);
    /// The V1 job is booked.
    pub const JOB_ALREADY_BOOKED: Self = Self(89);
    /// There is no such V1 job.
    pub const JOB_NOT_FOUND: Self = Self(112);
    /// The worker model is booked for registration.
    pub const MODEL_ALREADY_BOOKED: Self = Self(115);
    /// The V1 job is not booked.
    pub const JOB_NOT_BOOKED: Self = Self(135);
}

#[derive(Deserialize)]
struct Body {
    id: i64,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    from: Option<String>,
}

impl Refusal {
    /// What the body of an answer says; nothing if it is not CDS that speaks.
    fn read(status: u16, body: &[u8]) -> Option<Self> {
        let Body { id, message, request_id, from } = serde_json::from_slice(body).ok()?;
        let message = message.unwrap_or_default();
        (id != 0).then_some(Self { status, id: ErrorId(id), message, request_id, from })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (HTTP {}, error {})", self.message, self.status, self.id.0)
    }
}

impl std::error::Error for Refusal {}

impl CdsError {
    /// What an answer with a status that is no success means.
    pub(crate) fn of_answer(what: &str, status: u16, body: &[u8]) -> Self {
        let what = what.to_owned();
        match Refusal::read(status, body) {
            Some(source) => Self::Refused { what, source: Box::new(source) },
            None => Self::Unavailable { what, status },
        }
    }

    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Refused { .. } | Self::SignIn { .. } => "refused",
            Self::Taken { .. } => "taken",
            Self::Gone { .. } => "gone",
            Self::Unreachable { .. } => "unreachable",
            Self::Lost { .. } => "lost",
            Self::Unavailable { .. } => "unavailable",
            Self::NotUnderstood { .. } => "not_understood",
            Self::NotSignedIn { .. } | Self::SignedOut { .. } => "signed_out",
            Self::NoLease { .. } => "no_lease",
        }
    }

    /// What a failed exchange means.
    pub(crate) fn of_http(what: &str, error: HttpError) -> Self {
        let what = what.to_owned();
        match error {
            HttpError::Dial(source) => Self::Unreachable { what, source },
            HttpError::Withheld => Self::NoLease { what },
            source @ (HttpError::TimedOut(_)
            | HttpError::Broken(_)
            | HttpError::TooLarge { .. }
            | HttpError::Damaged(_)) => Self::Lost { what, source },
            source @ HttpError::UnknownEncoding(_) => {
                Self::NotUnderstood { what, reason: source.to_string() }
            }
        }
    }

    /// What a failed sign-in means to the call that needed it.
    pub(crate) fn before(self, what: &str) -> Self {
        if self.may_have_happened() {
            Self::NotSignedIn { what: what.to_owned(), source: Box::new(self) }
        } else {
            self
        }
    }

    /// CDS's own words, if it was CDS that refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused { source, .. } | Self::SignIn { source, .. } | Self::Gone { source, .. } => {
                Some(source)
            }
            Self::NotSignedIn { source, .. } => source.refusal(),
            Self::Taken { .. }
            | Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::Unavailable { .. }
            | Self::NotUnderstood { .. }
            | Self::SignedOut { .. }
            | Self::NoLease { .. } => None,
        }
    }

    /// Whether CDS answered with this error.
    pub fn is(&self, id: ErrorId) -> bool {
        self.refusal().is_some_and(|refusal| refusal.id == id)
    }

    /// Whether somebody else was faster. Nothing is wrong.
    pub fn is_lost_race(&self) -> bool {
        matches!(self, Self::Taken { .. })
            || self.is(ErrorId::JOB_ALREADY_BOOKED)
            || self.is(ErrorId::MODEL_ALREADY_BOOKED)
    }

    /// Whether what the call was about does not exist, or not for this hatchery.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. }) || self.is(ErrorId::NOT_FOUND) || self.is(ErrorId::JOB_NOT_FOUND)
    }

    /// Whether the session is not, or no longer, accepted: the next call signs in again.
    pub fn is_unauthorized(&self) -> bool {
        self.is(ErrorId::UNAUTHORIZED) || self.status() == Some(401)
    }

    /// Whether this hatchery may not do it, now or later.
    pub fn is_forbidden(&self) -> bool {
        self.is(ErrorId::FORBIDDEN) && !self.is_gone()
    }

    /// Whether the same call may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { source, .. } => source.is_transient(),
            Self::NotSignedIn { source, .. } => source.is_transient(),
            Self::Lost { .. } => true,
            Self::Refused { .. } | Self::SignIn { .. } | Self::Unavailable { .. } => {
                self.is_unauthorized() || self.status().is_some_and(|status| status == 409 || status >= 500)
            }
            Self::Taken { .. }
            | Self::Gone { .. }
            | Self::NotUnderstood { .. }
            | Self::SignedOut { .. }
            | Self::NoLease { .. } => false,
        }
    }

    /// Whether the call may have been carried out although no result came: read its effect before repeating it.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::NotUnderstood { .. } => true,
            // CDS says that it is closed before it does anything; of other failures nobody knows how far they came.
            Self::Refused { source, .. } => source.status >= 500 && source.id != ErrorId::SERVICE_UNAVAILABLE,
            Self::Unavailable { status, .. } => *status >= 500,
            Self::SignIn { .. }
            | Self::NotSignedIn { .. }
            | Self::Taken { .. }
            | Self::Gone { .. }
            | Self::Unreachable { .. }
            | Self::SignedOut { .. }
            | Self::NoLease { .. } => false,
        }
    }

    fn status(&self) -> Option<u16> {
        if let Self::Unavailable { status, .. } = self {
            return Some(*status);
        }
        self.refusal().map(|refusal| refusal.status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> CdsError {
        CdsError::of_answer("book job 1234", status, body.as_bytes())
    }

    #[test]
    fn an_error_is_recognised_by_its_id_and_keeps_what_cds_said() {
        let error = answer(
            403,
            r#"{"id":89,"message":"Job already booked (from: job 1234)","request_id":"5d2c","from":"job 1234","x":null}"#,
        );
        let refusal = error.refusal().unwrap();
        assert_eq!((refusal.id, refusal.request_id.as_deref()), (ErrorId::JOB_ALREADY_BOOKED, Some("5d2c")));
        assert_eq!(refusal.to_string(), "Job already booked (from: job 1234) (HTTP 403, error 89)");
        assert_eq!(error.to_string(), "CDS refused the request to book job 1234");
        assert!(error.is_lost_race() && !error.is_forbidden() && !error.is_transient());
    }

    #[test]
    fn what_is_not_from_cds_is_a_status_and_no_more() {
        for body in
            ["", "<html>502 Bad Gateway</html>", r#"{"id":0,"message":"x"}"#, "{}", "[]", "null", "\"x\""]
        {
            let error = answer(502, body);
            assert!(matches!(error, CdsError::Unavailable { status: 502, .. }), "{body}: {error:?}");
        }
    }

    /// Status, id; then: lost race, gone, unauthorized, forbidden, transient, may have happened.
    #[test]
    fn each_refusal_answers_the_callers_questions() {
        let table = [
            (401, 10, "..u.t."),
            (403, 11, "...f.."),
            (404, 38, ".g...."),
            (503, 60, "....t."),
            (400, 74, "......"),
            (403, 89, "l....."),
            (404, 112, ".g...."),
            (403, 115, "l....."),
            (400, 135, "......"),
            (409, 147, "....t."),
            (400, 149, "......"),
            (409, 164, "....t."),
            (500, 1, "....th"),
            (500, 7777, "....th"),
            (502, 0, "....th"),
            (401, 0, "..u.t."),
            (403, 0, "......"),
            (404, 0, "......"),
        ];
        for (status, id, expected) in table {
            let error = answer(status, &format!("{{\"id\":{id},\"message\":\"m\"}}"));
            let flag = |holds: bool, letter: char| if holds { letter } else { '.' };
            let found: String = [
                flag(error.is_lost_race(), 'l'),
                flag(error.is_gone(), 'g'),
                flag(error.is_unauthorized(), 'u'),
                flag(error.is_forbidden(), 'f'),
                flag(error.is_transient(), 't'),
                flag(error.may_have_happened(), 'h'),
            ]
            .iter()
            .collect();
            assert_eq!(found, expected, "HTTP {status}, id {id}");
        }
    }
}
