use rookery_kit::{Govc, Vcsim, VcsimOptions, connect};
use rookery_vim_client::{FindError, Kind, Places, SearchError, UuidKind, vm_by_path, vm_by_uuid};

#[tokio::test]
async fn places_have_the_paths_that_govc_gives_them() {
    let world = VcsimOptions::default().with("-dc=2").with("-pod=1").with("-pool=1").with("-tls=false");
    let vcsim = Vcsim::start(world).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["folder.create", "/DC1/vm/a team"]).await;
    let ours = connect(vcsim.address()).await;
    let places = Places::load(&ours.client).await.expect("they load");
    let root = ours.client.content().root_folder.clone();
    for (kind, letters) in [
        (Kind::Datacenter, "d"),
        (Kind::Folder, "f"),
        (Kind::Compute, "r"),
        (Kind::Host, "h"),
        (Kind::Pool, "p"),
        (Kind::Datastore, "s"),
        (Kind::Network, "n"),
    ] {
        let listing = govc.run(&["find", "/", "-type", letters]).await;
        // To govc a datastore cluster is a folder as well.
        let is_pod = |path: &str| kind == Kind::Folder && path.contains("POD");
        for path in listing.lines().filter(|path| *path != "/" && !is_pod(path)) {
            let found =
                places.find(kind, Some(path), &root).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(places.path(&found.id), path);
            let theirs = govc.run(&["object.collect", "-s", path, "name"]).await;
            assert_eq!(theirs.trim_end(), found.name);
        }
        assert!(listing.lines().count() > 0, "{kind:?}");
    }
    let dc1 = places.find(Kind::Datacenter, Some("DC1"), &root).expect("it is there").id.clone();
    let team = places.find(Kind::Folder, Some("a team"), &dc1).expect("it is there");
    assert_eq!(places.path(&team.id), "/DC1/vm/a team");
    let error = places.find(Kind::Datacenter, None, &root).expect_err("there are two");
    assert!(
        matches!(error, FindError::NoDefault { .. }) && error.to_string().contains("/DC0, /DC1"),
        "{error}"
    );
    ours.close().await;
}

#[tokio::test]
async fn a_vm_is_found_by_uuid_and_by_path() {
    let vcsim = Vcsim::start(VcsimOptions::plain(3)).await;
    let govc = Govc::new(&vcsim);
    let ours = connect(vcsim.address()).await;
    let client = &ours.client;
    let snapshot = ours.inventory.complete().await.expect("it loads");
    for vm in snapshot.vms() {
        let uuid = vm.config.uuid.as_deref().expect("a UUID");
        assert_eq!(vm_by_uuid(client, uuid, UuidKind::Bios).await.expect("found"), vm.id);
        let uuid = vm.config.instance_uuid.as_deref().expect("a UUID");
        assert_eq!(vm_by_uuid(client, uuid, UuidKind::Instance).await.expect("found"), vm.id);
        let path = govc.run(&["find", "/", "-type", "m", "-name", &vm.name]).await;
        assert_eq!(vm_by_path(client, path.trim_end()).await.expect("found"), vm.id);
    }
    let missing = vm_by_uuid(client, "00000000-0000-4000-8000-000000000000", UuidKind::Bios).await;
    assert!(matches!(missing, Err(SearchError::Missing { .. })), "{missing:?}");
    let missing = vm_by_path(client, "/DC0/vm/nobody").await;
    assert!(matches!(missing, Err(SearchError::Missing { .. })), "{missing:?}");
    let folder = vm_by_path(client, "/DC0/vm").await;
    assert!(matches!(folder, Err(SearchError::Missing { .. })), "a folder is no VM: {folder:?}");
    ours.close().await;
}
