//! V1 jobs: a model in a repository that the job names, the default for jobs that name none, or the first of the API's
//! own models that fits.

use super::reference::first_word;
use super::{
    AsCodeRef, Refusal, Requirement, RequirementKind, Rules, V1Job, V1Model, V2Model, is_our_type,
    is_waiting, runs_here,
};

/// A model that failed more often in a row is not tried.
const SPAWN_ERRORS: i64 = 5;

/// What a V1 job is run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V1Choice {
    /// The model at this place of the list.
    Model(usize),
    /// A V2 model, to be read and looked at with [`fetched_model_fits`].
    AsCode(AsCodeRef),
    /// None of the models, each for its reason.
    None(Vec<(String, Refusal)>),
}

/// Chooses the model of a V1 job; models are tried in their order.
pub fn decide_v1(job: &V1Job, models: &[V1Model], rules: &Rules) -> Result<V1Choice, Refusal> {
    is_waiting(&job.status)?;
    if job.booked_by != 0 {
        return Err(Refusal::Booked);
    }
    check_region(job, rules)?;
    check_requirements(&job.requirements)?;
    for required in values(job, &RequirementKind::Model) {
        match AsCodeRef::required(required)? {
            Some(_) if !rules.reads_v2_models => {
                return Err(Refusal::NoV2Session { given: first_word(required).to_owned() });
            }
            Some(model) => return Ok(V1Choice::AsCode(model)),
            None => {}
        }
    }
    let mut reasons = Vec::new();
    if let Some(default) = default_model(job, rules) {
        match AsCodeRef::parse(default) {
            Ok(model) => return Ok(V1Choice::AsCode(model)),
            Err(refusal) => reasons.push((default.to_owned(), refusal)),
        }
    }
    for (place, model) in models.iter().enumerate() {
        match can_run(job, model) {
            Ok(()) => return Ok(V1Choice::Model(place)),
            Err(refusal) => reasons.push((model.path(), refusal)),
        }
    }
    Ok(V1Choice::None(reasons))
}

/// Whether a V1 job names a model of this hatchery: one of the API's own, or one in a repository that was read.
pub fn v1_names_our_model(job: &V1Job, models: &[V1Model], is_ours: &dyn Fn(&AsCodeRef) -> bool) -> bool {
    values(job, &RequirementKind::Model).any(|required| match AsCodeRef::required(required) {
        Ok(Some(reference)) => is_ours(&reference),
        Ok(None) => {
            models.iter().any(|model| runs_here(&model.model_type) && is(model, first_word(required)))
        }
        Err(_) => false,
    })
}

/// The model in a repository that a V1 job names.
pub fn v1_reference(job: &V1Job) -> Option<AsCodeRef> {
    values(job, &RequirementKind::Model).find_map(|required| AsCodeRef::required(required).ok().flatten())
}

/// The default model of a job that names none: the first, or where it needs programs the first that has one of them.
fn default_model<'r>(job: &V1Job, rules: &'r Rules) -> Option<&'r str> {
    if !rules.reads_v2_models || requires(job, &RequirementKind::Model) {
        return None;
    }
    let has_one = |installed: &[String]| {
        values(job, &RequirementKind::Binary).any(|wanted| installed.iter().any(|binary| binary == wanted))
    };
    let needs_programs = requires(job, &RequirementKind::Binary);
    let fitting = rules.default_models.iter().find(|default| !needs_programs || has_one(&default.binaries));
    fitting.map(|default| default.model.as_str())
}

/// Whether a V2 model that was read for a V1 job can run it.
pub fn fetched_model_fits(job: &V1Job, model: &V2Model) -> Result<(), Refusal> {
    is_our_type(&model.name, &model.model_type)?;
    check_requirements(&job.requirements)?;
    check_os_arch(job, &model.name, &model.os_arch)
}

/// Whether a worker of one of the API's own models can be started with these requirements; to register one, with none.
pub fn can_spawn(model: &V1Model, requirements: &[Requirement]) -> Result<(), Refusal> {
    is_our_type(&model.path(), &model.model_type)?;
    check_requirements(requirements)?;
    if model.spawn_errors > SPAWN_ERRORS {
        return Err(Refusal::SpawnErrors { model: model.path(), errors: model.spawn_errors });
    }
    if model.cmd.trim().is_empty() {
        return Err(Refusal::NoCommand { model: model.path() });
    }
    Ok(())
}

/// Whether a job of our region can be run on one of the API's own models.
fn can_run(job: &V1Job, model: &V1Model) -> Result<(), Refusal> {
    let path = model.path();
    let names_a_model = requires(job, &RequirementKind::Model);
    // First: what is wrong with a model that nobody asked for explains nothing.
    if let Some(other) =
        values(job, &RequirementKind::Model).map(first_word).find(|wanted| !is(model, wanted))
    {
        return Err(Refusal::OtherModel { wanted: other.to_owned() });
    }
    can_spawn(model, &job.requirements)?;
    if model.needs_registration {
        return Err(Refusal::NeedsRegistration { model: path });
    }
    if !job.exec_groups.is_empty() && !job.exec_groups.contains(&model.group_id) {
        return Err(Refusal::Group { model: path });
    }
    if model.deprecated && !names_a_model {
        return Err(Refusal::Deprecated { model: path });
    }
    if let (Some(os), Some(arch)) = (known(model.os.as_ref()), known(model.arch.as_ref())) {
        check_os_arch(job, &path, &format!("{os}/{arch}"))?;
    }
    // Who names a model answers for what is installed there.
    if !names_a_model
        && let Some(missing) = values(job, &RequirementKind::Binary).find(|binary| !has(model, binary))
    {
        return Err(Refusal::Binary { model: path, binary: missing.to_owned() });
    }
    Ok(())
}

fn is(model: &V1Model, wanted: &str) -> bool {
    // Without its group a model of another one is meant as well: jobs of former versions say no more.
    wanted == model.path() || wanted == model.name
}

fn has(model: &V1Model, binary: &str) -> bool {
    model.capabilities.iter().any(|capability| capability.value == binary || capability.name == binary)
}

fn known(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

fn values<'j>(job: &'j V1Job, kind: &'j RequirementKind) -> impl Iterator<Item = &'j str> {
    job.requirements.iter().filter(move |one| one.kind == *kind).map(|one| one.value.as_str())
}

fn requires(job: &V1Job, kind: &RequirementKind) -> bool {
    values(job, kind).next().is_some()
}

fn check_region(job: &V1Job, rules: &Rules) -> Result<(), Refusal> {
    if rules.ignore_job_with_no_region && !requires(job, &RequirementKind::Region) {
        return Err(Refusal::NoRegion);
    }
    match values(job, &RequirementKind::Region).find(|wanted| *wanted != rules.region) {
        Some(wanted) => Err(Refusal::WrongRegion { wanted: wanted.to_owned(), own: rules.region.clone() }),
        None => Ok(()),
    }
}

fn check_os_arch(job: &V1Job, model: &str, os_arch: &str) -> Result<(), Refusal> {
    match values(job, &RequirementKind::OsArchitecture).find(|wanted| *wanted != os_arch) {
        Some(wanted) => Err(Refusal::OsArch {
            model: model.to_owned(),
            os_arch: os_arch.to_owned(),
            wanted: wanted.to_owned(),
        }),
        None => Ok(()),
    }
}

/// What a VM cannot give whatever its model. A type that is not known here cannot be honoured either.
fn check_requirements(requirements: &[Requirement]) -> Result<(), Refusal> {
    let refused = requirements.iter().find(|requirement| match requirement.kind {
        RequirementKind::Service
        | RequirementKind::Memory
        | RequirementKind::Hostname
        | RequirementKind::Other(_) => true,
        RequirementKind::Binary
        | RequirementKind::Model
        | RequirementKind::Plugin
        | RequirementKind::OsArchitecture
        | RequirementKind::Region
        | RequirementKind::Secret
        | RequirementKind::Flavor => false,
    });
    refused.map_or(Ok(()), |requirement| Err(Refusal::Requirement { kind: requirement.kind.clone() }))
}
