//! A hatchery's conversation with a CDS server: sign-in, queues, workers and models, in both of its protocols.
//!
//! It must never decide which job is served or by which machine, and it must never turn an answer that failed into an
//! empty list. What must not be done twice (booking, taking, releasing, failing a job) is never repeated on a guess:
//! when its answer is lost, the job is read and shows what happened.
//!
//! Start reading at [`Cds`], then [`V1`] and [`V2`]; [`worker_token`] is what a worker registers with.

mod address;
mod api;
mod cds;
mod class;
mod error;
mod feed;
mod identity;
mod job;
mod json;
mod key;
mod monitoring;
mod pace;
mod path;
mod session;
mod settle;
#[cfg(test)]
mod tests;
mod token;
mod v1;
mod v2;
mod validity;
mod worker;

pub use address::{ApiAddress, InvalidApiAddress};
pub use cds::{Cds, Options};
pub use error::{CdsError, ErrorId, Refusal};
pub use identity::{Identity, MODEL_TYPE};
pub use job::{InvalidJobId, JobId, JobStatus, V1JobId, V2JobId};
pub use key::{HatcheryKey, InvalidKey};
pub use monitoring::{Line, LineStatus, MonitoringStatus};
pub use pace::{CallTime, CallTimes};
pub use token::{Assignment, ModelRef, TokenError, WorkerClaims, worker_token};
pub use v1::{
    BookedBy, Group, ModelSecret, RegionFilter, Requirement, RequirementKind, Service, SpawnInfo, V1, V1Job,
    V1Model, VirtualMachine,
};
pub use v2::{InfoLevel, InvalidModelPath, JobDetail, ModelPath, RunJob, RunsOn, V2, V2Model, V2ModelSpec};
pub use validity::{v1_token_end, v2_token_end};
pub use worker::{Cdn, Worker, WorkerStatus};
