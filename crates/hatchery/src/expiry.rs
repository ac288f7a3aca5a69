//! What ends by itself one day: the tokens of CDS and the certificate of vCenter. Each is a metric, and a warning in the
//! log once it has less than 30 days.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_cds::{v1_token_end, v2_token_end};
use rookery_daemon::{Clock, Supervisor};
use rookery_vim_client::Dial;
use tokio::time::sleep;
use tracing::warn;

use crate::settings::Settings;

/// How long before an end people are warned.
const NOTICE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How often it is looked.
const LOOK: Duration = Duration::from_hours(1);

/// What ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The certificate that vCenter shows.
    VCenterCertificate,
    /// The token for V1 jobs.
    V1Token,
    /// The token for V2 jobs.
    V2Token,
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::VCenterCertificate, Self::V1Token, Self::V2Token];

    /// As a label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VCenterCertificate => "vcenter_certificate",
            Self::V1Token => "v1_token",
            Self::V2Token => "v2_token",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::VCenterCertificate => "renew it in vCenter; where it is pinned, change `thumbprint`, too",
            Self::V1Token => "regenerate the consumer's token in CDS, change `api.token` and reload",
            Self::V2Token => "regenerate the hatchery's token in CDS, change `api.tokenV2` and reload",
        }
    }
}

/// When what ends, as far as that is known. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Expiries(Arc<Mutex<BTreeMap<Subject, End>>>);

#[derive(Debug, Clone, Copy)]
struct End {
    at: Timestamp,
    told: bool,
}

impl Expiries {
    /// Takes in when something ends. An end that is known already has been told already.
    pub fn set(&self, subject: Subject, at: Option<Timestamp>) {
        let mut ends = self.ends();
        match at {
            None => drop(ends.remove(&subject)),
            Some(at) if ends.get(&subject).is_none_or(|known| known.at != at) => {
                ends.insert(subject, End { at, told: false });
            }
            Some(_) => {}
        }
    }

    /// Takes in the tokens of some settings.
    pub fn set_tokens(&self, settings: &Settings) {
        self.set(Subject::V1Token, settings.api.token.as_ref().and_then(v1_token_end));
        self.set(Subject::V2Token, settings.api.token_v2.as_ref().and_then(v2_token_end));
    }

    /// When what ends.
    pub fn all(&self) -> Vec<(Subject, Timestamp)> {
        self.ends().iter().map(|(subject, end)| (*subject, end.at)).collect()
    }

    /// What ends soon, or has ended, and has not been told yet.
    fn news(&self, now: Timestamp) -> Vec<(Subject, Timestamp)> {
        let mut ends = self.ends();
        let due = ends.iter_mut().filter(|(_, end)| !end.told && end.at.duration_since(now) <= NOTICE);
        due.map(|(subject, end)| {
            end.told = true;
            (*subject, end.at)
        })
        .collect()
    }

    fn ends(&self) -> MutexGuard<'_, BTreeMap<Subject, End>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the certificate that vCenter shows, and warns of what ends soon.
pub(crate) fn watch(expiries: &Expiries, vcenter: Arc<dyn Dial>, clock: Clock, supervisor: &Supervisor) {
    let (expiries, stop) = (expiries.clone(), supervisor.token());
    supervisor.spawn("expiries", async move {
        loop {
            let shown = vcenter.shown_certificate();
            expiries.set(Subject::VCenterCertificate, shown.and_then(|certificate| certificate.not_after));
            let now = clock.now();
            for (subject, end) in expiries.news(now) {
                let days = end.duration_since(now).as_hours() / 24;
                warn!(what = subject.as_str(), %end, days, remedy = subject.remedy(), "a token or certificate ends soon");
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = sleep(LOOK) => {}
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;
    use crate::settings::tests::settings;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + day * 86_400).expect("a time")
    }

    #[test]
    fn the_tokens_of_the_settings_say_when_they_end() {
        let claims = format!(r#"{{"iat":{}}}"#, day(-360).as_second());
        let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
        let expiries = Expiries::default();
        expiries.set_tokens(&settings(&format!("commonConfiguration.api.tokenV2 = '{token}'")));
        assert_eq!(expiries.news(day(0)), [(Subject::V2Token, day(5))]);
        expiries.set_tokens(&settings("commonConfiguration.api.tokenV2 = 'opaque'"));
        assert_eq!(expiries.all(), [], "what cannot be read is not known");
    }

    #[test]
    fn an_end_is_told_once_from_thirty_days_before_it() {
        let expiries = Expiries::default();
        let (token, certificate) = (Subject::V2Token, Subject::VCenterCertificate);
        expiries.set(token, Some(day(100)));
        expiries.set(certificate, Some(day(-1)));
        assert_eq!(expiries.news(day(0)), [(certificate, day(-1))], "what has ended is told, too");
        assert_eq!(expiries.news(day(69)), []);
        assert_eq!(expiries.news(day(70)), [(token, day(100))]);
        expiries.set(token, Some(day(100)));
        assert_eq!(expiries.news(day(99)), [], "once");
        expiries.set(token, Some(day(101)));
        assert_eq!(expiries.news(day(99)), [(token, day(101))], "another token");
        expiries.set(certificate, None);
        assert_eq!(expiries.all(), [(token, day(101))]);
    }
}
