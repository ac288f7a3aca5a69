//! The path of a model that lies in a repository: `PROJECT/vcs/organisation/repository/model[@branch]`.

use std::fmt;

use super::Refusal;

/// So many parts make a required model one in a repository.
const REQUIRED_PARTS: usize = 5;
/// So many are enough for a default model: its repository may have no organisation.
const FEWEST_PARTS: usize = 4;
/// Where a model is looked for that names no branch.
const BRANCH: &str = "master";

/// Where a model lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsCodeRef {
    /// The key of the project.
    pub project: String,
    /// The server of the repository.
    pub vcs: String,
    /// The repository, such as `org/app`.
    pub repository: String,
    /// The model.
    pub name: String,
    /// The branch, without `refs/heads/`. Any other reference (`refs/tags/…`) is kept whole.
    pub branch: String,
}

impl fmt::Display for AsCodeRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { project, vcs, repository, name, branch } = self;
        write!(f, "{project}/{vcs}/{repository}/{name}@{branch}")
    }
}

impl AsCodeRef {
    /// Reads the value of a `model` requirement. Nothing if it is a model of the API's own list.
    pub(super) fn required(value: &str) -> Result<Option<Self>, Refusal> {
        let word = first_word(value);
        if path_of(word).split('/').count() < REQUIRED_PARTS { Ok(None) } else { Self::parse(word).map(Some) }
    }

    /// Reads the path of a model.
    pub fn parse(given: &str) -> Result<Self, Refusal> {
        let refused = || Refusal::ModelReference { given: given.to_owned() };
        let parts: Vec<&str> = path_of(given).split('/').collect();
        if parts.len() < FEWEST_PARTS || parts.iter().any(|part| part.is_empty()) {
            return Err(refused());
        }
        // A branch may hold slashes, too.
        let branch = match given.split_once('@') {
            Some((_, branch)) => branch.strip_prefix("refs/heads/").unwrap_or(branch),
            None => BRANCH,
        };
        let [project, vcs, repository @ .., name] = parts.as_slice() else { return Err(refused()) };
        if branch.is_empty() {
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

/// A model may be followed by options.
pub(super) fn first_word(value: &str) -> &str {
    value.split_whitespace().next().unwrap_or_default()
}

fn path_of(given: &str) -> &str {
    given.split_once('@').map_or(given, |(path, _)| path)
}
