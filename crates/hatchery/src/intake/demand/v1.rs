//! V1 jobs: a model in a repository that the job names, the default for jobs that name none, or the first of the API's
//! own models that fits.

use rookery_cds::{MODEL_TYPE, ModelPath, Requirement, RequirementKind, V1Job, V1Model, V2Model};

use super::{Refusal, Rules, is_our_type, is_waiting};

/// A model that failed more often in a row is not tried.
const SPAWN_ERRORS: i64 = 5;
/// So many parts make a required model one in a repository.
const REPOSITORY_PARTS: usize = 5;

/// What a V1 job is run on.
#[derive(Debug)]
pub enum V1Choice<'m> {
    /// One of the API's own models.
    Model(&'m V1Model),
    /// A V2 model, to be read and looked at with [`fetched_model_fits`].
    InRepository(ModelPath),
    /// None of the models, each for its reason.
    None(Vec<(String, Refusal)>),
}

/// Chooses the model of a V1 job; models are tried in their order.
pub fn decide_v1<'m>(job: &V1Job, models: &'m [V1Model], rules: &Rules) -> Result<V1Choice<'m>, Refusal> {
    is_waiting(&job.status)?;
    if job.booked_by.id != 0 {
        return Err(Refusal::Booked);
    }
    check_region(job, rules)?;
    check_requirements(job.requirements())?;
    for required in values(job, &RequirementKind::Model) {
        match in_repository(required)? {
            Some(_) if !rules.reads_v2_models => {
                return Err(Refusal::NoV2Session { given: first_word(required).to_owned() });
            }
            Some(model) => return Ok(V1Choice::InRepository(model)),
            None => {}
        }
    }
    let mut reasons = Vec::new();
    if let Some(default) = default_model(job, rules) {
        match default.parse() {
            Ok(model) => return Ok(V1Choice::InRepository(model)),
            Err(invalid) => reasons.push((default.to_owned(), Refusal::from(invalid))),
        }
    }
    Ok(first_fitting(job, models, &mut reasons).map_or_else(|| V1Choice::None(reasons), V1Choice::Model))
}

/// The first of the API's own models that can run a job of our region. Why each one before it cannot is added to the
/// reasons, by its path.
pub fn first_fitting<'m>(
    job: &V1Job,
    models: &'m [V1Model],
    reasons: &mut Vec<(String, Refusal)>,
) -> Option<&'m V1Model> {
    models.iter().find(|model| match can_run(job, model) {
        Ok(()) => true,
        Err(refusal) => {
            reasons.push((model.path(), refusal));
            false
        }
    })
}

/// Whether a V1 job names a model of this hatchery: one of the API's own, or one in a repository that was read.
pub fn v1_names_our_model(job: &V1Job, models: &[V1Model], is_ours: &dyn Fn(&ModelPath) -> bool) -> bool {
    values(job, &RequirementKind::Model).any(|required| match in_repository(required) {
        Ok(Some(path)) => is_ours(&path),
        Ok(None) => models.iter().any(|model| model.kind == MODEL_TYPE && is(model, first_word(required))),
        Err(_) => false,
    })
}

/// The model in a repository that a V1 job names.
pub fn v1_reference(job: &V1Job) -> Option<ModelPath> {
    values(job, &RequirementKind::Model).find_map(|required| in_repository(required).ok().flatten())
}

/// Reads the value of a `model` requirement; none if it is one of the API's own models.
fn in_repository(value: &str) -> Result<Option<ModelPath>, Refusal> {
    let word = first_word(value);
    let path = word.split_once('@').map_or(word, |(path, _)| path);
    let named = (path.split('/').count() >= REPOSITORY_PARTS).then(|| word.parse()).transpose();
    Ok(named?)
}

/// A model may be followed by options.
fn first_word(value: &str) -> &str {
    value.split_whitespace().next().unwrap_or_default()
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
    is_our_type(&model.name, &model.kind)?;
    check_requirements(job.requirements())?;
    check_os_arch(job, &model.name, &model.osarch)
}

/// Whether a worker of one of the API's own models can be started with these requirements.
pub(super) fn can_spawn(model: &V1Model, requirements: &[Requirement]) -> Result<(), Refusal> {
    is_our_type(&model.path(), &model.kind)?;
    check_requirements(requirements)?;
    if model.nb_spawn_err > SPAWN_ERRORS {
        return Err(Refusal::SpawnErrors { model: model.path(), errors: model.nb_spawn_err });
    }
    if model.model_virtual_machine.cmd.trim().is_empty() {
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
    can_spawn(model, job.requirements())?;
    if model.need_registration {
        return Err(Refusal::NeedsRegistration { model: path });
    }
    let groups = &job.exec_groups;
    if !groups.is_empty() && groups.iter().all(|group| group.id != model.group.id) {
        return Err(Refusal::Group { model: path });
    }
    if model.is_deprecated && !names_a_model {
        return Err(Refusal::Deprecated { model: path });
    }
    if let (Some(os), Some(arch)) =
        (known(model.registered_os.as_ref()), known(model.registered_arch.as_ref()))
    {
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
    model.registered_capabilities.iter().any(|one| one.value == binary || one.name == binary)
}

fn known(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}

/// The values of a job's requirements of one kind.
pub(in crate::intake) fn values<'j>(
    job: &'j V1Job,
    kind: &'j RequirementKind,
) -> impl Iterator<Item = &'j str> {
    job.requirements().iter().filter(move |one| one.kind == *kind).map(|one| one.value.as_str())
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
