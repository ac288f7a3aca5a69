//! What a running hatchery takes up.

use super::samples::SAMPLES;
use super::*;
use crate::settings::{Settings, reload};

fn settings(fragment: &str) -> Settings {
    read(&with(fragment).to_string()).unwrap().settings
}

#[test]
fn each_change_is_taken_up_or_waits_for_a_restart() {
    let old = settings("");
    for (key, (path, fragment, _)) in all_keys().zip(SAMPLES) {
        let new = settings(fragment);
        let reload = reload(&old, new.clone());
        let (told, silent) = if key.reloads {
            (&reload.changed, &reload.needs_restart)
        } else {
            (&reload.needs_restart, &reload.changed)
        };
        assert!(told.contains(path) && !silent.contains(path), "{path}: {reload:?}");
        let acts = if key.reloads { &new } else { &old };
        assert!((key.value)(&reload.settings).is_same(&(key.value)(acts)), "{path}");
    }
}

#[test]
fn the_same_file_changes_nothing() {
    for (path, fragment, _) in SAMPLES {
        let reload = reload(&settings(fragment), settings(fragment));
        assert_eq!((reload.changed, reload.needs_restart), (vec![], vec![]), "{path}");
    }
}

#[test]
fn numbers_limits_flavors_credentials_and_log_level_reload() {
    let reloading: Vec<_> = all_keys().filter(|key| key.reloads).map(|key| key.path).collect();
    assert_eq!(
        reloading,
        [
            "workerProvisioningPoolSize",
            "workerProvisioning[].modelPath",
            "workerProvisioning[].modelVMWare",
            "workerProvisioning[].number",
            "workerProvisioning[].flavor",
            "guestCredentials[].modelPath",
            "guestCredentials[].modelVMWare",
            "guestCredentials[].username",
            "guestCredentials[].password",
            "models[].username",
            "models[].password",
            "maxCpus",
            "maxMemoryMB",
            "flavors[].name",
            "flavors[].cpus",
            "flavors[].memoryMB",
            "defaultFlavor",
            "countSmallerFlavorToKeep",
            "log.level",
            "commonConfiguration.provision.maxWorker",
            "commonConfiguration.provision.maxConcurrentProvisioning",
            "commonConfiguration.provision.maxConcurrentRegistering",
        ]
    );
}

#[test]
fn a_new_password_is_noticed_and_not_told() {
    let credential = |password: &str| {
        settings(&format!("[[guestCredentials]]\nmodelVMWare = 'a'\nusername = 'u'\npassword = '{password}'"))
    };
    let reload = reload(&credential("before-it"), credential("after-it"));
    assert_eq!(reload.changed, ["guestCredentials[].password"]);
    assert!(!format!("{reload:?}").contains("-it\""));
}
