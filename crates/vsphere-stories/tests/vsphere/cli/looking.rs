//! `rookery vm info`.

use rookery_kit::{Govc, Vcsim, VcsimOptions, rookery};

use super::{id_of, json, printed, refused};

#[tokio::test]
async fn a_vm_is_found_by_its_name_and_by_its_id() {
    let vcsim = Vcsim::start(VcsimOptions::tls(3)).await;
    let govc = Govc::new(&vcsim);
    let name = "DC0_H0_VM1";
    let annotation = "{\"owner\": 'me'}\n<&> \\ 100%\tÜnï 雛\n";
    govc.run(&["vm.power", "-off", name]).await;
    govc.run(&["vm.change", "-vm", name, "-annotation", annotation, "-c", "3", "-m", "512"]).await;
    govc.run(&["vm.power", "-on", name]).await;
    let theirs = govc.json(&["vm.info", name]).await["virtualMachines"][0].take();
    let id = theirs["self"]["value"].as_str().expect("an id");

    let by_name = json(rookery(&vcsim, &["vm", "info", "-o", "json", name]).await);
    for (field, expected) in [
        ("id", &theirs["self"]["value"]),
        ("name", &theirs["name"]),
        ("annotation", &theirs["config"]["annotation"]),
        ("cpus", &theirs["config"]["hardware"]["numCPU"]),
        ("memory_mb", &theirs["config"]["hardware"]["memoryMB"]),
        ("uuid", &theirs["config"]["uuid"]),
        ("instance_uuid", &theirs["config"]["instanceUuid"]),
        ("host", &theirs["runtime"]["host"]["value"]),
        ("folder", &theirs["parent"]["value"]),
        ("resource_pool", &theirs["resourcePool"]["value"]),
    ] {
        assert_eq!(&by_name[field], expected, "{field}");
    }
    assert_eq!(by_name["annotation"], annotation);

    let by_id = json(rookery(&vcsim, &["vm", "info", "-o", "json", id]).await);
    let by_reference =
        json(rookery(&vcsim, &["vm", "info", "-o", "json", &format!("VirtualMachine:{id}")]).await);
    assert_eq!((&by_id, &by_reference), (&by_name, &by_name));

    let places = ["host_name", "folder_name", "resource_pool_name"].map(|key| by_name[key].as_str());
    let paths = [Some("/DC0/host/DC0_H0/DC0_H0"), Some("/DC0/vm"), Some("/DC0/host/DC0_H0/Resources")];
    assert_eq!(places, paths);
    let devices = theirs["config"]["hardware"]["device"].as_array().expect("devices");
    let disk = devices.iter().find(|device| device["capacityInKB"].is_number()).expect("a disk");
    let [ours] = &by_name["disks"].as_array().expect("disks")[..] else { panic!("one disk: {by_name}") };
    assert_eq!(ours["label"], disk["deviceInfo"]["label"]);
    assert_eq!((&ours["size_kb"], &ours["file"]), (&disk["capacityInKB"], &disk["backing"]["fileName"]));
    let datastore = &by_name["datastores"][0];
    assert_eq!(
        (&datastore["id"], &datastore["name"]),
        (&theirs["datastore"][0]["value"], &ours["datastore"])
    );

    let table = printed(rookery(&vcsim, &["vm", "info", name]).await);
    let cell = |field: &str| table.lines().find_map(|line| line.strip_prefix(field)).map(str::trim);
    assert_eq!((cell("id "), cell("memory "), cell("power ")), (Some(id), Some("512 MiB"), Some("on")));
    assert_eq!((cell("host "), cell("datastores ")), (paths[0], datastore["name"].as_str()));
    assert!(table.contains("<&> \\ 100%\\tÜnï 雛"), "{table}");
}

#[tokio::test]
async fn a_name_that_several_vms_bear_is_refused_with_the_ids_to_choose_from() {
    let vcsim = Vcsim::start(VcsimOptions::tls(2).with("-dc=2")).await;
    let govc = Govc::new(&vcsim);
    let (one, other) = (id_of(&govc, "DC0_H0_VM0").await, id_of(&govc, "DC1_H0_VM0").await);
    govc.run(&["object.rename", "/DC1/vm/DC1_H0_VM0", "DC0_H0_VM0"]).await;

    let words = ["\"DC0_H0_VM0\" may mean several VMs", &one, &other];
    refused(rookery(&vcsim, &["vm", "info", "DC0_H0_VM0"]).await, 7, &words);
    refused(rookery(&vcsim, &["vm", "rename", "DC0_H0_VM0", "x"]).await, 7, &words);
    refused(rookery(&vcsim, &["vm", "power", "off", "DC0_H0_VM0"]).await, 7, &words);

    let shown = json(rookery(&vcsim, &["vm", "info", "-o", "json", &other]).await);
    assert_eq!((&shown["id"], &shown["name"]), (&other.clone().into(), &"DC0_H0_VM0".into()));
    // A datacenter makes the name clear again.
    for (datacenter, id) in [("DC0", &one), ("/DC1", &other)] {
        let arguments = ["vm", "info", "-o", "json", "DC0_H0_VM0", "--datacenter", datacenter];
        assert_eq!(json(rookery(&vcsim, &arguments).await)["id"], id.as_str());
    }
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_the_nearest_ones() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2)).await;
    let unknown = "there is no VM \"dc0_h0_vm1\"; did you mean \"DC0_H0_VM1\" or";
    refused(rookery(&vcsim, &["vm", "info", "dc0_h0_vm1"]).await, 7, &[unknown]);
    let far = refused(rookery(&vcsim, &["vm", "info", "quite different"]).await, 7, &["there is no VM"]);
    assert!(!far.contains("did you mean"), "{far}");
}
