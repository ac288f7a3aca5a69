//! The hands of a fleet on one vCenter: what it sees there, and what it can do about it.
//!
//! It must never decide which VM should exist, and it must never poll what the live inventory tells by itself. Every act
//! is safe to repeat, and reads what it is about to change before it changes it.
//!
//! Start reading at [`Vcenters`] (what fronts share), then [`Observer`] (what there is), [`Hands`] (what can be done) and
//! [`Readiness`].

pub mod election;
pub mod hands;
mod journal;
pub mod observe;
pub mod readiness;
pub mod sessions;
pub mod site;
pub mod vcenter;

pub use election::Candidate;
pub use hands::{
    ActError, ClaimError, ClaimSpec, CloneFailure, CloneSpec, CloneTask, CloneTasks, Fixed, Hands,
    LinkedClones, Proof, Refusal, RunningClone,
};
pub use journal::Journal;
pub use observe::Observer;
pub use readiness::{Readiness, ReadinessError};
pub use sessions::{Listing, Product, SessionsError};
pub use site::{Bounds, Placement, Site, SiteError, SiteNames};
pub use vcenter::{FrontReservations, Login, Reserved, Sharing, Vcenter, Vcenters};

#[cfg(test)]
mod samples;
