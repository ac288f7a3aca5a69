//! What a warm machine was made from, compared with what it would be made from now.

/// Which state of a template clones are made from; `None` is not told and is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Which incarnation of the template it is.
    pub incarnation: Option<String>,
    /// Which revision of what the template was made from.
    pub revision: Option<String>,
}

impl Origin {
    /// Whether what was made from that state comes from another one than this. What is not told does not make it stale.
    pub fn is_stale(&self, made_from: &Self) -> bool {
        let differs = |now: &Option<String>, then: &Option<String>| {
            let told = |state: &&String| !state.is_empty();
            matches!((now.as_ref().filter(told), then.as_ref().filter(told)), (Some(now), Some(then)) if now != then)
        };
        differs(&self.incarnation, &made_from.incarnation) || differs(&self.revision, &made_from.revision)
    }
}
