//! What is said about datastores, their files, and where disks should go: one row a type, members in schema order.

use jiff::Timestamp;

use crate::specs::{VirtualMachineCloneSpec, VirtualMachineConfigSpec};
use crate::wire::objects;
use crate::{MoRef, Node};

objects! {
    /// What to look for in a folder of a datastore.
    #[derive(Default)]
    HostDatastoreBrowserSearchSpec {
        details: Option<FileQueryFlags> = "details",
        match_pattern: Vec<String> = "matchPattern",
    }

    /// What to tell of each file.
    FileQueryFlags {
        file_type: bool = "fileType",
        file_size: bool = "fileSize",
        modification: bool = "modification",
        file_owner: Option<bool> = "fileOwner",
    }

    /// What stands in one folder. Each file states its class.
    HostDatastoreBrowserSearchResults {
        datastore: Option<MoRef> = "datastore",
        folder_path: Option<String> = "folderPath",
        file: Vec<Node> = "file",
    }

    /// A VM that needs a place in a datastore cluster.
    StoragePlacementSpec {
        kind: String = "type",
        vm: Option<MoRef> = "vm",
        pod_selection_spec: StorageDrsPodSelectionSpec = "podSelectionSpec",
        clone_spec: Option<VirtualMachineCloneSpec> = "cloneSpec",
        clone_name: Option<String> = "cloneName",
        config_spec: Option<VirtualMachineConfigSpec> = "configSpec",
        resource_pool: Option<MoRef> = "resourcePool",
        host: Option<MoRef> = "host",
        folder: Option<MoRef> = "folder",
    }

    /// The datastore cluster, and its part in each disk.
    StorageDrsPodSelectionSpec {
        initial_vm_config: Vec<VmPodConfigForPlacement> = "initialVmConfig",
        storage_pod: Option<MoRef> = "storagePod",
    }

    /// Disks for one datastore cluster.
    VmPodConfigForPlacement {
        storage_pod: MoRef = "storagePod",
        disk: Vec<PodDiskLocator> = "disk",
    }

    /// One disk.
    PodDiskLocator {
        disk_id: i32 = "diskId",
        disk_backing_info: Option<Node> = "diskBackingInfo",
    }

    /// Where the server would put it, best first. No recommendation: the fault says why.
    #[derive(Default)]
    StoragePlacementResult {
        recommendations: Vec<ClusterRecommendation> = "recommendations",
        drs_fault: Option<Node> = "drsFault",
    }

    /// One way to do it. Each action states its class; `StoragePlacementAction` has a `destination`.
    ClusterRecommendation {
        key: String = "key",
        kind: String = "type",
        time: Timestamp = "time",
        rating: i32 = "rating",
        reason: String = "reason",
        reason_text: String = "reasonText",
        action: Vec<Node> = "action",
    }
}
