//! Methods about files on datastores, and about where disks should go.

use super::methods;
use crate::MoRef;
use crate::storage::{HostDatastoreBrowserSearchSpec, StoragePlacementResult, StoragePlacementSpec};

methods! {
    /// Makes a folder such as `[datastore] a/b`. One that is there is a fault.
    MakeDirectory = "MakeDirectory", repeatable: true, returns () {
        name: String = "name",
        datacenter: Option<MoRef> = "datacenter",
        create_parent_directories: Option<bool> = "createParentDirectories",
    }
    /// Removes a file, or a folder with all that is in it.
    DeleteDatastoreFileTask = "DeleteDatastoreFile_Task", repeatable: false, returns MoRef {
        name: String = "name",
        datacenter: Option<MoRef> = "datacenter",
    }
    /// Moves a file or folder; what is in its way stays unless told to.
    MoveDatastoreFileTask = "MoveDatastoreFile_Task", repeatable: false, returns MoRef {
        source_name: String = "sourceName",
        source_datacenter: Option<MoRef> = "sourceDatacenter",
        destination_name: String = "destinationName",
        destination_datacenter: Option<MoRef> = "destinationDatacenter",
        force: Option<bool> = "force",
    }
    /// Looks into a folder, called on a datastore's browser. A missing folder is a fault, a missing file is not.
    SearchDatastoreTask = "SearchDatastore_Task", repeatable: true, returns MoRef {
        datastore_path: String = "datastorePath",
        search_spec: Option<HostDatastoreBrowserSearchSpec> = "searchSpec",
    }
    /// Where a datastore cluster would put a VM's disks.
    RecommendDatastores = "RecommendDatastores", repeatable: true, returns StoragePlacementResult {
        storage_spec: StoragePlacementSpec = "storageSpec",
    }
}
