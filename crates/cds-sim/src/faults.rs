//! Injected faults: replies that are wrong, late or missing.

use jiff::SignedDuration;
use rookery_sim::{Request, glob};
use serde::{Deserialize, Serialize};

use crate::io::{self, Reply};
use crate::random::Random;
use crate::refusal::{Refusal, error};

/// A fault that is injected into some calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fault {
    /// Which method; none means all.
    #[serde(default)]
    pub method: Option<String>,
    /// Which path; a star stands for anything, slashes included.
    #[serde(default = "everything")]
    pub path: String,
    /// How many calls; none means all.
    #[serde(default)]
    pub times: Option<u32>,
    /// How likely it is each time, from 0 to 1.
    #[serde(default = "always")]
    pub chance: f64,
    pub trouble: Trouble,
}

fn everything() -> String {
    "*".to_owned()
}

fn always() -> f64 {
    1.0
}

impl Fault {
    /// A fault of the next calls of a path.
    pub fn next(times: u32, path: &str, trouble: Trouble) -> Self {
        Self { method: None, path: path.to_owned(), times: Some(times), chance: 1.0, trouble }
    }
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Trouble {
    /// It is refused with this status and the number of this error, and nothing is done.
    Error {
        status: u16,
        /// The number of the error.
        id: i64,
    },
    /// A proxy answers with a page, and nothing is done.
    Html { status: u16 },
    /// CDS is being maintained, and nothing is done.
    Maintenance,
    /// It is done at once, and the answer comes that much later.
    Slow { milliseconds: u32 },
    /// It is done, and the connection ends without an answer.
    LostReply,
    /// The connection ends, and nothing is done.
    Dropped,
    /// The answer is a list of nothing, and nothing is done.
    Empty,
}

impl Trouble {
    /// What is answered instead of doing anything.
    pub(crate) fn instead(&self, request_id: &str) -> Option<Reply> {
        match self {
            Self::Error { status, id } => Some(error(*status, *id, "internal server error", "", request_id)),
            Self::Html { status } => {
                let page = format!("<html><body><h1>{status} Bad Gateway</h1></body></html>\n");
                Some(Reply::new(*status, "text/html", page))
            }
            Self::Maintenance => Some(Refusal::UNAVAILABLE.reply(request_id)),
            Self::Dropped => Some(io::cut()),
            Self::Empty => Some(Reply::new(200, "application/json", "[]".to_owned())),
            Self::Slow { .. } | Self::LostReply => None,
        }
    }

    pub(crate) fn loses_the_reply(&self) -> bool {
        *self == Self::LostReply
    }

    pub(crate) fn delay(&self) -> Option<SignedDuration> {
        let Self::Slow { milliseconds } = self else { return None };
        Some(SignedDuration::from_millis(i64::from(*milliseconds)))
    }
}

/// All faults at present.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    active: Vec<Fault>,
    /// How many calls met a fault.
    met: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, fault: Fault) {
        self.active.push(fault);
    }

    /// Removes all faults; returns how many calls met one.
    pub(crate) fn clear(&mut self) -> u64 {
        std::mem::take(self).met
    }

    /// The first fault that applies to this call.
    pub(crate) fn apply(&mut self, request: &Request, random: &mut Random) -> Option<Trouble> {
        let meets = |fault: &Fault| {
            fault.times != Some(0)
                && fault.method.as_deref().is_none_or(|method| method.eq_ignore_ascii_case(&request.method))
                && glob::matches(&fault.path, &request.path)
        };
        let fault = self.active.iter_mut().find(|fault| meets(fault) && random.happens(fault.chance))?;
        fault.times = fault.times.map(|left| left.saturating_sub(1));
        self.met += 1;
        Some(fault.trouble.clone())
    }
}
