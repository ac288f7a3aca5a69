//! V2 jobs: their model comes with them.

use rookery_cds::{MODEL_TYPE, RunJob, V2Model};

use super::{Refusal, Rules, is_our_type, is_waiting};

/// Whether a V2 job can be run on its model.
///
/// CDS does not look at services and memory of jobs for VMs; who took such a job would run it without them.
pub fn decide_v2(job: &RunJob, model: &V2Model, rules: &Rules) -> Result<(), Refusal> {
    is_waiting(&job.status)?;
    let runs_on = job.runs_on();
    if runs_on.model.trim().is_empty() {
        return Err(Refusal::NoModel);
    }
    is_our_type(&model.name, &model.kind)?;
    if !rules.os_arch.contains(&model.osarch) {
        return Err(Refusal::OsArch {
            model: model.name.clone(),
            os_arch: model.osarch.clone(),
            wanted: rules.os_arch.join(" or "),
        });
    }
    let services: Vec<_> = job.services().map(str::to_owned).collect();
    if !services.is_empty() {
        return Err(Refusal::Services { services });
    }
    if !runs_on.memory.trim().is_empty() {
        return Err(Refusal::Memory { memory: runs_on.memory.clone() });
    }
    Ok(())
}

/// Whether a V2 job names a model of this hatchery: of its type, and for one of its systems.
pub fn v2_names_our_model(model: &V2Model, rules: &Rules) -> bool {
    model.kind == MODEL_TYPE && rules.os_arch.contains(&model.osarch)
}
