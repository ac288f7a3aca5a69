//! What a running hatchery takes up of a changed file.

use super::{KEYS, Key, Log, Models, Settings, Warm};

/// What comes of a changed file.
#[derive(Debug, Clone)]
pub struct Reload {
    /// The settings that act from now on.
    pub settings: Settings,
    /// Keys whose change was taken up.
    pub changed: Vec<&'static str>,
    /// Keys whose change waits for a restart.
    pub needs_restart: Vec<&'static str>,
}

/// Takes up of the new settings what can be changed while the hatchery runs.
pub fn reload(old: &Settings, new: Settings) -> Reload {
    let differs = |key: &&Key| !(key.value)(old).is_same(&(key.value)(&new));
    let (changed, waiting): (Vec<_>, Vec<_>) =
        KEYS.iter().copied().flatten().filter(differs).partition(|key| key.reloads);
    let paths = |keys: Vec<&Key>| keys.into_iter().map(|key| key.path).collect();
    let (changed, needs_restart) = (paths(changed), paths(waiting));
    let settings = Settings {
        limits: new.limits,
        flavors: new.flavors,
        warm: Warm { pools: new.warm.pools, concurrency: new.warm.concurrency, ..old.warm.clone() },
        models: Models { credentials: new.models.credentials, ..old.models.clone() },
        log: Log { level: new.log.level, ..old.log },
        ..old.clone()
    };
    Reload { settings, changed, needs_restart }
}
