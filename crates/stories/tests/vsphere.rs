//! Stories on a real vSphere simulator (vcsim), witnessed by `govc`.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a story fails by panicking, in its helper functions, too"
)]

mod vsphere {
    mod capacity;
    mod cli;
    mod clones;
    mod creates;
    mod cuts;
    mod faults;
    mod files;
    mod governor;
    mod guests;
    mod hands;
    mod history;
    mod inventory;
    mod machines;
    mod placement;
    mod places;
    mod readiness;
    mod support;
    mod tags;
    mod transport;
    mod trust;
}
