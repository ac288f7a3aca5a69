//! The simulator as its clients see it: what it checks, what it answers, and a real worker against it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helper functions, too"
)]

mod sim {
    mod auth;
    mod captures;
    mod end_to_end;
    mod faults;
    mod kit;
    mod load;
    mod models;
    mod played;
    mod random;
    mod shell;
    mod sockets;
    mod v1;
    mod v2;
    mod workers;
}
