//! The worker model that a job runs on, whichever protocol it is of.

use crate::names::ModelKind;
use crate::plan::flavor::FlavorSources;
use rookery_cds::{V1Model, V2Model};

/// The worker model that a job runs on, and the flavors that the job asks for.
#[derive(Debug, Clone)]
pub struct ResolvedModel {
    pub source: ModelSource,
    /// The flavor in `runs-on` of a V2 job; empty: none.
    pub runs_on: String,
    /// The flavor that a V1 job requires; empty: none.
    pub requirement: String,
}

/// A model as CDS tells it.
#[derive(Debug, Clone)]
pub enum ModelSource {
    /// One of the API's own models.
    V1(Box<V1Model>),
    /// A model in a repository.
    V2(Box<V2Model>),
}

impl ResolvedModel {
    /// A V1 model, for a job that requires this flavor.
    pub fn v1(model: &V1Model, requirement: String) -> Self {
        Self { source: ModelSource::V1(Box::new(model.clone())), runs_on: String::new(), requirement }
    }

    /// A V2 model, for a job that asks for these flavors.
    pub fn v2(model: &V2Model, runs_on: String, requirement: String) -> Self {
        Self { source: ModelSource::V2(Box::new(model.clone())), runs_on, requirement }
    }

    pub fn kind(&self) -> ModelKind {
        match self.source {
            ModelSource::V1(_) => ModelKind::V1,
            ModelSource::V2(_) => ModelKind::V2,
        }
    }

    /// What marks call it: the path of a V1 model, the template of a V2 model.
    pub fn path(&self) -> String {
        match &self.source {
            ModelSource::V1(model) => model.path(),
            ModelSource::V2(model) => model.spec.image.clone(),
        }
    }

    /// What people call it.
    pub fn label(&self) -> String {
        match &self.source {
            ModelSource::V1(model) => model.display_path(),
            ModelSource::V2(model) => model.name.clone(),
        }
    }

    /// What tells it from others: several V2 models may be cloned from one template.
    pub fn identity(&self) -> String {
        match &self.source {
            ModelSource::V1(model) => model.path(),
            ModelSource::V2(_) => self.label(),
        }
    }

    /// The name of the machine to clone.
    pub fn template(&self) -> &str {
        match &self.source {
            ModelSource::V1(model) => &model.name,
            ModelSource::V2(model) => &model.spec.image,
        }
    }

    /// When the V1 model was changed last, as marks say it; empty for V2 models.
    pub fn last_modified(&self) -> String {
        match &self.source {
            ModelSource::V1(model) => last_modified(model),
            ModelSource::V2(_) => String::new(),
        }
    }

    /// Who asks for which flavor.
    pub fn flavors(&self) -> FlavorSources<'_> {
        let (v1_model, spec) = match &self.source {
            ModelSource::V1(model) => (Some(model.model_virtual_machine.flavor.as_str()), None),
            ModelSource::V2(model) => (None, model.spec.flavor.as_deref()),
        };
        FlavorSources { runs_on: Some(&self.runs_on), spec, v1_model, requirement: Some(&self.requirement) }
    }
}

/// When a V1 model was changed last, as marks say it.
pub fn last_modified(model: &V1Model) -> String {
    model.user_last_modified.map(|time| time.as_second().to_string()).unwrap_or_default()
}
