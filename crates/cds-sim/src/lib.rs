//! A CDS API inside a process: it answers as a real server does, and checks what a real server checks.
//!
//! It must never use our own client's types: both ends would share one mistake and no test could see it.
//!
//! [`World`] is pure: one function takes an input at a time and gives answers, effects and the time of the next wake.
//! [`server`] is the shell around it: sockets and one timer. Start reading at [`World::step`], then `route` (which call
//! is for whom), `auth` and `workers` (who may come in), `queue_v1` and `queue_v2`, and `due` (what time brings).
//!
//! Two things are not CDS: `/control/` (see [`Control`]), and `/sim/job/ID/script` and `…/log`, by which the worker
//! that the simulator hands out gets its script and sends its log without having to understand JSON.

mod auth;
mod check;
mod config;
mod control;
mod due;
mod faults;
mod headers;
mod io;
mod job;
mod load;
mod models;
mod queue_v1;
mod queue_v2;
mod random;
mod record;
mod refusal;
mod render;
mod route;
pub mod server;
mod sockets;
mod token;
pub mod worker;
mod workers;
mod world;

pub use config::{BuiltinConsumer, Cdn, CodeModel, Config, HatcheryConsumer, Model, SHARED, Times, Token};
pub use control::Control;
pub use faults::{Fault, Trouble};
pub use io::{Body, Effect, Input, Notice, Output, Reply, SocketId};
pub use job::{Attempt, Booking, Info, Job, ModelType, NewJob, Protocol, Requirement, Status};
pub use load::Capacity;
pub use record::Entry;
pub use rookery_sim::{Clock, Request, RequestId};
pub use server::Running;
pub use token::{NoKey, SigningKey};
pub use workers::{Status as WorkerStatus, Worker};
pub use world::World;
