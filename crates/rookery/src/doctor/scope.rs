//! What is to be examined beside the connection. Whoever has such a list may hand it over: the command line has.

/// Names or paths of what VMs would be made from, and of where they would be put.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The datacenter; all of them if none is named.
    pub datacenter: Option<String>,
    /// The datastore, or cluster of them.
    pub datastore: Option<String>,
    pub networks: Vec<String>,
    /// The resource pool or vApp.
    pub pool: Option<String>,
    /// The folder of the VMs.
    pub folder: Option<String>,
    /// What is cloned: templates or VMs.
    pub templates: Vec<String>,
    /// Where all that is written.
    pub source: Source,
}

/// Where whoever asks has written what is looked at: advice speaks of what there is to change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    /// On the command line, and in the settings of the program.
    #[default]
    Flags,
    /// In the settings of a hatchery.
    Hatchery,
}

/// How things are named there.
impl Source {
    fn either(self, flag: &'static str, key: &'static str) -> &'static str {
        match self {
            Self::Flags => flag,
            Self::Hatchery => key,
        }
    }

    pub(super) fn datastore(self) -> &'static str {
        self.either("--datastore NAME", "datastoreString: the template's is used")
    }

    pub(super) fn network(self) -> &'static str {
        self.either("--network NAME", "networkString: the template's is used")
    }

    pub(super) fn pool(self) -> &'static str {
        self.either("--pool NAME", "resourcePool: the default one is used")
    }

    pub(super) fn folder(self) -> &'static str {
        self.either("--folder NAME", "folder: the template's is used")
    }

    pub(super) fn template(self) -> &'static str {
        self.either("--template NAME", "modelVMWare of models or workerProvisioning")
    }

    pub(super) fn ca_file(self) -> &'static str {
        self.either("vcenter.ca-file", "caFile")
    }

    pub(super) fn thumbprint(self) -> &'static str {
        self.either("vcenter.thumbprint", "thumbprint")
    }

    /// Where the address is to be found.
    pub(crate) fn address(self) -> &'static str {
        self.either("`rookery settings` shows the address in use", "the address is `endpoint` of the file")
    }

    /// Where user and password are to be found.
    pub(crate) fn login(self) -> &'static str {
        let keys = "they are `user` and `password` of the file";
        self.either("`rookery settings` shows where they come from", keys)
    }
}
