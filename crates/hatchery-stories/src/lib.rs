//! The test kit of the hatchery: both of its peers with the hatchery between them, on real time ([`Lab`]) or on paused time
//! ([`Stage`]). Its stories are in `tests`.
#![expect(clippy::expect_used, clippy::panic, reason = "a test kit fails by panicking")]

mod lab;
mod stage;

pub use lab::{Lab, LabOptions, Scene, Standby};
pub use stage::{Saved, Sight, Stage};
