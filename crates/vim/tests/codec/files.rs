//! Files on datastores and places for disks: the fact sheet's words (vim25, sections 7 and 12), and those of govc and
//! vcsim.

use insta::assert_snapshot;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rookery_vim::methods::{
    DeleteDatastoreFileTask, MakeDirectory, MoveDatastoreFileTask, RecommendDatastores, SearchDatastoreTask,
    WaitForUpdatesEx,
};
use rookery_vim::specs::{VirtualMachineCloneSpec, VirtualMachineConfigSpec, VirtualMachineRelocateSpec};
use rookery_vim::storage::{
    ClusterRecommendation, FileQueryFlags, HostDatastoreBrowserSearchResults, HostDatastoreBrowserSearchSpec,
    PodDiskLocator, StorageDrsPodSelectionSpec, StoragePlacementResult, StoragePlacementSpec,
    VmPodConfigForPlacement,
};
use rookery_vim::{MoRef, Node, Wire};

use crate::round_trip::{call_comes_back, reference, result_comes_back, text, time, value};
use crate::writing::{has_members, inside, reread};
use crate::{answered, result};

#[test]
fn what_is_said_of_files_and_places_keeps_the_order_of_the_schema() {
    has_members(&details(), "fileType fileSize modification fileOwner");
    has_members(&search(), "details matchPattern matchPattern");
    has_members(
        &placement(),
        "type vm podSelectionSpec cloneSpec cloneName configSpec resourcePool host folder",
    );
    let pods = placement().pod_selection_spec;
    has_members(&pods, "initialVmConfig storagePod");
    has_members(&pods.initial_vm_config[0], "storagePod disk");
    has_members(&pods.initial_vm_config[0].disk[0], "diskId diskBackingInfo");
    let found = HostDatastoreBrowserSearchResults {
        datastore: Some(MoRef::new("Datastore", "datastore-60")),
        folder_path: Some("[LocalDS_0] iso".into()),
        file: vec![Node::new("file")],
    };
    has_members(&found, "datastore folderPath file");
    let answer = result::<RecommendDatastores>("captures/recommend_datastores");
    has_members(&answer.recommendations[0], "key type time rating reason reasonText action");
}

/// The examples of the fact sheet.
#[test]
fn orders_about_files_are_written_in_the_words_of_the_schema() {
    let this = MoRef::new("FileManager", "FileManager");
    let datacenter = Some(MoRef::new("Datacenter", "datacenter-1"));
    assert_snapshot!(inside(&MakeDirectory {
        this: this.clone(),
        name: "[LocalDS_0] iso/cache".into(),
        datacenter: datacenter.clone(),
        create_parent_directories: Some(true),
    }), @r#"<MakeDirectory xmlns="urn:vim25"><_this type="FileManager">FileManager</_this><name>[LocalDS_0] iso/cache</name><datacenter type="Datacenter">datacenter-1</datacenter><createParentDirectories>true</createParentDirectories></MakeDirectory>"#);
    assert_snapshot!(inside(&DeleteDatastoreFileTask {
        this: this.clone(),
        name: "[LocalDS_0] iso/cache/abc.iso".into(),
        datacenter: datacenter.clone(),
    }), @r#"<DeleteDatastoreFile_Task xmlns="urn:vim25"><_this type="FileManager">FileManager</_this><name>[LocalDS_0] iso/cache/abc.iso</name><datacenter type="Datacenter">datacenter-1</datacenter></DeleteDatastoreFile_Task>"#);
    assert_snapshot!(inside(&MoveDatastoreFileTask {
        this,
        source_name: "[LocalDS_0] a".into(),
        source_datacenter: datacenter.clone(),
        destination_name: "[LocalDS_0] b".into(),
        destination_datacenter: datacenter,
        force: Some(false),
    }), @r#"<MoveDatastoreFile_Task xmlns="urn:vim25"><_this type="FileManager">FileManager</_this><sourceName>[LocalDS_0] a</sourceName><sourceDatacenter type="Datacenter">datacenter-1</sourceDatacenter><destinationName>[LocalDS_0] b</destinationName><destinationDatacenter type="Datacenter">datacenter-1</destinationDatacenter><force>false</force></MoveDatastoreFile_Task>"#);
    assert_snapshot!(inside(&SearchDatastoreTask {
        this: MoRef::new("HostDatastoreBrowser", "hostdatastorebrowser-61"),
        datastore_path: "[LocalDS_0] iso".into(),
        search_spec: Some(search()),
    }), @r#"<SearchDatastore_Task xmlns="urn:vim25"><_this type="HostDatastoreBrowser">hostdatastorebrowser-61</_this><datastorePath>[LocalDS_0] iso</datastorePath><searchSpec><details><fileType>true</fileType><fileSize>true</fileSize><modification>true</modification><fileOwner>true</fileOwner></details><matchPattern>x.iso</matchPattern><matchPattern>y.iso</matchPattern></searchSpec></SearchDatastore_Task>"#);
}

#[test]
fn the_calls_of_govc_are_read_and_written_alike() {
    let made = reread::<MakeDirectory>("captures/call_make_directory");
    assert_eq!((&*made.name, made.create_parent_directories), ("[LocalDS_0] iso/cache", Some(true)));
    let moved = reread::<MoveDatastoreFileTask>("captures/call_move_file");
    assert_eq!(
        (&*moved.source_name, &*moved.destination_name, moved.force),
        ("[LocalDS_0] iso/cache/x.iso", "[LocalDS_0] iso/cache/y.iso", Some(true))
    );
    assert_eq!(reread::<DeleteDatastoreFileTask>("captures/call_delete_file").name, moved.destination_name);
    let searched = reread::<SearchDatastoreTask>("captures/call_search_datastore");
    assert_eq!(searched.search_spec.map(|s| s.match_pattern), Some(vec!["*".to_owned()]));
    let placed = reread::<RecommendDatastores>("captures/call_recommend_datastores").storage_spec;
    let pod = MoRef::new("StoragePod", "group-p7");
    assert_eq!((&*placed.kind, placed.pod_selection_spec.storage_pod), ("create", Some(pod)));
    assert_eq!(placed.pod_selection_spec.initial_vm_config[0].disk[0].disk_id, -202);
    assert_eq!(placed.config_spec.and_then(|c| c.name).as_deref(), Some("podvm"));
}

#[test]
fn what_a_search_found_is_read_from_its_task() {
    let set = result::<WaitForUpdatesEx>("captures/updates_search_result").expect("the task has ended");
    let mut changes = set.filter_set.into_iter().flat_map(|f| f.object_set).flat_map(|o| o.change_set);
    let mut info = changes.next().and_then(|change| change.val).expect("the task");
    let found = info.take("result").expect("a result");
    let found = HostDatastoreBrowserSearchResults::from_node(found).expect("files");
    assert_eq!(found.folder_path.as_deref(), Some("[LocalDS_0] iso/cache"));
    let [file] = &*found.file else { panic!("{found:?}") };
    assert_eq!(
        (file.xsi_type.as_deref(), file.child_text("path"), file.child_text("fileSize")),
        (Some("IsoImageFileInfo"), Some("x.iso"), Some("6"))
    );
    // A file that is not there is no fault: the folder has no such file.
    let nothing = Node::new("result");
    assert_eq!(HostDatastoreBrowserSearchResults::from_node(nothing).map(|found| found.file), Ok(vec![]));
}

#[test]
fn a_recommendation_names_the_datastore() {
    let answer = result::<RecommendDatastores>("captures/recommend_datastores");
    let [first] = &*answer.recommendations else { panic!("{answer:?}") };
    assert_eq!((first.rating, &*first.reason), (1, "storagePlacement"));
    let [action] = &*first.action else { panic!("{first:?}") };
    assert_eq!(action.xsi_type.as_deref(), Some("StoragePlacementAction"));
    let destination = action.child("destination").cloned().map(MoRef::from_node);
    assert_eq!(destination, Some(Ok(MoRef::new("Datastore", "datastore-60"))));
}

#[test]
fn no_recommendation_comes_with_its_reason() {
    let answer = answered::<RecommendDatastores>(
        "<returnval><drsFault><reason>storagePlacement</reason></drsFault></returnval>",
    )
    .expect("an answer");
    assert!(answer.recommendations.is_empty());
    assert_eq!(
        answer.drs_fault.as_ref().and_then(|fault| fault.child_text("reason")),
        Some("storagePlacement")
    );
}

#[test]
fn an_order_without_a_result_is_done() {
    result::<MakeDirectory>("captures/make_directory");
}

proptest! {
    #[test]
    fn orders_about_files_come_back(
        this in reference(),
        datacenter in option::of(reference()),
        words in vec(text(), 2),
        patterns in vec(text(), 0..3),
        flag in option::of(any::<bool>()),
    ) {
        let [first, second] = <[String; 2]>::try_from(words).expect("two words");
        call_comes_back(&MakeDirectory {
            this: this.clone(),
            name: first.clone(),
            datacenter: datacenter.clone(),
            create_parent_directories: flag,
        })?;
        call_comes_back(&MoveDatastoreFileTask {
            this: this.clone(),
            source_name: first.clone(),
            source_datacenter: datacenter.clone(),
            destination_name: second,
            destination_datacenter: datacenter.clone(),
            force: flag,
        })?;
        let details = flag.map(|file_type| FileQueryFlags { file_type, ..details() });
        let search_spec = flag.map(|_| HostDatastoreBrowserSearchSpec { details, match_pattern: patterns });
        call_comes_back(&SearchDatastoreTask { this: this.clone(), datastore_path: first.clone(), search_spec })?;
        call_comes_back(&DeleteDatastoreFileTask { this, name: first, datacenter })?;
    }

    #[test]
    fn placements_come_back(
        this in reference(),
        kind in text(),
        vm in option::of(reference()),
        pod in reference(),
        backing in option::of(value("diskBackingInfo")),
        disk_id in any::<i32>(),
        clone_name in option::of(text()),
    ) {
        let disk = vec![PodDiskLocator { disk_id, disk_backing_info: backing }];
        let initial_vm_config = vec![VmPodConfigForPlacement { storage_pod: pod.clone(), disk }];
        let pod_selection_spec = StorageDrsPodSelectionSpec { initial_vm_config, storage_pod: Some(pod) };
        let storage_spec = StoragePlacementSpec { kind, vm, pod_selection_spec, clone_name, ..placement() };
        call_comes_back(&RecommendDatastores { this, storage_spec })?;
    }

    #[test]
    fn recommendations_come_back(
        words in vec(text(), 4),
        time in time(),
        rating in any::<i32>(),
        action in vec(value("action"), 0..3),
        drs_fault in option::of(value("drsFault")),
    ) {
        let [key, kind, reason, reason_text] = <[String; 4]>::try_from(words).expect("four words");
        let recommendation = ClusterRecommendation { key, kind, time, rating, reason, reason_text, action };
        result_comes_back::<RecommendDatastores>(StoragePlacementResult {
            recommendations: vec![recommendation],
            drs_fault,
        })?;
    }
}

fn details() -> FileQueryFlags {
    FileQueryFlags { file_type: true, file_size: true, modification: true, file_owner: Some(true) }
}

fn search() -> HostDatastoreBrowserSearchSpec {
    HostDatastoreBrowserSearchSpec {
        details: Some(details()),
        match_pattern: vec!["x.iso".into(), "y.iso".into()],
    }
}

fn placement() -> StoragePlacementSpec {
    let pod = MoRef::new("StoragePod", "group-p7");
    let disk = vec![PodDiskLocator { disk_id: -202, disk_backing_info: Some(Node::new("diskBackingInfo")) }];
    let initial_vm_config = vec![VmPodConfigForPlacement { storage_pod: pod.clone(), disk }];
    StoragePlacementSpec {
        kind: "create".into(),
        vm: Some(MoRef::new("VirtualMachine", "vm-7")),
        pod_selection_spec: StorageDrsPodSelectionSpec { initial_vm_config, storage_pod: Some(pod) },
        clone_spec: Some(VirtualMachineCloneSpec {
            location: VirtualMachineRelocateSpec::default(),
            template: false,
            config: None,
            customization: None,
            power_on: true,
            snapshot: None,
        }),
        clone_name: Some("worker-1".into()),
        config_spec: Some(VirtualMachineConfigSpec::default()),
        resource_pool: Some(MoRef::new("ResourcePool", "resgroup-27")),
        host: Some(MoRef::new("HostSystem", "host-21")),
        folder: Some(MoRef::new("Folder", "group-2")),
    }
}
