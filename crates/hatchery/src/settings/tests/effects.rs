//! Each key does something, and without it its documented default acts.

use super::samples::SAMPLES;
use super::*;
use crate::settings::WhenUnset;

/// Keys of which one of two must be there, so that removing the only one is a problem.
const ONE_OF_TWO: &[&str] = &[
    "commonConfiguration.api.tokenV2",
    "guestCredentials[].modelPath",
    "guestCredentials[].modelVMWare",
    "workerProvisioning[].modelPath",
    "workerProvisioning[].modelVMWare",
    // Beside each other.
    "models[].username",
    "models[].password",
];

/// Both layouts of a file.
fn layouts(mut file: Table) -> [String; 2] {
    let bare = file.to_string();
    let log = file.remove("log").map(|log| ("log".to_owned(), log));
    let ours = Table::from_iter([("vsphere".to_owned(), Value::Table(file))]);
    let whole: Table = log.into_iter().chain([("hatchery".to_owned(), Value::Table(ours))]).collect();
    [bare, whole.to_string()]
}

#[test]
fn each_key_has_a_sample_and_each_sample_a_key() {
    let keys: Vec<_> = all_keys().map(|key| key.path).collect();
    let samples: Vec<_> = SAMPLES.iter().map(|(path, ..)| *path).collect();
    assert_eq!(keys, samples);
}

#[test]
fn the_least_file_has_every_documented_default() {
    let loaded = read(MINIMAL).unwrap();
    assert_eq!((&loaded.warnings, &loaded.unknown, &loaded.notices), (&vec![], &vec![], &vec![]));
    for key in all_keys() {
        // What is true of each entry is true of none.
        let of_entry = key.path == "workerProvisioning[].number" || key.path.starts_with("flavors[].");
        if let WhenUnset::Is(default) = key.default
            && key.path != "commonConfiguration.api.tokenV2"
            && !of_entry
        {
            assert_eq!((key.value)(&loaded.settings).text(), default, "{}", key.path);
        }
    }
}

#[test]
fn each_key_acts_and_without_it_its_default_does() {
    for (key, (path, fragment, expected)) in all_keys().zip(SAMPLES) {
        let mut file = with(fragment);
        for text in layouts(file.clone()) {
            let loaded = read(&text).unwrap_or_else(|problems| panic!("{path}: {problems}"));
            let value = (key.value)(&loaded.settings);
            assert_eq!(value.text(), *expected, "{path}");
            assert!(loaded.unknown.is_empty(), "{path}: {:?}", loaded.unknown);
            assert!(
                !matches!(key.default, WhenUnset::Is(default) if default == *expected),
                "{path} is its default"
            );
        }

        remove(&mut file, path).unwrap_or_else(|| panic!("{path} is not in its own sample"));
        for text in layouts(file) {
            match (key.default, read(&text)) {
                (WhenUnset::Is(default), Ok(loaded)) => {
                    assert_eq!((key.value)(&loaded.settings).text(), default, "{path}");
                }
                (WhenUnset::Is(_), Err(problems)) => assert!(ONE_OF_TWO.contains(path), "{path}: {problems}"),
                (WhenUnset::Mandatory, Ok(_)) => panic!("{path} is mandatory, and without it all is well"),
                (WhenUnset::Mandatory, Err(problems)) => {
                    let of_it = path.replace("[]", "[0]");
                    let told = problems.as_slice().iter().any(|problem| problem.path.ends_with(&of_it));
                    assert!(told, "{path}: {problems}");
                }
            }
        }
    }
}

#[test]
fn zero_means_the_default_where_generated_files_carry_zeros() {
    let zeros = "
        workerTTL = 0
        workerRegistrationTTL = 0
        workerProvisioningInterval = 0
        killAwolServersInterval = 0
        finishedWorkerGracePeriod = 0
        refreshBudget = 0
        warmMaxAge = 0
        maxCpus = 0
        maxMemoryMB = 0
        [commonConfiguration.http]
        port = 0
        [commonConfiguration.api]
        requestTimeout = 0
        maxHeartbeatFailures = 0
        [commonConfiguration.logOptions.spawnOptions]
        thresholdCritical = 0
        thresholdWarning = 0
        [commonConfiguration.provision]
        maxConcurrentProvisioning = 0
        maxConcurrentRegistering = 0
        maxAttemptsNumberBeforeFailure = 0
        registerFrequency = 0";
    let zeros = read(&with(zeros).to_string()).unwrap().settings;
    let least = read(MINIMAL).unwrap().settings;
    for key in all_keys() {
        assert_eq!((key.value)(&zeros).text(), (key.value)(&least).text(), "{}", key.path);
    }
}

#[test]
fn numbers_in_the_field_below_zero_mean_what_they_meant() {
    let at = |number: i64| {
        let fragment = format!("commonConfiguration.provision.maxConcurrentProvisioning = {number}");
        read(&with(&fragment).to_string()).unwrap().settings.limits.starting
    };
    assert_eq!((at(-1), at(0), at(1)), (10, 10, 1));
    let unlimited = with("commonConfiguration.provision.maxWorker = 0");
    assert_eq!(read(&unlimited.to_string()).unwrap().settings.limits.workers, None);
}

#[test]
fn a_pool_size_of_zero_is_no_limit_and_none_is_one() {
    let load = |fragment: &str| read(&with(fragment).to_string()).unwrap().settings;
    let at = |fragment| load(fragment).warm.concurrency;
    assert_eq!(at(""), Some(1));
    assert_eq!(at("workerProvisioningPoolSize = 0"), None);
    assert_eq!(at("workerProvisioningPoolSize = 3"), Some(3));
    let reported = crate::settings::reported(&load("workerProvisioningPoolSize = 0"));
    assert_eq!(reported["workerProvisioningPoolSize"], 0);
}

#[test]
fn what_a_flavor_leaves_out_or_names_as_zero_is_left_to_the_template() {
    let at = |fragment: &str| {
        let settings = read(&with(fragment).to_string()).unwrap().settings;
        let flavor = settings.flavors.get("a").expect("a flavor");
        (flavor.hardware.cpus, flavor.hardware.memory_mb, flavor.disk_gb)
    };
    assert_eq!(at("flavors.a = { cpus = 2 }"), (Some(2), None, None));
    assert_eq!(at("flavors.a = { cpus = 0, memoryMB = 4096 }"), (None, Some(4096), None));
    assert_eq!(at("flavors.a = { diskSizeGB = 40 }"), (None, None, Some(40)));
    assert_eq!(at("flavors.a = {}"), (None, None, None));
}
