//! Guests of the simulated vCenter, as VMware's own client sees them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helper functions, too")]

mod guests {
    mod exec;
    mod govc;
    mod kit;
}
