//! From a job of CDS to a demand: which model it runs on, or why it cannot be run. Pure: what is missing is named, and
//! read by somebody else.

use std::sync::Arc;

use jiff::Timestamp;
use rookery_cds::{JobDetail, JobId, ModelPath, RequirementKind, V1Job, V1Model, V2Model};
use rookery_fleet::expiring::Expiring;

use super::demand::{
    Refusal, Rules, V1Choice, decide_v1, decide_v2, fetched_model_fits, first_fitting, v1_names_our_model,
    v1_reference, v2_names_our_model, values,
};
use super::model::ResolvedModel;
use super::queue::QueuedJob;

/// A job that waits, with the model that it runs on.
#[derive(Debug, Clone)]
pub struct Demand {
    pub job: JobId,
    pub queued: Option<Timestamp>,
    /// Whose it is: projects with few jobs go first.
    pub project: String,
    /// What it runs on, or why it cannot.
    pub model: Result<Arc<ResolvedModel>, Refusal>,
    /// Whether it names a model of this hatchery. A V1 job without a model is offered to every hatchery.
    pub names_our_model: bool,
}

/// What has been read of models in repositories, or why it could not be.
pub type Fetched = Expiring<ModelPath, Result<V2Model, String>>;

#[derive(Debug)]
enum Unresolved {
    Refused(Refusal),
    /// This one has to be read first.
    Unread(ModelPath),
}

impl From<Refusal> for Unresolved {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a job asks for, or the model that has to be read before that can be said.
pub fn resolve(
    job: &JobId,
    told: &QueuedJob,
    rules: &Rules,
    models: &[V1Model],
    fetched: &Fetched,
) -> Result<Demand, ModelPath> {
    let found = match told {
        QueuedJob::V1(v1) => v1_model(v1, rules, models, fetched),
        QueuedJob::V2(detail) => v2_model(detail, rules).map_err(Unresolved::Refused),
    };
    let model = match found {
        Ok(model) => Ok(Arc::new(model)),
        Err(Unresolved::Unread(path)) => return Err(path),
        Err(Unresolved::Refused(refusal)) => Err(refusal),
    };
    let names_our_model = names_our_model(told, rules, models, fetched);
    Ok(Demand { job: job.clone(), queued: told.queued(), project: told.project(), model, names_our_model })
}

/// Whether a job names a model of this hatchery. Of a model that could not be read nobody knows whose it is.
fn names_our_model(told: &QueuedJob, rules: &Rules, models: &[V1Model], fetched: &Fetched) -> bool {
    let is_ours = |model: &V2Model| v2_names_our_model(model, rules);
    match told {
        QueuedJob::V1(v1) => {
            let is_ours = |path: &ModelPath| matches!(fetched.get(path), Some(Ok(model)) if is_ours(model));
            v1_names_our_model(v1, models, &is_ours)
        }
        QueuedJob::V2(detail) => detail.model.as_ref().is_some_and(is_ours),
    }
}

fn v1_model(
    job: &V1Job,
    rules: &Rules,
    models: &[V1Model],
    fetched: &Fetched,
) -> Result<ResolvedModel, Unresolved> {
    let found = fitting_model(job, rules, models, fetched);
    // Whose the job is decides whether its user is told, and that its model says.
    if let Err(Unresolved::Refused(refusal)) = &found
        && !refusal.is_of_others()
        && rules.reads_v2_models
        && let Some(named) = v1_reference(job).filter(|named| !fetched.contains(named))
    {
        return Err(Unresolved::Unread(named));
    }
    found
}

fn fitting_model(
    job: &V1Job,
    rules: &Rules,
    models: &[V1Model],
    fetched: &Fetched,
) -> Result<ResolvedModel, Unresolved> {
    let flavor = values(job, &RequirementKind::Flavor).find(|flavor| !flavor.is_empty());
    let flavor = flavor.unwrap_or_default().to_owned();
    let path = match decide_v1(job, models, rules)? {
        V1Choice::Model(model) => return Ok(ResolvedModel::v1(model, flavor)),
        V1Choice::None(reasons) => return Err(closest(reasons).into()),
        V1Choice::InRepository(path) => path,
    };
    match fetched.get(&path) {
        None => Err(Unresolved::Unread(path)),
        Some(Ok(model)) => {
            fetched_model_fits(job, model)?;
            Ok(ResolvedModel::v2(model, String::new(), flavor))
        }
        Some(Err(reason)) => {
            // A default that cannot be read leaves the job to the V1 models; a model that it names does not.
            let is_named = values(job, &RequirementKind::Model).next().is_some();
            let models = if is_named { &[] } else { models };
            let unreadable = || Refusal::ModelUnreadable { model: path.to_string(), reason: reason.clone() };
            let fitting = first_fitting(job, models, &mut Vec::new()).ok_or_else(unreadable)?;
            Ok(ResolvedModel::v1(fitting, flavor))
        }
    }
}

/// Why the only model that comes into question does not do. Of several, nobody knows which one was meant.
fn closest(reasons: Vec<(String, Refusal)>) -> Refusal {
    let other = |refusal: &Refusal| matches!(refusal, Refusal::OtherModel { .. } | Refusal::ModelType { .. });
    let mut meant = reasons.into_iter().map(|(_, refusal)| refusal).filter(|refusal| !other(refusal));
    match (meant.next(), meant.next()) {
        (Some(only), None) => only,
        (Some(_) | None, _) => Refusal::NoModelFits,
    }
}

fn v2_model(detail: &JobDetail, rules: &Rules) -> Result<ResolvedModel, Refusal> {
    let model = detail.model.as_ref().ok_or(Refusal::NoModel)?;
    decide_v2(&detail.job, model, rules)?;
    Ok(ResolvedModel::v2(model, detail.job.runs_on().flavor.clone(), String::new()))
}
