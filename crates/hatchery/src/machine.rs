//! The core's machines with this front's marks, and its hands on them.

use crate::mark::Mark;

/// A machine as a hatchery sees it.
pub type Machine = rookery_fleet::Machine<Mark>;
/// All machines.
pub type Machines = rookery_fleet::Machines<Mark>;
/// All machines at one moment.
pub type View = rookery_fleet::View<Mark>;
/// What can be done to them.
pub type Hands = rookery_fleet_vsphere::Hands<Mark>;
/// What is seen of them.
pub type Observer = rookery_fleet_vsphere::Observer<Mark>;
/// What our acts were told of them.
pub type Journal = rookery_fleet_vsphere::Journal<Mark>;
/// A new one.
pub type CloneSpec = rookery_fleet_vsphere::CloneSpec<Mark>;
/// One that is taken from the pool.
pub type ClaimSpec = rookery_fleet_vsphere::ClaimSpec<Mark>;
/// What holds back the deletion of unusually many.
pub type Brake = rookery_fleet::brake::Brake<Mark>;
