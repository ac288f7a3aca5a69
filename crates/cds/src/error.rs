//! Why a call gave no result, and what the caller may conclude from it.

use std::fmt;

use rookery_dial::{DialError, HttpError};
use serde::Deserialize;

use crate::job::JobId;

/// Why a call gave no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CdsError {
    /// CDS understood and said no.
    #[error("CDS refused to {what}")]
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
    #[error("cannot {what}: CDS cannot be reached")]
    Unreachable { what: String, source: DialError },
    /// The request was sent and no complete answer came: it may have been carried out.
    #[error("the answer was lost when trying to {what}")]
    Lost { what: String, source: HttpError },
    /// Something answered, but not in CDS's terms: a proxy, or a CDS that restarts.
    #[error("cannot {what}: HTTP {status}, and not from CDS itself")]
    Unavailable { what: String, status: u16 },
    /// An answer that is not in the vocabulary.
    #[error("CDS's answer was not understood when trying to {what}: {reason}")]
    NotUnderstood { what: String, reason: String },
    /// There is no session, since the sign-in got no answer. Nothing was done.
    #[error("cannot {what}: signing in failed")]
    NotSignedIn { what: String, source: Box<CdsError> },
    /// The hatchery has signed out.
    #[error("did not {what}: the hatchery has signed out of CDS")]
    SignedOut { what: String },
    /// This process may not change anything now. Nothing was done.
    #[error("did not {what}: this process holds no lease to change anything")]
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

/// The errors of CDS that matter to a hatchery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorId {
    /// An error inside CDS.
    Unknown,
    /// The session is unknown or has ended.
    Unauthorized,
    Forbidden,
    /// There is no such thing; a V2 job was taken by somebody else.
    NotFound,
    /// CDS is in maintenance.
    ServiceUnavailable,
    /// The request makes no sense.
    WrongRequest,
    /// The V1 job is booked.
    JobAlreadyBooked,
    /// There is no such V1 job.
    JobNotFound,
    /// The worker model is booked for registration.
    ModelAlreadyBooked,
    /// The V1 job is not booked.
    JobNotBooked,
    /// A worker of the model could not be started.
    SpawnFailed,
    /// The V1 job is locked.
    JobLocked,
    /// The request makes no sense for this object.
    InvalidData,
    /// The object is locked.
    ResourceLocked,
    Other(i64),
}

const IDS: [(i64, ErrorId); 14] = [
    (1, ErrorId::Unknown),
    (10, ErrorId::Unauthorized),
    (11, ErrorId::Forbidden),
    (38, ErrorId::NotFound),
    (60, ErrorId::ServiceUnavailable),
    (74, ErrorId::WrongRequest),
    (89, ErrorId::JobAlreadyBooked),
    (112, ErrorId::JobNotFound),
    (115, ErrorId::ModelAlreadyBooked),
    (135, ErrorId::JobNotBooked),
    (146, ErrorId::SpawnFailed),
    (147, ErrorId::JobLocked),
    (149, ErrorId::InvalidData),
    (164, ErrorId::ResourceLocked),
];

impl ErrorId {
    /// The error of a number.
    pub fn of(number: i64) -> Self {
        IDS.iter().find(|(known, _)| *known == number).map_or(Self::Other(number), |(_, id)| *id)
    }

    /// The number of an error.
    pub fn number(self) -> i64 {
        if let Self::Other(number) = self {
            return number;
        }
        IDS.iter().find(|(_, id)| *id == self).map_or(0, |(number, _)| *number)
    }
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
        (id != 0).then(|| Self { status, id: ErrorId::of(id), message, request_id, from })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (HTTP {}, error {})", self.message, self.status, self.id.number())
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
            || self.is(ErrorId::JobAlreadyBooked)
            || self.is(ErrorId::ModelAlreadyBooked)
    }

    /// Whether what the call was about does not exist, or not for this hatchery.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone { .. }) || self.is(ErrorId::NotFound) || self.is(ErrorId::JobNotFound)
    }

    /// Whether the session is not, or no longer, accepted: the next call signs in again.
    pub fn is_unauthorized(&self) -> bool {
        self.is(ErrorId::Unauthorized) || self.status() == Some(401)
    }

    /// Whether this hatchery may not do it, now or later.
    pub fn is_forbidden(&self) -> bool {
        self.is(ErrorId::Forbidden) && !self.is_gone()
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
            Self::Refused { source, .. } => source.status >= 500 && source.id != ErrorId::ServiceUnavailable,
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
        assert_eq!((refusal.id, refusal.request_id.as_deref()), (ErrorId::JobAlreadyBooked, Some("5d2c")));
        assert_eq!(refusal.to_string(), "Job already booked (from: job 1234) (HTTP 403, error 89)");
        assert_eq!(error.to_string(), "CDS refused to book job 1234");
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

    #[test]
    fn ids_and_numbers_are_one_to_one() {
        for (number, id) in IDS {
            assert_eq!((ErrorId::of(number), id.number()), (id, number));
        }
        assert_eq!(ErrorId::of(4242).number(), 4242);
    }
}
