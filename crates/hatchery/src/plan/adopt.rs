//! Which template of another hatchery is taken over when somebody asks for it. It never is by itself.

use crate::machine::View;
use rookery_cds::V1Model;
use rookery_fleet::{MachineId, OwnerId};

use super::Denied;
use super::templates::{Taken, V1Template, retired_name, v1_template};

/// A template of another hatchery that makes room for one of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    pub template: MachineId,
    /// Its name, which is the model's.
    pub name: String,
    pub model: String,
    /// The hatchery that made it.
    pub from: String,
}

impl Adoption {
    /// The name that it is set aside by. Under it, it is deleted when it has a successor and nothing hangs on it.
    pub fn aside(&self) -> String {
        retired_name(&self.name, &self.template)
    }
}

/// The template that stands in the way of a model, or why there is none to adopt.
pub fn adoptable(
    view: &View,
    owner: &OwnerId,
    models: Option<&[V1Model]>,
    path: &str,
) -> Result<Adoption, Denied> {
    if !view.complete {
        return Err("vCenter has not shown all its machines yet; try again in a moment".into());
    }
    let models = models.ok_or("CDS has not told its worker models yet; try again in a moment")?;
    let model = models.iter().find(|model| model.path() == path);
    let missing = || Denied::Unclear(format!("CDS has no worker model {path}, or not for this hatchery"));
    let model = model.ok_or_else(missing)?;
    match v1_template(view, owner, model) {
        V1Template::Taken(Taken::ByHatchery { hatchery, template }) => {
            Ok(Adoption { template, name: model.name.clone(), model: path.to_owned(), from: hatchery })
        }
        V1Template::Taken(taken) => Err(taken.why(model).to_string().into()),
        V1Template::Current(_) => {
            Err(format!("the template of {path} is as new as the model and is used as it is").into())
        }
        V1Template::Outdated(_) => {
            Err(format!("the template of {path} is of this hatchery, which replaces it by itself").into())
        }
        V1Template::Missing => {
            Err(format!("{path} has no template; one is made when it is registered").into())
        }
        V1Template::Unknown => Err(format!("vCenter does not show what the template of {path} is").into()),
    }
}
