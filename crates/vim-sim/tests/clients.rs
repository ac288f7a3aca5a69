//! VMware's own clients against the simulator in this process: `govc` and `pyvmomi` as they are.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helper functions, too"
)]

mod clients {
    mod govc;
    mod pyvmomi;
    mod server;
}
