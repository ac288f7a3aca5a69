//! The test kit: worlds made of real components, and instruments to look at them from outside.
//!
//! A story starts what it needs (a real vcsim, a proxy that counts, or a simulated vCenter on paused time), lets the product
//! work on it, and asserts on the world, through an independent client such as `govc` where a stranger's view counts.
//! Nothing of it is part of the product, and nothing knows a front.
//!
//! Start reading at [`World`], [`Vcsim`] and [`Govc`].
#![expect(clippy::expect_used, clippy::panic, reason = "a test kit fails by panicking")]

mod cable;
mod connect;
mod crash;
mod cutting;
mod govc;
mod page;
mod pattern;
mod program;
mod proxy;
mod raw;
mod scratch;
mod sim;
mod terminal;
mod tools;
mod tripwire;
mod vcsim;
mod world;

pub use cable::Cable;
pub use connect::{Connected, connect, connect_over, eventually, options};
pub use crash::{Moment, Step, Wire};
pub use cutting::{CutAfter, PipeDial, Recording, Relay, split_answers};
pub use govc::Govc;
pub use page::read_page;
pub use pattern::{Pattern, PatternCheck};
pub use program::{Outcome, Program, Running, binary, rookery, start_rookery};
pub use proxy::{Amend, Exchange, Held, Proxy};
pub use raw::{Raw, Refused, enveloped};
pub use sim::Sim;
pub use terminal::Terminal;
pub use tools::{resident, tool, workspace};
pub use tripwire::Tripwire;
pub use vcsim::{Vcsim, VcsimOptions, on_our_simulator, only_on_vcsim};
pub use world::{Finding, Guest, Life, Vm, World, WorldOptions};
