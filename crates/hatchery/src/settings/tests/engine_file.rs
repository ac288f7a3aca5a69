//! Files from the field.

use super::*;
use crate::settings::{Level, reported};
use rookery_fleet::Hardware;

const GENERATED: &str = include_str!("fixtures/generated.toml");
const FLAVORS: &str = include_str!("fixtures/flavors.toml");

#[test]
fn a_generated_file_lacks_exactly_what_nobody_can_guess() {
    assert_eq!(
        lines(GENERATED),
        [
            "hatchery.vsphere.endpoint: is empty",
            "hatchery.vsphere.user: is empty",
            "hatchery.vsphere.password: is not set, and neither is passwordFile",
            "hatchery.vsphere.datacenterString: is empty",
            "hatchery.vsphere.commonConfiguration.rsaPrivateKey: is not a PEM block that begins with \
             -----BEGIN RSA PRIVATE KEY----- and ends with its END line",
        ]
    );
}

#[test]
fn a_generated_file_that_is_filled_in_has_every_default_and_one_notice() {
    let mut file: Table = GENERATED.parse().unwrap();
    let ours = file["hatchery"]["vsphere"].as_table_mut().unwrap();
    merge(ours, MINIMAL.parse().unwrap());
    let loaded = read(&file.to_string()).unwrap();
    assert_eq!((&loaded.warnings, &loaded.unknown), (&vec![], &vec![]));
    assert_eq!(loaded.notices, ["sections of other services are passed over: telemetry"]);
    let least = read(MINIMAL).unwrap().settings;
    for key in all_keys() {
        let differs = (key.value)(&loaded.settings).text() != (key.value)(&least).text();
        // The generated port is another one than the default, its token is the V1 one, and a pool has no size.
        let expected =
            ["commonConfiguration.http.port", "commonConfiguration.api.token", "workerProvisioningPoolSize"]
                .contains(&key.path);
        assert_eq!(differs, expected, "{}", key.path);
    }
}

#[test]
fn other_services_and_hatcheries_share_the_file() {
    let ours = with("");
    let mut file: Table = "[api]\nx = 1\n[hatchery.swarm]\ny = 2\n[log]\nlevel = 'warning'".parse().unwrap();
    file["hatchery"].as_table_mut().unwrap().insert("vsphere".to_owned(), Value::Table(ours));
    let loaded = read(&file.to_string()).unwrap();
    assert_eq!(loaded.notices, ["sections of other services are passed over: api, hatchery.swarm"]);
    assert_eq!(loaded.settings.log.level, Level::Warn);
    assert_eq!(loaded.unknown, []);

    let bare = read(&with("[telemetry]\nx = 1\n[vcs]\ny = 1").to_string()).unwrap();
    assert_eq!(bare.notices, ["sections of other services are passed over: telemetry, vcs"]);
    assert_eq!(bare.unknown, []);
}

#[test]
fn a_file_of_another_hatchery_is_told_from_ours() {
    let problems = lines("[hatchery.swarm]\nname = 'x'");
    assert!(problems[0].starts_with("hatchery.vsphere: the section is missing"), "{problems:?}");
    assert!(lines("hatchery = 1")[0].starts_with("hatchery: expected a table"));
}

#[test]
fn the_example_of_flavors_lacks_only_what_it_does_not_speak_of() {
    assert_eq!(
        lines(FLAVORS),
        [
            "endpoint: is not set",
            "user: is not set",
            "password: is not set, and neither is passwordFile",
            "datacenterString: is not set",
            "commonConfiguration.name: is not set",
            "commonConfiguration.rsaPrivateKey: is not set, and neither is rsaPrivateKeyFile",
            "commonConfiguration.api.token: is not set, and neither is tokenV2: one of them is needed (or its file)",
            "commonConfiguration.api.http.url: is not set",
        ]
    );
}

/// The example as it stands, after the keys of the top and before the other sections.
fn completed() -> String {
    let (top, sections) = MINIMAL.split_once("[commonConfiguration]").unwrap();
    format!("{top}\n{FLAVORS}\n[commonConfiguration]{sections}")
}

#[test]
fn the_example_of_flavors_works_with_the_rest_and_warns_of_the_place() {
    let loaded = read(&completed()).unwrap();
    let limits = &loaded.settings.limits;
    assert_eq!((limits.workers, limits.size.cpus, limits.size.memory_mb), (None, Some(64), Some(131_072)));
    let flavors = &loaded.settings.flavors;
    let sizes: Vec<_> = flavors.iter().map(|flavor| (flavor.name.as_str(), flavor.hardware)).collect();
    assert_eq!(
        sizes,
        [
            ("large", Hardware::new(8, 16_384)),
            ("medium", Hardware::new(4, 8_192)),
            ("small", Hardware::new(2, 4_096))
        ]
    );
    let default = loaded.settings.default_flavor.as_deref();
    assert_eq!((default, limits.size.keep_smaller), (Some("medium"), 2));
    let place = "is accepted here, but belongs to the top of the file, beside user and endpoint";
    let misplaced = ["maxCpus", "maxMemoryMB", "countSmallerFlavorToKeep", "defaultFlavor"];
    assert_eq!(
        warnings(&loaded),
        misplaced.map(|name| format!("commonConfiguration.provision.{name}: {place}"))
    );
}

#[test]
fn the_same_in_both_places_is_odd_and_something_else_is_wrong() {
    let both = |ours: &str, provision: &str| {
        with(&format!("{ours}\n[commonConfiguration.provision]\n{provision}")).to_string()
    };
    let same = read(&both("maxCpus = 64", "maxCpus = 64")).unwrap();
    assert_eq!(
        warnings(&same),
        ["commonConfiguration.provision.maxCpus: is said a second time; maxCpus is the right place"]
    );
    for (ours, provision, key) in [
        ("maxCpus = 64", "maxCpus = 32", "maxCpus"),
        ("maxMemoryMB = 0", "maxMemoryMB = 32", "maxMemoryMB"),
        ("countSmallerFlavorToKeep = 1", "countSmallerFlavorToKeep = 2", "countSmallerFlavorToKeep"),
        ("flavors.a = { cpus = 1, memoryMB = 4 }", "flavors.a = { cpus = 2, memoryMB = 4 }", "flavors"),
    ] {
        let other = format!("commonConfiguration.provision.{key}");
        let expected =
            format!("{key}: {other} says something else; remove that one, this is the right place");
        assert_eq!(lines(&both(ours, provision)), [expected]);
    }
}

#[test]
fn flavors_are_a_map_or_a_list() {
    let map = "[flavors.Small]\ncpus = 2\nmemoryMB = 4096\ndiskSizeGB = 50";
    let list = "[[flavors]]\nname = 'Small'\ncpus = 2\nmemoryMB = 4096\ndiskSizeGB = 50\n[[flavors]]";
    let load = |fragment| read(&with(fragment).to_string()).unwrap();
    let (map, list) = (load(map), load(list));
    assert_eq!(map.settings.flavors, list.settings.flavors);
    assert_eq!(map.settings.flavors.get("SMALL").map(|flavor| flavor.hardware.cpus), Some(Some(2)));
    assert_eq!(map.settings.flavors.get("small").map(|flavor| flavor.disk_gb), Some(Some(50)));
    assert_eq!((warnings(&map), warnings(&list)), (vec![], vec![]));
}

#[test]
fn a_sign_in_reports_the_names_that_the_go_hatchery_reports() {
    let captured: serde_json::Value = serde_json::from_str(include_str!("fixtures/reported.json")).unwrap();
    let file = with(
        "
        [[models]]
        modelVMWare = 'debian12'
        [[networks]]
        iprange = '10.99.0.0/24'
        gateway = '10.99.0.1'
        subnetMask = '255.255.0.0'
        [[workerProvisioning]]
        modelVMWare = 'debian12'
        number = 3",
    );
    let mut ours = reported(&read(&file.to_string()).unwrap().settings);
    let os_arch = ours.as_object_mut().unwrap().remove("osArch");
    assert_eq!(os_arch, Some(serde_json::json!(["linux/amd64"])));
    assert_eq!(shape(&ours), shape(&captured));
    for part in ["models", "networks", "workerProvisioning"] {
        assert_eq!(ours[part], captured[part]);
    }
}

/// The paths of all values with their types.
fn shape(value: &serde_json::Value) -> Vec<String> {
    use serde_json::Value::{Array, Bool, Null, Number, Object, String as Text};
    let below =
        |name: &str, value| shape(value).into_iter().map(|rest| format!("{name}.{rest}")).collect::<Vec<_>>();
    match value {
        Object(object) => object.iter().flat_map(|(name, value)| below(name, value)).collect(),
        Array(items) if items.first().is_some_and(serde_json::Value::is_object) => below("[]", &items[0]),
        Array(_) => vec!["a list".to_owned()],
        Text(_) => vec!["a text".to_owned()],
        Number(_) => vec!["a number".to_owned()],
        Bool(_) => vec!["a flag".to_owned()],
        Null => vec!["null".to_owned()],
    }
}
