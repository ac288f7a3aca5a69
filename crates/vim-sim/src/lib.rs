//! A vCenter in a process: vSphere as its clients see it, for demonstrations, tests and anybody else.
//!
//! [`World`] is pure: one function takes an input at a time and gives answers, effects and the time of the next wake.
//! For one log of inputs it always gives the same bytes. [`server`] is the shell around it: sockets, one timer,
//! programs and files.
//!
//! Start reading at [`World::step`], then `soap` (calls and answers), `collect` (the property collector), `properties`
//! (what it reads of objects) and `machine` (what can be done to VMs).

mod check;
mod collect;
mod control;
mod event;
mod files;
mod guests;
mod history;
mod http;
mod id;
mod incident;
mod io;
mod limits;
mod machine;
mod methods;
mod model;
mod privileges;
mod properties;
mod refusal;
mod rest;
mod rules;
pub mod server;
mod session;
mod settings;
mod soap;
mod span;
mod store;
mod task;
mod traffic;
mod view;
mod world;

pub use control::{Change, Control, LoadError};
pub use guests::{
    Attributes, Content, FileAnswer, FileJob, FileKind, FileOp, FileSeen, FileTrouble, GuestPower,
    ProgramRule, Start,
};
pub use id::{Id, InvalidId, Kind};
pub use incident::{Incident, NoSuchObject};
pub use io::{Announced, BlobRef, Body, Effect, Input, Notice, Output, Reply, Upload};
pub use model::{
    Bytes, ClusterModel, Counts, DatacenterModel, DatastoreModel, HostModel, Model, ModelError, PodModel,
    PoolModel, VmModel,
};
pub use privileges::{Access, Permission, Role, User};
pub use rest::{CategoryModel, TagModel};
pub use rookery_sim::{Clock, Request, RequestId};
pub use rules::{Action, FaultMember, FaultSpec, GuestBehaviour, InvalidRule, Remains, Rule};
pub use settings::{Durations, Exceeded, GuestTimes, Limits, Login, Settings};
pub use span::{InvalidSpan, Span};
pub use world::World;
