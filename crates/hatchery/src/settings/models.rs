//! Worker models: guest credentials, pre-start scripts, and V2 models for V1 jobs.

use std::collections::{BTreeMap, BTreeSet};

use super::section::Section;
use super::warm;
use crate::intake::demand::DefaultModel;
use crate::launch::credentials::{Configured, Credentials, Source};
use crate::plan::ModelRef;

#[derive(Debug, Clone, Default)]
pub struct Models {
    pub credentials: Configured,
    pub pre_start_scripts: BTreeMap<String, String>,
    /// The templates of `models[]`, in its order.
    pub templates: Vec<String>,
    /// V2 models for V1 jobs. The first one serves jobs that require no binary.
    pub defaults_v2: Vec<DefaultModel>,
}

pub(super) fn models(section: &mut Section<'_, '_>) -> Models {
    let mut models = Models { defaults_v2: defaults_v2(section), ..Models::default() };
    guest_credentials(section, &mut models);
    own(section, &mut models);
    models
}

fn guest_credentials(section: &mut Section<'_, '_>, models: &mut Models) {
    section.entries("guestCredentials", |entry| {
        let (model, credentials) = (warm::model(entry), credentials(entry));
        let (model, written) = (model?, (Source::GuestCredentials, credentials?));
        let message = format!("there are credentials for {model} already");
        if models.credentials.insert(model, written).is_some() {
            let path = entry.at().to_owned();
            entry.notes.problems.push(path, message);
        }
        Some(())
    });
}

/// `models[]`, the newer list, overrides `guestCredentials[]`.
fn own(section: &mut Section<'_, '_>, models: &mut Models) {
    let mut seen = BTreeSet::new();
    section.entries("models", |entry| {
        let template = entry.required("modelVMWare");
        let script = entry.text("preStartScript");
        let names_user = ["username", "password", "passwordFile"].iter().any(|name| entry.is_filled(name));
        // Read in any case: blank keys are not unknown.
        let credentials = if names_user { credentials(entry) } else { no_credentials(entry) };
        let template = template?;
        if !seen.insert(template.clone()) {
            entry.problem("modelVMWare", format!("there is an entry for {template} already"));
        }
        models.pre_start_scripts.extend(script.map(|script| (template.clone(), script)));
        models.templates.push(template.clone());
        let written = credentials.map(|credentials| (ModelRef::V2(template), (Source::Models, credentials)));
        models.credentials.extend(written);
        Some(())
    });
}

fn credentials(entry: &mut Section<'_, '_>) -> Option<Credentials> {
    let username = entry.required("username");
    let password = super::common::required_secret(entry, "password");
    Some(Credentials { username: username?, password: password? })
}

fn no_credentials(entry: &mut Section<'_, '_>) -> Option<Credentials> {
    for name in ["username", "password", "passwordFile"] {
        entry.text(name);
    }
    None
}

fn defaults_v2(section: &mut Section<'_, '_>) -> Vec<DefaultModel> {
    section.entries("defaultWorkerModelsV2", |entry| {
        let model = entry.required("workerModelV2");
        let binaries = entry.texts("binaries");
        let model = model?;
        if !is_reference(&model) {
            let message = format!("{model:?} is not a model such as PROJECT/vcs/org/repo/model");
            entry.problem("workerModelV2", message);
        }
        Some(DefaultModel { model, binaries })
    })
}

fn is_reference(text: &str) -> bool {
    let path = text.split_once('@').map_or(text, |(path, _)| path);
    path.split('/').count() >= 4 && path.split('/').all(|part| !part.trim().is_empty())
}
