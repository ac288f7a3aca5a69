//! What goes wrong on command, with time in our own hands: the world is driven step by step, without a socket.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helper functions, too"
)]

mod faults {
    mod chaos;
    mod control;
    mod disks;
    mod guests;
    mod incidents;
    mod kit;
    mod limits;
    mod rules;
    mod shell;
}
