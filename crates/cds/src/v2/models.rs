//! V2 worker models: as a job brings them along, or as they stand in a repository.

use secrecy::SecretString;
use serde::Deserialize;

use super::{ModelPath, V2};
use crate::api::Call;
use crate::error::CdsError;
use crate::json;
use crate::path::{query, segment};

/// A V2 worker model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct V2Model {
    pub name: String,
    /// The system it runs, such as `linux/amd64`.
    pub osarch: String,
    /// The kind of hatchery that serves it.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is made of.
    pub spec: V2ModelSpec,
}

/// What a V2 worker model is made of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct V2ModelSpec {
    /// The template.
    pub image: String,
    /// How large its machines are.
    pub flavor: Option<String>,
    pub username: Option<String>,
    /// Their password, or a reference that CDS has not resolved.
    #[serde(deserialize_with = "json::secret")]
    pub password: Option<SecretString>,
}

impl V2 {
    /// A model as it stands in a repository.
    pub async fn model(&self, path: &ModelPath) -> Result<V2Model, CdsError> {
        let ModelPath { project, vcs, repository, name, branch } = path;
        let what = format!("read worker model {project}/{vcs}/{repository}/{name}");
        let [project, vcs, repository, name] = [project, vcs, repository, name].map(|part| segment(part));
        let key = if branch.starts_with("refs/") { "ref" } else { "branch" };
        let query = query([(key, branch.as_str())]);
        let path =
            format!("/v2/project/{project}/vcs/{vcs}/repository/{repository}/workermodel/{name}{query}");
        self.session.call(&Call::get(what, path)).await?.object()
    }
}
