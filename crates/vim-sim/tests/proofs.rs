//! Proofs about the world as a pure function: whatever is asked of it, it agrees with itself, watchers see what there
//! is, and the same inputs give the same bytes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a proof fails by panicking, in its helper functions, too"
)]

mod proofs {
    mod asking;
    mod history;
    mod lab;
    mod operations;
    mod random;
    mod strictness;
    mod uploads;
    mod watcher;
}
