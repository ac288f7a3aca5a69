//! The custom resources that the Kubernetes fronts serve, and those of others that they read: their types, the words in
//! them, and the definitions that are applied to a cluster.
//!
//! It must never decide anything, and never talk to an API server. What is stored is read as it stands: a field that
//! is absent stays absent, so that what is written back differs from what was read in nothing but what was changed. What
//! an absent field means is said by the methods of the types, and by the schema where its peer's does.
//!
//! Start reading at [`agents`], then [`foreign`]; [`definitions`] is what `rookery operator crds` prints.

pub mod agents;
mod definition;
pub mod duration;
pub mod foreign;
mod reading;
mod schema;

pub use definition::definitions;
pub use duration::{DurationText, GoDuration, InvalidDuration};
/// What the types of this crate are made of, for those who make some.
pub use k8s_openapi::api::core::v1::ObjectReference;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, OwnerReference, Time};

#[cfg(test)]
mod captured;
