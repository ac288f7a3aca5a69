//! The hands of a fleet on one vCenter: what it sees there, and what has to be done and waited for until a VM can be used.
//!
//! It must never decide which VM should exist, and it must never poll what the live inventory tells by itself.
//!
//! Start reading at [`Observer`], then [`Readiness`].

pub mod observe;
pub mod readiness;

pub use observe::Observer;
pub use readiness::{Readiness, ReadinessError};
