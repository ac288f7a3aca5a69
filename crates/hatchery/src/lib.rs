//! The CDS front: jobs of a CDS server get workers in vSphere VMs.
//!
//! It must never touch a VM without its own mark, and never take a failed answer for an empty one.
//!
//! Start reading at [`keeper`], which turns news into passes; what a pass decides is in [`plan`].

pub mod act;
pub mod control;
pub mod demand;
pub mod expiry;
pub mod feed;
pub mod flight;
pub mod heartbeat;
pub mod holds;
pub mod http;
pub mod keeper;
pub mod launch;
pub mod metrics;
pub mod model;
pub mod plan;
pub mod pressure;
pub mod queue;
pub mod report;
pub mod resolve;
pub mod run;
#[cfg(test)]
mod samples;
pub mod settings;
pub mod trouble;
pub mod vitals;
