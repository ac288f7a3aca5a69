//! The hands of a fleet on one vCenter: what has to be done and waited for until a VM can be used.
//!
//! It must never decide which VM should exist, and it must never poll what the live inventory tells by itself.
//!
//! Start reading at [`Readiness`].

pub mod readiness;

pub use readiness::{Readiness, ReadinessError};
