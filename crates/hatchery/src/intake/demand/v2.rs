//! V2 jobs: their model comes with them.

use super::{Refusal, Rules, V2Job, V2Model, is_our_type, is_waiting, runs_here};

/// Whether a V2 job can be run on its model.
///
/// CDS does not look at services and memory of jobs for VMs; who took such a job would run it without them.
pub fn decide_v2(job: &V2Job, model: &V2Model, rules: &Rules) -> Result<(), Refusal> {
    is_waiting(&job.status)?;
    if job.model.trim().is_empty() {
        return Err(Refusal::NoModel);
    }
    is_our_type(&model.name, &model.model_type)?;
    if !rules.os_arch.contains(&model.os_arch) {
        return Err(Refusal::OsArch {
            model: model.name.clone(),
            os_arch: model.os_arch.clone(),
            wanted: rules.os_arch.join(" or "),
        });
    }
    if !job.services.is_empty() {
        return Err(Refusal::Services { services: job.services.clone() });
    }
    if !job.memory.trim().is_empty() {
        return Err(Refusal::Memory { memory: job.memory.clone() });
    }
    Ok(())
}

/// Whether a V2 job names a model of this hatchery: of its type, and for one of its systems.
pub fn v2_names_our_model(model: &V2Model, rules: &Rules) -> bool {
    runs_here(&model.model_type) && rules.os_arch.contains(&model.os_arch)
}
