//! From CDS to a plan: which jobs wait, which model each runs on, whether this hatchery can run it, and how many workers
//! CDS bears at once.
//!
//! Only [`feed`] asks anybody; the rest is pure. It must never take a failed answer for an empty one.

pub mod demand;
pub mod feed;
pub mod model;
pub mod pressure;
pub mod queue;
pub mod resolve;
