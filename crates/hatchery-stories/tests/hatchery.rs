//! Stories of the hatchery: a real vCenter's protocol on one side, a CDS's on the other, and workers in guests, which are
//! played on paused time and real programs on real time.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a story fails by panicking, in its helper functions, too, and tells what it has counted"
)]

mod hatchery {
    mod addresses;
    mod brake;
    mod busy;
    mod capacity;
    mod cleaning;
    mod cli;
    mod cli_first;
    mod cli_jobs;
    mod cli_prompts;
    mod cli_standby;
    mod completing;
    mod copies;
    mod crash;
    mod credentials;
    mod documents;
    mod election;
    mod flavors;
    mod fronts;
    mod given_up;
    mod giving_back;
    mod history;
    mod holds;
    mod home;
    mod jobs;
    mod keys;
    mod limits;
    mod lost;
    mod metrics;
    mod models;
    mod old_news;
    mod overlay;
    mod pages;
    mod politeness;
    mod pressure;
    mod process;
    mod protocol;
    mod rate;
    mod readiness;
    mod registrations;
    mod safety;
    mod simulated;
    mod stop;
    mod takeover;
    mod top;
    mod two_hatcheries;
    mod up;
    mod up_real;
    mod vcsim;
    mod warm;
    mod witness;
}
