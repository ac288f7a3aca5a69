//! From a job of CDS to a demand: which model it runs on, or why it cannot be run. Pure: what is missing is named, and
//! read by somebody else.

use std::collections::BTreeMap;
use std::sync::Arc;

use rookery_cds::{JobDetail, JobId, JobStatus, RequirementKind, V1Job, V1Model, V2Model};

use crate::intake::demand::{
    self, AsCodeRef, Refusal, Requirement, Rules, V1Choice, decide_v1, decide_v2, fetched_model_fits,
    v1_names_our_model, v1_reference, v2_names_our_model,
};
use crate::intake::model::Runs;
use crate::plan::Demand;

/// What CDS tells of a job.
#[derive(Debug, Clone)]
pub enum Known {
    /// A V1 job.
    V1(Box<V1Job>),
    /// A V2 job with its model.
    V2(Box<JobDetail>),
}

/// What has been read of models in repositories, or why it could not be.
pub type Fetched = BTreeMap<AsCodeRef, Result<V2Model, String>>;

/// What came of looking at a job.
#[derive(Debug)]
pub enum Resolved {
    /// It can be planned for.
    Demand(Demand),
    /// A model has to be read first.
    Fetch(AsCodeRef),
}

/// Looks at a job. `models` is the list of V1 models, the same in both forms.
pub fn resolve(
    job: &JobId,
    known: &Known,
    rules: &Rules,
    models: &[V1Model],
    short: &[demand::V1Model],
    fetched: &Fetched,
) -> Resolved {
    let (queued, project) = match known {
        Known::V1(v1) => (v1.queued, v1.project_id.to_string()),
        Known::V2(detail) => (detail.job.queued, detail.job.project_key.clone()),
    };
    let runs = match known {
        Known::V1(v1) => match v1_runs(v1, rules, models, short, fetched) {
            Ok(Ok(runs)) => Ok(runs),
            Ok(Err(fetch)) => return Resolved::Fetch(fetch),
            Err(refusal) => {
                // Whose the job is decides whether its user is told, and that its model says.
                let named = v1_reference(&short_job(v1)).filter(|named| !fetched.contains_key(named));
                let asked = named.filter(|_| rules.reads_v2_models && !refusal.is_of_others());
                match asked {
                    Some(named) => return Resolved::Fetch(named),
                    None => Err(refusal),
                }
            }
        },
        Known::V2(detail) => v2_runs(detail, rules),
    };
    let names_our_model = names_our_model(known, rules, short, fetched);
    Resolved::Demand(Demand { job: job.clone(), queued, project, runs: runs.map(Arc::new), names_our_model })
}

/// Whether a job names a model of this hatchery. Of a model that could not be read nobody knows whose it is.
fn names_our_model(known: &Known, rules: &Rules, short: &[demand::V1Model], fetched: &Fetched) -> bool {
    let is_ours = |model: &V2Model| v2_names_our_model(&short_v2(model), rules);
    match known {
        Known::V1(v1) => {
            let is_ours = |reference: &AsCodeRef| match fetched.get(reference) {
                Some(Ok(model)) => is_ours(model),
                Some(Err(_)) | None => false,
            };
            v1_names_our_model(&short_job(v1), short, &is_ours)
        }
        Known::V2(detail) => detail.model.as_ref().is_some_and(is_ours),
    }
}

fn v1_runs(
    v1: &V1Job,
    rules: &Rules,
    models: &[V1Model],
    short: &[demand::V1Model],
    fetched: &Fetched,
) -> Result<Result<Runs, AsCodeRef>, Refusal> {
    let job = short_job(v1);
    let size = requirement(&job, &demand::RequirementKind::Flavor);
    let (choice, reference) = match decide_v1(&job, short, rules)? {
        V1Choice::AsCode(reference) => match fetched.get(&reference) {
            None => return Ok(Err(reference)),
            Some(Ok(model)) => {
                fetched_model_fits(&job, &short_v2(model))?;
                return Ok(Ok(Runs::v2(model, String::new(), size)));
            }
            // A default that cannot be read leaves the job to the V1 models; a model that it names does not.
            Some(Err(reason)) if requires_model(&job) => {
                return Err(Refusal::ModelUnreadable {
                    model: reference.to_string(),
                    reason: reason.clone(),
                });
            }
            Some(Err(reason)) => {
                let rules = Rules { default_models: Vec::new(), ..rules.clone() };
                (decide_v1(&job, short, &rules)?, Some((reference, reason)))
            }
        },
        choice @ (V1Choice::Model(_) | V1Choice::None(_)) => (choice, None),
    };
    match (choice, reference) {
        (V1Choice::Model(place), _) => match models.get(place) {
            Some(model) => Ok(Ok(Runs::v1(model, size))),
            None => Err(Refusal::NoModelFits),
        },
        (V1Choice::AsCode(reference), _) => Ok(Err(reference)),
        (V1Choice::None(_), Some((reference, reason))) => {
            Err(Refusal::ModelUnreadable { model: reference.to_string(), reason: reason.clone() })
        }
        (V1Choice::None(reasons), None) => Err(closest(reasons)),
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

fn v2_runs(detail: &JobDetail, rules: &Rules) -> Result<Runs, Refusal> {
    let runs_on = detail.job.runs_on();
    let job = demand::V2Job {
        status: status(&detail.job.status),
        model: runs_on.model.clone(),
        memory: runs_on.memory.clone(),
        services: detail.job.services().map(str::to_owned).collect(),
    };
    let model = detail.model.as_ref().ok_or(Refusal::NoModel)?;
    decide_v2(&job, &short_v2(model), rules)?;
    Ok(Runs::v2(model, runs_on.flavor.clone(), String::new()))
}

/// The models as the rules look at them.
pub fn short_models(models: &[V1Model]) -> Vec<demand::V1Model> {
    models.iter().map(short_model).collect()
}

fn short_model(model: &V1Model) -> demand::V1Model {
    let capability = |one: &rookery_cds::Requirement| demand::Capability {
        name: one.name.clone(),
        value: one.value.clone(),
    };
    demand::V1Model {
        name: model.name.clone(),
        group: model.group.name.clone(),
        group_id: model.group.id,
        model_type: model.kind.clone(),
        needs_registration: model.need_registration,
        spawn_errors: model.nb_spawn_err,
        deprecated: model.is_deprecated,
        os: model.registered_os.clone(),
        arch: model.registered_arch.clone(),
        capabilities: model.registered_capabilities.iter().map(capability).collect(),
        cmd: model.model_virtual_machine.cmd.clone(),
    }
}

fn short_v2(model: &V2Model) -> demand::V2Model {
    demand::V2Model {
        name: model.name.clone(),
        model_type: model.kind.clone(),
        os_arch: model.osarch.clone(),
    }
}

fn short_job(job: &V1Job) -> demand::V1Job {
    let requirement =
        |one: &rookery_cds::Requirement| Requirement { kind: kind(&one.kind), value: one.value.clone() };
    demand::V1Job {
        status: status(&job.status),
        booked_by: job.booked_by.id,
        exec_groups: job.exec_groups.iter().map(|group| group.id).collect(),
        requirements: job.requirements().iter().map(requirement).collect(),
    }
}

fn kind(kind: &RequirementKind) -> demand::RequirementKind {
    match kind {
        RequirementKind::Binary => demand::RequirementKind::Binary,
        RequirementKind::Model => demand::RequirementKind::Model,
        RequirementKind::Hostname => demand::RequirementKind::Hostname,
        RequirementKind::Plugin => demand::RequirementKind::Plugin,
        RequirementKind::Service => demand::RequirementKind::Service,
        RequirementKind::Memory => demand::RequirementKind::Memory,
        RequirementKind::OsArchitecture => demand::RequirementKind::OsArchitecture,
        RequirementKind::Region => demand::RequirementKind::Region,
        RequirementKind::Secret => demand::RequirementKind::Secret,
        RequirementKind::Flavor => demand::RequirementKind::Flavor,
        RequirementKind::Other(other) => demand::RequirementKind::Other(other.clone()),
    }
}

fn status(status: &JobStatus) -> String {
    if let JobStatus::Other(other) = status { other.clone() } else { format!("{status:?}") }
}

fn requirement(job: &demand::V1Job, kind: &demand::RequirementKind) -> String {
    let mut of_kind = job.requirements.iter().filter(|one| one.kind == *kind && !one.value.is_empty());
    of_kind.next().map(|one| one.value.clone()).unwrap_or_default()
}

fn requires_model(job: &demand::V1Job) -> bool {
    job.requirements.iter().any(|one| one.kind == demand::RequirementKind::Model)
}
