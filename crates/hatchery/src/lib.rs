//! The CDS front: jobs of a CDS server get workers in vSphere VMs.
//!
//! It must never touch a VM without its own mark, and never take a failed answer for an empty one.
//!
//! Start reading at [`reconcile`], which turns news into passes; what a pass decides is in [`plan`].

pub mod act;
pub mod intake;
pub mod launch;
pub mod machine;
pub mod mark;
pub mod names;
pub mod plan;
pub mod reconcile;
pub mod run;
#[cfg(test)]
mod samples;
pub mod settings;
pub mod standing;
pub mod surface;
