//! The core's machines with this front's marks, and its hands on them.

use crate::mark::Mark;

pub type Machine = rookery_fleet::Machine<Mark>;
pub type Machines = rookery_fleet::Machines<Mark>;
pub type View = rookery_fleet::View<Mark>;
pub type Hands = rookery_fleet_vsphere::Hands<Mark>;
pub type Observer = rookery_fleet_vsphere::Observer<Mark>;
pub type Journal = rookery_fleet_vsphere::Journal<Mark>;
pub type CloneSpec = rookery_fleet_vsphere::CloneSpec<Mark>;
pub type ClaimSpec = rookery_fleet_vsphere::ClaimSpec<Mark>;
/// What holds back the deletion of unusually many.
pub type Brake = rookery_fleet::brake::Brake<Mark>;
