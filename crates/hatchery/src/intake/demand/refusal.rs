//! Why a job is not run.

use rookery_cds::{InvalidModelPath, JobStatus, RequirementKind};

/// Why a job is not run, in words for its user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody works on it, or it is over.
    #[error("the job does not wait for a worker: it is {status}")]
    NotWaiting { status: JobStatus },
    #[error("the job is booked by another hatchery")]
    Booked,
    #[error("the job is for region {wanted:?}, and this hatchery is of {own:?}")]
    WrongRegion { wanted: String, own: String },
    #[error("the job names no region, and this hatchery takes only jobs that do")]
    NoRegion,
    /// It needs what VMs cannot give.
    #[error("workers in VMs cannot honour a requirement of type {kind}")]
    Requirement { kind: RequirementKind },
    /// It has services, which need containers.
    #[error("workers in VMs cannot start the job's services ({})", services.join(", "))]
    Services { services: Vec<String> },
    /// It asks for memory, which VMs get by flavor.
    #[error("workers in VMs cannot be given the memory of runs-on ({memory}): name a flavor instead")]
    Memory { memory: String },
    #[error("the job names no worker model")]
    NoModel,
    #[error(transparent)]
    ModelReference(#[from] InvalidModelPath),
    #[error(
        "worker model {given} lies in a repository, and this hatchery has no token for V2 jobs to read it with"
    )]
    NoV2Session { given: String },
    #[error("no worker model of this hatchery fits the job")]
    NoModelFits,
    #[error("worker model {model} could not be read: {reason}")]
    ModelUnreadable { model: String, reason: String },
    #[error("the job asks for worker model {wanted}")]
    OtherModel { wanted: String },
    #[error("worker model {model} is of type {model_type:?}, and this hatchery runs vsphere")]
    ModelType { model: String, model_type: String },
    #[error("worker model {model} is for {os_arch:?}, and {wanted} is wanted")]
    OsArch { model: String, os_arch: String, wanted: String },
    #[error("worker model {model} is not registered yet")]
    NeedsRegistration { model: String },
    #[error("worker model {model} could not be started {errors} times: correct it, then reset its errors")]
    SpawnErrors { model: String, errors: i64 },
    #[error("the group of worker model {model} may not run the job")]
    Group { model: String },
    #[error("worker model {model} is deprecated and the job does not name it")]
    Deprecated { model: String },
    #[error("worker model {model} has no {binary}")]
    Binary { model: String, binary: String },
    #[error("worker model {model} has no command")]
    NoCommand { model: String },
    #[error("this hatchery has no flavor {flavor:?}; it has {}", known.join(", "))]
    UnknownFlavor { flavor: String, known: Vec<String> },
}

impl Refusal {
    /// A short name, for metrics and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotWaiting { .. } => "not_waiting",
            Self::Booked => "booked",
            Self::WrongRegion { .. } => "wrong_region",
            Self::NoRegion => "no_region",
            Self::Requirement { .. } => "unsupported_requirement",
            Self::Services { .. } => "services",
            Self::Memory { .. } => "memory",
            Self::NoModel => "no_model",
            Self::ModelReference(_) => "model_reference",
            Self::NoV2Session { .. } => "no_v2_session",
            Self::NoModelFits => "no_model_fits",
            Self::ModelUnreadable { .. } => "model_unreadable",
            Self::OtherModel { .. } => "other_model",
            Self::ModelType { .. } => "model_type",
            Self::OsArch { .. } => "os_arch",
            Self::NeedsRegistration { .. } => "needs_registration",
            Self::SpawnErrors { .. } => "spawn_errors",
            Self::Group { .. } => "group",
            Self::Deprecated { .. } => "deprecated",
            Self::Binary { .. } => "binary",
            Self::NoCommand { .. } => "no_command",
            Self::UnknownFlavor { .. } => "unknown_flavor",
        }
    }

    /// Whether the job is for others, so that its users need not hear of us.
    pub fn is_of_others(&self) -> bool {
        matches!(
            self,
            Self::NotWaiting { .. }
                | Self::Booked
                | Self::WrongRegion { .. }
                | Self::NoRegion
                | Self::ModelType { .. }
        )
    }

    /// Whether it follows from the job and the settings alone, so that looking again changes nothing. Models and
    /// templates change by themselves, bookings end, and a job may wait again.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::WrongRegion { .. }
            | Self::NoRegion
            | Self::Requirement { .. }
            | Self::Services { .. }
            | Self::Memory { .. }
            | Self::NoModel
            | Self::ModelReference(_)
            | Self::NoV2Session { .. }
            | Self::UnknownFlavor { .. } => true,
            Self::NotWaiting { .. }
            | Self::Booked
            | Self::NoModelFits
            | Self::ModelUnreadable { .. }
            | Self::OtherModel { .. }
            | Self::ModelType { .. }
            | Self::OsArch { .. }
            | Self::NeedsRegistration { .. }
            | Self::SpawnErrors { .. }
            | Self::Group { .. }
            | Self::Deprecated { .. }
            | Self::Binary { .. }
            | Self::NoCommand { .. } => false,
        }
    }
}
