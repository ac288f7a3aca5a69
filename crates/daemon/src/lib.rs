//! What every Rookery process has and no domain knows: wall time, supervised and tracked tasks, periodic routines, pages
//! and probes, metrics, a control socket, a lock, a bounded shutdown, stop signals, layered settings and logging.
//!
//! It must never know a peer (a server that a front speaks with, or its protocol) or pull in TLS: every binary, simulators
//! included, pays for what this crate depends on.
//!
//! Start with [`Supervisor`], which owns the tasks of a process, then [`tracked`], [`pages`] and [`settings`].

mod backoff;
mod clock;
pub mod control;
pub mod expiry;
mod lease;
pub mod lock;
pub mod metrics;
pub mod pages;
pub mod probes;
mod process_name;
pub mod routines;
pub mod settings;
pub mod shutdown;
pub mod signals;
mod supervisor;
mod tally;
pub mod telemetry;
pub mod tracked;
pub mod trouble;

pub use backoff::{Backoff, Delays};
pub use clock::Clock;
pub use lease::Lease;
pub use process_name::ProcessName;
pub use supervisor::{Supervisor, Unfinished};
pub use tally::Tally;
