//! The pure core of every front that places VMs: what a machine is, whose it is, where it may go, and who may be
//! deleted and why.
//!
//! It must never read a clock, draw a random number of its own, do I/O, or know a supplier or a front. Whatever it needs
//! is handed to it, so that each of its decisions can be shown in a table. What only a front knows of a machine is the
//! type parameter `M` of the machine: that front's mark.
//!
//! Start reading at [`machine`], then [`ownership`]. The decisions are [`address`], [`capacity`], [`claim`], [`warm`] and
//! [`deletion`]; [`overlay`] says what is known beyond the rows.

pub mod address;
pub mod brake;
pub mod capacity;
pub mod claim;
pub mod deletion;
pub mod disks;
pub mod expiring;
pub mod flavor;
pub mod machine;
pub mod machines;
pub mod names;
pub mod origin;
pub mod overlay;
pub mod ownership;
pub mod reckoning;
pub mod reservations;
pub mod warm;

pub use machine::{Hardware, Machine, MachineId, Power, Role, View};
pub use machines::Machines;
pub use origin::Origin;
pub use ownership::{OwnerId, Ownership, Recognised};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod scale;
