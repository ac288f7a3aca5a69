//! The two conversations that a hatchery may have with one CDS.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rookery_daemon::{Clock, Lease, Tally};
use rookery_dial::Dial;
use secrecy::SecretString;

use crate::address::ApiAddress;
use crate::api::Api;
use crate::identity::Identity;
use crate::pace::CallTimes;
use crate::session::Session;
use crate::v1::V1;
use crate::v2::V2;

/// What a hatchery needs to speak with CDS.
#[derive(Debug)]
pub struct Options {
    pub api: ApiAddress,
    /// The way to it.
    pub dial: Arc<dyn Dial>,
    /// Who the hatchery is.
    pub identity: Identity,
    /// The token of its consumer for V1 jobs; none: there are none for it.
    pub v1: Option<SecretString>,
    /// The token of its consumer for V2 jobs; none: there are none for it.
    pub v2: Option<SecretString>,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// What it calls itself.
    pub user_agent: String,
    pub clock: Clock,
    /// What requests that change jobs, workers or models need.
    pub lease: Lease,
    /// What its waits are drawn from.
    pub random: StdRng,
}

/// A CDS server, as one hatchery speaks with it. Cheap to clone; clones share their sessions.
#[derive(Debug, Clone)]
pub struct Cds {
    v1: Option<V1>,
    v2: Option<V2>,
    api: Arc<Api>,
}

impl Cds {
    /// Does nothing yet: each conversation signs in with its first call.
    pub fn new(options: Options) -> Self {
        let Options { api, dial, identity, v1, v2, request_timeout, user_agent, clock, lease, mut random } =
            options;
        let api = Arc::new(Api::new(api, dial, &user_agent, clock, lease, request_timeout));
        let identity = Arc::new(identity);
        let mut seed = || StdRng::seed_from_u64(random.random());
        let v1 =
            v1.map(|token| V1::new(Session::new(Arc::clone(&api), Arc::clone(&identity), token, seed())));
        let v2 = v2.map(|token| V2::new(Session::new(Arc::clone(&api), identity, token, seed())));
        Self { v1, v2, api }
    }

    /// How many requests were sent, by what they do and by what came of them ([`CdsError::as_str`], or `done`).
    ///
    /// [`CdsError::as_str`]: crate::CdsError::as_str
    pub fn requests(&self) -> &Tally {
        &self.api.requests
    }

    /// How long the latest calls took.
    pub fn call_times(&self) -> &CallTimes {
        &self.api.times
    }

    /// What time it is by the clock of CDS, as its last answer told; by ours before the first.
    pub fn now(&self) -> Timestamp {
        self.api.now()
    }

    /// The conversation about V1 jobs.
    pub fn v1(&self) -> Option<&V1> {
        self.v1.as_ref()
    }

    /// The conversation about V2 jobs.
    pub fn v2(&self) -> Option<&V2> {
        self.v2.as_ref()
    }
}
