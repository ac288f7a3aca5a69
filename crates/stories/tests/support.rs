//! What the simulator can do, beside what vcsim can: one script run against both, and the table in
//! `docs/simulator.md` that says so.
#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a test fails by panicking, in its helper functions, too"
)]

mod support {
    mod capacity;
    mod clients;
    mod clones;
    mod collector;
    mod desk;
    mod documented;
    mod events;
    mod features;
    mod files;
    mod guests;
    mod life;
    mod places;
    mod power;
    mod sessions;
    mod subject;
    mod table;
    mod tasks;
    mod updates;
}
