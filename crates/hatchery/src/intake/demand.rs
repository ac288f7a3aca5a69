//! Which jobs this hatchery can run, and on which model. Pure: what the jobs and models are is told, and whether there
//! is room for another worker is not asked here.
//!
//! Why a job is not taken is an answer, too: [`Refusal`] is the same for its user, for the log and for the metrics.

mod reference;
mod refusal;
mod v1;
mod v2;

pub use reference::AsCodeRef;
pub use refusal::Refusal;
pub use v1::{V1Choice, can_spawn, decide_v1, fetched_model_fits, v1_names_our_model, v1_reference};
pub use v2::{decide_v2, v2_names_our_model};

/// The only type of model that this hatchery runs.
pub const MODEL_TYPE: &str = "vsphere";

/// What the settings say about which jobs are taken.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// `provision.region`, for V1 jobs.
    pub region: String,
    /// `provision.ignoreJobWithNoRegion`.
    pub ignore_job_with_no_region: bool,
    /// `osArch`: what V2 models may be for.
    pub os_arch: Vec<String>,
    /// `defaultWorkerModelsV2`.
    pub default_models: Vec<DefaultModel>,
    /// Whether there is a V2 session, by which models in repositories are read.
    pub reads_v2_models: bool,
}

/// A V2 model for V1 jobs that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModel {
    /// Where it is.
    pub model: String,
    /// What is installed there.
    pub binaries: Vec<String>,
}

/// What a V1 job needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Of which type.
    pub kind: RequirementKind,
    /// What exactly.
    pub value: String,
}

/// The types of requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequirementKind {
    /// A program.
    Binary,
    /// A worker model.
    Model,
    /// A machine.
    Hostname,
    /// A plugin, which workers fetch.
    Plugin,
    /// A container beside the worker.
    Service,
    /// An amount of memory.
    Memory,
    /// A system and an architecture.
    OsArchitecture,
    /// A region.
    Region,
    /// A secret, which workers fetch.
    Secret,
    /// A size of VM.
    Flavor,
    /// What CDS had not got when this was written.
    Other(String),
}

impl From<&str> for RequirementKind {
    fn from(text: &str) -> Self {
        match text {
            "binary" => Self::Binary,
            "model" => Self::Model,
            "hostname" => Self::Hostname,
            "plugin" => Self::Plugin,
            "service" => Self::Service,
            "memory" => Self::Memory,
            "os-architecture" => Self::OsArchitecture,
            "region" => Self::Region,
            "secret" => Self::Secret,
            "flavor" => Self::Flavor,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl RequirementKind {
    /// As CDS writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Binary => "binary",
            Self::Model => "model",
            Self::Hostname => "hostname",
            Self::Plugin => "plugin",
            Self::Service => "service",
            Self::Memory => "memory",
            Self::OsArchitecture => "os-architecture",
            Self::Region => "region",
            Self::Secret => "secret",
            Self::Flavor => "flavor",
            Self::Other(other) => other,
        }
    }
}

/// A V1 job.
#[derive(Debug, Clone)]
pub struct V1Job {
    /// Its status, as CDS writes it.
    pub status: String,
    /// The service that has booked it; 0 if none has.
    pub booked_by: i64,
    /// The groups that may run it, by id; all if there are none.
    pub exec_groups: Vec<i64>,
    /// What it needs.
    pub requirements: Vec<Requirement>,
}

/// A V1 model.
#[derive(Debug, Clone)]
pub struct V1Model {
    /// Its name.
    pub name: String,
    /// Its group's name.
    pub group: String,
    /// Its group's id.
    pub group_id: i64,
    /// Its type.
    pub model_type: String,
    /// Whether the API wants it registered first.
    pub needs_registration: bool,
    /// How often it could not be started in a row.
    pub spawn_errors: i64,
    /// Whether only jobs that name it may use it.
    pub deprecated: bool,
    /// The system that it was registered with, if known.
    pub os: Option<String>,
    /// The architecture that it was registered with, if known.
    pub arch: Option<String>,
    /// What it can do.
    pub capabilities: Vec<Capability>,
    /// Its command.
    pub cmd: String,
}

impl V1Model {
    /// `group/name`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }
}

/// Something that a V1 model can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub value: String,
}

/// A V2 job.
#[derive(Debug, Clone)]
pub struct V2Job {
    /// Its status, as CDS writes it.
    pub status: String,
    /// `runs-on.model`, or `runs-on` where it is a text.
    pub model: String,
    /// `runs-on.memory`.
    pub memory: String,
    /// The names of its services.
    pub services: Vec<String>,
}

/// A V2 model.
#[derive(Debug, Clone)]
pub struct V2Model {
    /// Its name.
    pub name: String,
    /// Its type.
    pub model_type: String,
    /// What it is for, such as `linux/amd64`.
    pub os_arch: String,
}

/// The status of a job that nobody works on.
const WAITING: &str = "Waiting";

fn is_waiting(status: &str) -> Result<(), Refusal> {
    if status == WAITING { Ok(()) } else { Err(Refusal::NotWaiting { status: status.to_owned() }) }
}

fn runs_here(model_type: &str) -> bool {
    model_type == MODEL_TYPE
}

fn is_our_type(model: &str, model_type: &str) -> Result<(), Refusal> {
    if runs_here(model_type) {
        return Ok(());
    }
    Err(Refusal::ModelType { model: model.to_owned(), model_type: model_type.to_owned() })
}

#[cfg(test)]
mod tests;
