//! What the hatchery shows, and how people and programs ask it: reports, pages, metrics, the control socket.

pub mod control;
pub mod holds;
pub mod metrics;
pub mod report;
