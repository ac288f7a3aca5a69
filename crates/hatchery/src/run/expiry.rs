//! What ends by itself one day: the tokens of CDS and the certificate of vCenter. Each is a metric, and a warning in the
//! log.

use std::sync::Arc;

use rookery_cds::{v1_token_end, v2_token_end};
use rookery_daemon::expiry::Expires;
use rookery_daemon::{Clock, Supervisor, expiry};
use rookery_vim_client::Dial;

use crate::settings::Settings;

/// When what ends, as far as that is known.
pub type Expiries = expiry::Expiries<Subject>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    VCenterCertificate,
    V1Token,
    V2Token,
}

impl Expires for Subject {
    fn as_str(self) -> &'static str {
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

/// Takes in the tokens of some settings.
pub(crate) fn set_tokens(expiries: &Expiries, settings: &Settings) {
    expiries.set(Subject::V1Token, settings.api.token.as_ref().and_then(v1_token_end));
    expiries.set(Subject::V2Token, settings.api.token_v2.as_ref().and_then(v2_token_end));
}

/// Looks at the certificate that vCenter shows, and warns of what ends soon.
pub(crate) fn watch(expiries: &Expiries, vcenter: Arc<dyn Dial>, clock: Clock, supervisor: &Supervisor) {
    expiries.watch(clock, supervisor, move |expiries| {
        let shown = vcenter.shown_certificate();
        expiries.set(Subject::VCenterCertificate, shown.and_then(|certificate| certificate.not_after));
    });
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use jiff::Timestamp;

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
        set_tokens(&expiries, &settings(&format!("commonConfiguration.api.tokenV2 = '{token}'")));
        assert_eq!(expiries.all(), [(Subject::V2Token, day(5))]);
        set_tokens(&expiries, &settings("commonConfiguration.api.tokenV2 = 'opaque'"));
        assert_eq!(expiries.all(), [], "what cannot be read is not known");
    }
}
