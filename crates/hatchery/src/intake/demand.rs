//! Which jobs this hatchery can run, and on which model. Pure: what the jobs and models are is told, and whether there
//! is room for another worker is not asked here.
//!
//! Why a job is not taken is an answer, too: [`Refusal`] is the same for its user, for the log and for the metrics.

mod refusal;
mod v1;
mod v2;

use rookery_cds::{JobStatus, MODEL_TYPE};

pub use refusal::Refusal;
pub(super) use v1::values;
pub use v1::{V1Choice, decide_v1, fetched_model_fits, first_fitting, v1_names_our_model, v1_reference};
pub use v2::{decide_v2, v2_names_our_model};

/// What the settings say about which jobs are taken.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// `provision.region`, for V1 jobs.
    pub region: String,
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
    /// Its path, as in the settings.
    pub model: String,
    pub binaries: Vec<String>,
}

fn is_waiting(status: &JobStatus) -> Result<(), Refusal> {
    if *status == JobStatus::Waiting { Ok(()) } else { Err(Refusal::NotWaiting { status: status.clone() }) }
}

fn is_our_type(model: &str, model_type: &str) -> Result<(), Refusal> {
    if model_type == MODEL_TYPE {
        return Ok(());
    }
    Err(Refusal::ModelType { model: model.to_owned(), model_type: model_type.to_owned() })
}

#[cfg(test)]
mod tests;
