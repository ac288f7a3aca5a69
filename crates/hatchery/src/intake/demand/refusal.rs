//! Why a job is not run.

use super::RequirementKind;

/// Why a job is not run, in words for its user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody works on it, or it is over.
    #[error("the job does not wait for a worker: it is {status}")]
    NotWaiting {
        /// Its status.
        status: String,
    },
    /// Another hatchery has it.
    #[error("the job is booked by another hatchery")]
    Booked,
    /// It is for another region.
    #[error("the job is for region {wanted:?}, and this hatchery is of {own:?}")]
    WrongRegion {
        /// The job's.
        wanted: String,
        /// Ours.
        own: String,
    },
    /// It is for any region, and such jobs are not taken.
    #[error("the job names no region, and this hatchery takes only jobs that do")]
    NoRegion,
    /// It needs what VMs cannot give.
    #[error("workers in VMs cannot honour a requirement of type {}", kind.as_str())]
    Requirement {
        /// Of which type.
        kind: RequirementKind,
    },
    /// It has services, which need containers.
    #[error("workers in VMs cannot start the job's services ({})", services.join(", "))]
    Services {
        /// Their names.
        services: Vec<String>,
    },
    /// It asks for memory, which VMs get by flavor.
    #[error("workers in VMs cannot be given the memory of runs-on ({memory}): name a flavor instead")]
    Memory {
        /// How much.
        memory: String,
    },
    /// A V2 job without a model.
    #[error("the job names no worker model")]
    NoModel,
    /// A path to a model that leads nowhere.
    #[error("{given:?} is no worker model: PROJECT/vcs/organisation/repository/model[@branch] is expected")]
    ModelReference {
        /// The path.
        given: String,
    },
    /// A model in a repository, and no session that may read it.
    #[error("worker model {given} lies in a repository, and this hatchery has no V2 session to read it with")]
    NoV2Session {
        /// The model.
        given: String,
    },
    /// There is no model for it.
    #[error("no worker model of this hatchery fits the job")]
    NoModelFits,
    /// The model could not be read.
    #[error("worker model {model} could not be read: {reason}")]
    ModelUnreadable {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// The job names another model.
    #[error("the job asks for worker model {wanted}")]
    OtherModel {
        /// Which.
        wanted: String,
    },
    /// A model of another hatchery.
    #[error("worker model {model} is of type {model_type:?}, and this hatchery runs vsphere")]
    ModelType {
        /// The model.
        model: String,
        /// Its type.
        model_type: String,
    },
    /// A model for another system.
    #[error("worker model {model} is for {os_arch:?}, and {wanted} is wanted")]
    OsArch {
        /// The model.
        model: String,
        /// What it is for.
        os_arch: String,
        /// What is wanted.
        wanted: String,
    },
    /// A model that must be registered first.
    #[error("worker model {model} is not registered yet")]
    NeedsRegistration {
        /// The model.
        model: String,
    },
    /// A model that could not be started too often.
    #[error("worker model {model} could not be started {errors} times: correct it, then reset its errors")]
    SpawnErrors {
        /// The model.
        model: String,
        /// How often.
        errors: i64,
    },
    /// A model of a group that may not run the job.
    #[error("the group of worker model {model} may not run the job")]
    Group {
        /// The model.
        model: String,
    },
    /// A model that is used only where it is named.
    #[error("worker model {model} is deprecated and the job does not name it")]
    Deprecated {
        /// The model.
        model: String,
    },
    /// A program that a model has not got.
    #[error("worker model {model} has no {binary}")]
    Binary {
        /// The model.
        model: String,
        /// The program.
        binary: String,
    },
    /// A model that runs nothing.
    #[error("worker model {model} has no command")]
    NoCommand {
        /// The model.
        model: String,
    },
    /// A model whose template is not there.
    #[error("worker model {model} is made from template {template}, which is not in vSphere")]
    TemplateMissing {
        /// The model.
        model: String,
        /// The template.
        template: String,
    },
    /// A size that the settings do not know.
    #[error("this hatchery has no flavor {flavor:?}; it has {}", known.join(", "))]
    UnknownFlavor {
        /// The flavor.
        flavor: String,
        /// Those that there are.
        known: Vec<String>,
    },
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
            Self::ModelReference { .. } => "model_reference",
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
            Self::TemplateMissing { .. } => "template_missing",
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
            | Self::ModelReference { .. }
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
            | Self::NoCommand { .. }
            | Self::TemplateMissing { .. } => false,
        }
    }
}
