//! What a running hatchery applies of a changed file.

use secrecy::SecretString;

use super::keys;
use super::{Api, Key, Log, Models, Queue, Settings, VCenter, Warm};

/// The effective settings after a reload: the old ones, with what can change while the hatchery runs.
pub fn reload(old: &Settings, new: &Settings) -> Settings {
    let Settings { queue, limits, flavors, default_flavor, warm, models, log, vcenter, api, .. } =
        new.clone();
    // Whether V1 and V2 are served is decided at the start.
    let other = |old: &Option<SecretString>, new: Option<SecretString>| {
        if old.is_some() && new.is_some() { new } else { old.clone() }
    };
    Settings {
        queue: Queue {
            adapts_to_cds: queue.adapts_to_cds,
            registering: queue.registering,
            ..old.queue.clone()
        },
        limits,
        flavors,
        default_flavor,
        warm: Warm { pools: warm.pools, concurrency: warm.concurrency, ..old.warm.clone() },
        models: Models { credentials: models.credentials, ..old.models.clone() },
        log: Log { level: log.level, ..old.log },
        vcenter: VCenter { user: vcenter.user, password: vcenter.password, ..old.vcenter.clone() },
        api: Api {
            token: other(&old.api.token, api.token),
            token_v2: other(&old.api.token_v2, api.token_v2),
            ..old.api.clone()
        },
        ..old.clone()
    }
}

/// The keys whose values differ.
pub fn differences(one: &Settings, other: &Settings) -> Vec<&'static str> {
    let differs = |key: &&Key| !(key.value)(one).is_same(&(key.value)(other));
    keys::all().filter(differs).map(|key| key.path).collect()
}
