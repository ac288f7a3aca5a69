//! What a worker runs on: a model of CDS, as far as it concerns a machine.

use rookery_cds::{V1Model, V2Model};
use rookery_fleet::flavor::Asked;
use rookery_fleet::names::Line;
use secrecy::SecretString;

use crate::launch::Credentials;
use crate::launch::script::Commands;

/// What a worker runs on.
#[derive(Debug, Clone)]
pub struct Runs {
    /// Which kind of model it is.
    pub line: Line,
    /// What marks call it: the path of a V1 model, the template of a V2 model.
    pub model: String,
    /// What people call it.
    pub label: String,
    /// The machine to clone.
    pub template: String,
    /// When the V1 model was changed last, as marks say it; empty for V2 models.
    pub last_modified: String,
    /// The sizes that were asked for.
    pub sizes: Sizes,
    /// What is run in the guest, and as whom.
    pub guest: Guest,
}

impl Runs {
    /// What tells its model from others: several V2 models may be cloned from one template.
    pub fn identity(&self) -> &str {
        match self.line {
            Line::V1 => &self.model,
            Line::V2 => &self.label,
        }
    }
}

/// The sizes that were asked for; empty where nobody asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sizes {
    /// By `runs-on` of a V2 job.
    pub runs_on: String,
    /// By the spec of a V2 model.
    pub spec: String,
    /// By a V1 model.
    pub v1_model: String,
    /// By a requirement of a V1 job.
    pub requirement: String,
}

/// What is run in the guest, and as whom.
#[derive(Debug, Clone)]
pub enum Guest {
    /// The commands of a V1 model.
    V1 {
        /// Its number.
        id: i64,
        /// Its group.
        group: String,
        /// Its name.
        name: String,
        /// What it runs.
        commands: Commands,
        /// Who it says, with references to secrets.
        own: Credentials,
        /// Whether it should not be used any more.
        deprecated: bool,
    },
    /// The worker of a V2 model.
    V2 {
        /// Its name.
        name: String,
        /// Such as `linux/amd64`.
        os_arch: String,
        /// Who it says.
        own: Credentials,
    },
}

impl Sizes {
    /// As the chooser of flavors takes them.
    pub fn asked(&self) -> Asked<'_> {
        Asked {
            runs_on: Some(&self.runs_on),
            spec: Some(&self.spec),
            v1_model: Some(&self.v1_model),
            requirement: Some(&self.requirement),
        }
    }
}

impl Runs {
    /// A V1 model, for a job that asks for this size.
    pub fn v1(model: &V1Model, requirement: String) -> Self {
        let vm = &model.model_virtual_machine;
        Self {
            line: Line::V1,
            model: model.path(),
            label: model.display_path(),
            template: model.name.clone(),
            last_modified: last_modified(model),
            sizes: Sizes { v1_model: vm.flavor.clone(), requirement, ..Sizes::default() },
            guest: Guest::V1 {
                id: model.id,
                group: model.group.name.clone(),
                name: model.name.clone(),
                commands: Commands {
                    pre_cmd: vm.pre_cmd.clone(),
                    cmd: vm.cmd.clone(),
                    post_cmd: vm.post_cmd.clone(),
                },
                own: credentials(&vm.user, vm.password.as_ref()),
                deprecated: model.is_deprecated,
            },
        }
    }

    /// A V2 model, for a job that asks for these sizes.
    pub fn v2(model: &V2Model, runs_on: String, requirement: String) -> Self {
        let spec = &model.spec;
        Self {
            line: Line::V2,
            model: spec.image.clone(),
            label: model.name.clone(),
            template: spec.image.clone(),
            last_modified: String::new(),
            sizes: Sizes {
                runs_on,
                spec: spec.flavor.clone().unwrap_or_default(),
                requirement,
                ..Sizes::default()
            },
            guest: Guest::V2 {
                name: model.name.clone(),
                os_arch: model.osarch.clone(),
                own: credentials(spec.username.as_deref().unwrap_or_default(), spec.password.as_ref()),
            },
        }
    }
}

/// When a V1 model was changed last, as marks say it.
pub fn last_modified(model: &V1Model) -> String {
    model.user_last_modified.map(|time| time.as_second().to_string()).unwrap_or_default()
}

fn credentials(user: &str, password: Option<&SecretString>) -> Credentials {
    Credentials { username: user.to_owned(), password: password.cloned().unwrap_or_default() }
}
