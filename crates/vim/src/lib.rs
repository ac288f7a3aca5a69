//! The vocabulary of vSphere's SOAP interface (vim25) and its codec, for client and simulator alike.
//!
//! Everything here is pure: bytes in, values out, and back. There is no I/O, no clock and no session, and
//! nothing in this crate may know which side of the wire it serves.
//!
//! Start reading at [`envelope`] (a call and its answer as bytes), then [`methods`] and [`objects`] (the tables
//! that later work extends), then [`wire`] (how a table row becomes code). Below that, `reader` takes a document apart
//! within bounds, [`Element`] is what typed values are read from, and [`node`] keeps what has no type yet.

pub mod authorization;
pub mod devices;
mod element;
pub mod envelope;
pub mod fault;
pub mod guest;
pub mod inventory_name;
pub mod methods;
mod moref;
pub mod node;
pub mod objects;
mod reader;
pub mod specs;
pub mod storage;
mod values;
pub mod wire;
mod writer;

pub use element::Element;
pub use fault::{Fault, FaultKind};
pub use moref::MoRef;
pub use node::{Limits, Node, ParseError};
pub use values::Hidden;
pub use wire::{DecodeError, Wire};
pub use writer::{Unwritable, Writer, unwritable};
