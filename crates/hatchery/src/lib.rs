//! The CDS front: jobs of a CDS server get workers in vSphere VMs.
//!
//! It must never touch a VM without its own mark, and never take a failed answer for an empty one.

pub mod demand;
pub mod launch;
pub mod settings;
