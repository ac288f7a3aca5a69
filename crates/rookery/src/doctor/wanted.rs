//! What is to be examined beside the connection. Whoever has such a list may hand it over: the command line has.

/// Names or paths of what VMs would be made from, and of where they would be put.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The datacenter; all of them if none is named.
    pub datacenter: Option<String>,
    /// The datastore, or cluster of them.
    pub datastore: Option<String>,
    /// The networks.
    pub networks: Vec<String>,
    /// The resource pool or vApp.
    pub pool: Option<String>,
    /// The folder of the VMs.
    pub folder: Option<String>,
    /// What is cloned: templates or VMs.
    pub templates: Vec<String>,
}
