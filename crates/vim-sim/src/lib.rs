//! A vCenter in a process: vSphere as its clients see it, for demonstrations, tests and anybody else.
//!
//! [`World`] is pure: one function takes an input at a time and gives answers, effects and the time of the next wake.
//! For one log of inputs it always gives the same bytes. [`server`] is the shell around it: sockets, one timer,
//! programs and files.
//!
//! Start reading at [`World::step`], then `soap` (calls and answers), `collect` (the property collector), `look` (how
//! objects look from outside) and `machine` (what can be done to VMs).

mod collect;
mod event;
mod files;
mod guests;
mod http;
mod id;
mod io;
mod look;
mod machine;
mod methods;
mod model;
mod refusal;
mod rest;
pub mod server;
mod session;
mod settings;
mod soap;
mod store;
mod task;
mod view;
mod world;

pub use guests::Start;
pub use id::{Id, Kind};
pub use io::{Aside, Body, Effect, Input, Output, Reply, Request, RequestId};
pub use model::{
    Bytes, ClusterModel, Counts, DatacenterModel, DatastoreModel, HostModel, Model, ModelError, PodModel,
    PoolModel, VmModel,
};
pub use settings::{Durations, GuestTimes, Settings};
pub use world::World;
