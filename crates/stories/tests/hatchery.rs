//! Stories of the hatchery: a real vCenter's protocol on one side, a CDS's on the other, and real programs in guests.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a story fails by panicking, in its helper functions, too"
)]
#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod hatchery {
    mod addresses;
    mod capacity;
    mod cleaning;
    mod cli;
    mod flavors;
    mod history;
    mod jobs;
    mod limits;
    mod metrics;
    mod models;
    mod protocol;
    mod up;
    mod vcsim;
    mod warm;
    mod witness;
}
