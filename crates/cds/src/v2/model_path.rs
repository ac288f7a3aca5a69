//! Where a V2 worker model stands: `PROJECT/vcs/organisation/repository/model[@branch]`.

use std::fmt;
use std::str::FromStr;

/// A repository may have no organisation.
const FEWEST_PARTS: usize = 4;
/// Where a model is looked for that names no branch.
const BRANCH: &str = "master";

/// Where a V2 worker model stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelPath {
    /// The key of the project.
    pub project: String,
    /// The version control server.
    pub vcs: String,
    /// Such as `org/app`.
    pub repository: String,
    pub name: String,
    /// Without `refs/heads/`. Any other reference (`refs/tags/…`) is whole.
    pub branch: String,
}

/// A text that is not the path of a worker model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is no worker model: PROJECT/vcs/organisation/repository/model[@branch] is expected")]
pub struct InvalidModelPath {
    pub given: String,
}

impl fmt::Display for ModelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { project, vcs, repository, name, branch } = self;
        write!(f, "{project}/{vcs}/{repository}/{name}@{branch}")
    }
}

impl FromStr for ModelPath {
    type Err = InvalidModelPath;
    fn from_str(given: &str) -> Result<Self, InvalidModelPath> {
        let refused = || InvalidModelPath { given: given.to_owned() };
        // A branch may hold slashes, too.
        let (path, branch) = given.split_once('@').unwrap_or((given, BRANCH));
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
        let parts: Vec<&str> = path.split('/').collect();
        let [project, vcs, repository @ .., name] = parts.as_slice() else { return Err(refused()) };
        if parts.len() < FEWEST_PARTS || branch.is_empty() || parts.iter().any(|part| part.is_empty()) {
            return Err(refused());
        }
        Ok(Self {
            project: (*project).to_owned(),
            vcs: (*vcs).to_owned(),
            repository: repository.join("/"),
            name: (*name).to_owned(),
            branch: branch.to_owned(),
        })
    }
}
