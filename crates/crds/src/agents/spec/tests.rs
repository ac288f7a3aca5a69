use super::*;
use crate::GoDuration;
use crate::agents::VsphereAgentPoolSpec;

/// A pool that says nothing that need not be said.
fn least() -> VsphereAgentPoolSpec {
    serde_json::from_value(serde_json::json!({
        "hostedClusterRef": { "name": "demo" },
        "nodePoolRef": { "name": "workers" },
        "infraEnvRef": { "name": "demo" },
        "controlPlaneNamespace": "demo-demo",
        "vsphere": {
            "credentialsSecretRef": { "name": "vsphere" },
            "datastoreCluster": "disks",
            "isoDatastore": "isos",
            "resourcePool": "cluster/Resources",
            "network": "VM Network",
        },
        "template": {},
        "agent": { "labels": { "customer": "example" } },
    }))
    .expect("a spec")
}

#[test]
fn what_is_absent_means_the_default() {
    let spec = least();
    let (vsphere, template, agent, iso) = (&spec.vsphere, &spec.template, &spec.agent, spec.iso());
    assert_eq!(vsphere.credentials_secret_ref.namespace("demo"), "demo");
    assert_eq!((vsphere.datacenter(), vsphere.folder("demo")), ("dc1", "demo"));
    assert_eq!((vsphere.guest_id(), vsphere.scsi_type()), ("rhel9_64Guest", "pvscsi"));
    assert_eq!((vsphere.firmware(), vsphere.network_adapter_type()), (Firmware::Efi, "vmxnet3"));
    assert!(!vsphere.disk_eagerly_scrub());
    assert_eq!((template.num_cpus(), template.memory_mib(), template.disk_gib()), (4, 16_384, 100));
    assert_eq!((agent.role(), agent.approve()), ("worker", true));
    assert_eq!(iso.check_interval(), Ok(GoDuration::from_minutes(10)));
    assert_eq!((iso.retain_versions(), iso.max_size_gib()), (2, 8));
    assert_eq!(iso.path_prefix("demo", "workers"), "agent-forge/demo/workers");
    assert!(!iso.insecure_skip_verify());
    assert_eq!(spec.cleanup_policy(), CleanupPolicy::Delete);
    assert_eq!((spec.min_spare(), spec.max_vms), (0, None));
    assert_eq!(spec.discovery_timeout(), Ok(GoDuration::from_minutes(30)));
    assert_eq!(template.name_prefix("workers"), "workers");
}

#[test]
fn what_is_empty_says_as_little_as_what_is_absent() {
    let mut spec = least();
    spec.vsphere.credentials_secret_ref.namespace = Some(String::new());
    spec.vsphere.folder = Some(String::new());
    spec.template.name_prefix = Some(String::new());
    assert_eq!(spec.vsphere.credentials_secret_ref.namespace("demo"), "demo");
    assert_eq!(spec.vsphere.folder("demo"), "demo");
    assert_eq!(spec.template.name_prefix("workers"), "workers");
    let iso = IsoSettings { path_prefix: Some(String::new()), ..IsoSettings::default() };
    assert_eq!(iso.path_prefix("a", "b"), "agent-forge/a/b");
    let iso = IsoSettings { path_prefix: Some("isos/demo/".to_owned()), ..IsoSettings::default() };
    assert_eq!(iso.path_prefix("a", "b"), "isos/demo");
}

#[test]
fn a_duration_that_is_none_is_told_and_one_that_is_not_positive_means_the_default() {
    let every = |text: &str| {
        IsoSettings { check_interval: Some(DurationText(text.to_owned())), ..IsoSettings::default() }
            .check_interval()
    };
    assert_eq!(every("1h30m"), Ok(GoDuration::from_minutes(90)));
    assert_eq!(every("0s"), Ok(GoDuration::from_minutes(10)));
    assert_eq!(every("-5m"), Ok(GoDuration::from_minutes(10)));
    assert!(every("often").is_err());
}

#[test]
fn a_place_takes_from_the_pool_what_it_leaves_out() {
    let mut vsphere = least().vsphere;
    let place = |pool: &str, disks: &str, network: &str| Placement {
        resource_pool: Some(pool.to_owned()),
        datastore_cluster: Some(disks.to_owned()),
        network: Some(network.to_owned()),
    };
    assert_eq!(vsphere.placements(), [place("cluster/Resources", "disks", "VM Network")]);
    vsphere.placements = Some(vec![
        Placement { resource_pool: Some("east/Resources".to_owned()), ..Placement::default() },
        place("west/Resources", "west-disks", "West"),
    ]);
    let expected =
        [place("east/Resources", "disks", "VM Network"), place("west/Resources", "west-disks", "West")];
    assert_eq!(vsphere.placements(), expected);
}
