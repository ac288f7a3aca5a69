//! What a running hatchery takes up.

use super::samples::SAMPLES;
use super::*;
use crate::settings::{Settings, differences, reload};

fn settings(fragment: &str) -> Settings {
    read(&with(fragment).to_string()).unwrap().settings
}

#[test]
fn each_change_is_taken_up_or_waits_for_a_restart() {
    let settings = |fragment: &str| {
        let mut file = with("commonConfiguration.api.token = 'old-token'");
        merge(&mut file, fragment.parse().unwrap());
        read(&file.to_string()).unwrap().settings
    };
    let old = settings("");
    for (key, (path, fragment, _)) in all_keys().zip(SAMPLES) {
        let new = settings(fragment);
        let acting = reload(&old, &new);
        let (changed, waits) = (differences(&old, &acting), differences(&acting, &new));
        let (told, silent) = if key.reloads { (changed, waits) } else { (waits, changed) };
        assert!(told.contains(path) && !silent.contains(path), "{path}: {told:?}, {silent:?}");
        let acts = if key.reloads { &new } else { &old };
        assert!((key.value)(&acting).is_same(&(key.value)(acts)), "{path}");
    }
}

#[test]
fn a_protocol_more_or_less_waits_for_a_restart() {
    let (one, both) = (settings(""), settings("commonConfiguration.api.token = 'of-v1'"));
    for (old, new) in [(&one, &both), (&both, &one)] {
        let acting = reload(old, new);
        assert_eq!(differences(old, &acting), [""; 0]);
        assert_eq!(differences(&acting, new), ["commonConfiguration.api.token"]);
    }
}

#[test]
fn the_same_file_changes_nothing() {
    for (path, fragment, _) in SAMPLES {
        let acting = reload(&settings(fragment), &settings(fragment));
        assert_eq!(differences(&acting, &settings(fragment)), [""; 0], "{path}");
    }
}

#[test]
fn numbers_limits_flavors_credentials_and_log_level_reload() {
    let reloading: Vec<_> = all_keys().filter(|key| key.reloads).map(|key| key.path).collect();
    assert_eq!(
        reloading,
        [
            "user",
            "password",
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
            "adaptToCDS",
            "flavors[].name",
            "flavors[].cpus",
            "flavors[].memoryMB",
            "flavors[].diskSizeGB",
            "defaultFlavor",
            "countSmallerFlavorToKeep",
            "commonConfiguration.api.token",
            "commonConfiguration.api.tokenV2",
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
    let (old, new) = (credential("before-it"), credential("after-it"));
    let acting = reload(&old, &new);
    assert_eq!(differences(&old, &acting), ["guestCredentials[].password"]);
    assert!(!format!("{acting:?}").contains("-it\""));
}
