//! The pure core of every front that places VMs: what a machine is, whose it is, where it may go, and who may be
//! deleted and why.
//!
//! It must never read a clock, draw a random number of its own, do I/O or know a supplier. Whatever it needs is handed
//! to it, so that each of its decisions can be shown in a table.
//!
//! Start reading at [`machine`], then [`mark`] and [`standing`](mod@standing). The decisions are [`flavor`],
//! [`address`], [`capacity`], [`claim`], [`warm`], [`sweep`] and [`hold`]; [`overlay`] says what is known beyond the rows.

pub mod address;
pub mod brake;
pub mod capacity;
pub mod claim;
pub mod disks;
pub mod flavor;
pub mod hold;
pub mod machine;
pub mod machines;
pub mod mark;
pub mod names;
pub mod origin;
pub mod overlay;
pub mod reckoning;
pub mod reservations;
pub mod standing;
pub mod sweep;
pub mod warm;
pub mod workers;

pub use machine::{Hardware, Machine, MachineId, Notes, Power, Role, View};
pub use machines::Machines;
pub use mark::Mark;
pub use names::Line;
pub use origin::Origin;
pub use standing::{Standing, standing};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod scale;
