//! What a warm machine was made from, compared with what it would be made from now.

use crate::mark::Mark;

/// Which state of a template clones are made from; `None` is not told and is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Which incarnation of the template it is.
    pub incarnation: Option<String>,
    /// When the V1 model was changed last, in seconds, as marks carry it.
    pub last_modified: Option<String>,
}

impl Origin {
    /// Whether a machine with that mark comes from another state of the template. What a mark does not tell does not
    /// make it stale: older hatcheries drop our keys.
    pub fn is_stale(&self, mark: &Mark) -> bool {
        let differs = |now: &Option<String>, then: &str| {
            now.as_deref().is_some_and(|now| !now.is_empty() && !then.is_empty() && now != then)
        };
        differs(&self.incarnation, &mark.template_incarnation)
            || differs(&self.last_modified, &mark.worker_model_last_modified)
    }
}
