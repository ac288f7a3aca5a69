//! The names of objects: a class and a number, and how both stand in a reference.

use std::fmt::Write as _;

use rookery_vim::MoRef;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($( $kind:ident $prefix:literal $single:literal is $($base:literal)* );* $(;)?) => {
        /// The classes of objects.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $( $kind ),* }

        impl Kind {
            pub(crate) const ALL: &[Self] = &[ $( Self::$kind ),* ];

            /// The class as references name it.
            pub fn class(self) -> &'static str {
                match self { $( Self::$kind => stringify!($kind) ),* }
            }

            /// What identifiers begin with; nothing where there is only one object.
            fn prefix(self) -> &'static str {
                match self { $( Self::$kind => $prefix ),* }
            }

            /// The identifier of the object that is always there, whose number is 0; nothing where there is none.
            fn only(self) -> &'static str {
                match self { $( Self::$kind => $single ),* }
            }

            /// Whether objects of this class are of that class, too.
            pub fn is_a(self, class: &str) -> bool {
                class == self.class() || match self { $( Self::$kind => [$($base),*].contains(&class) ),* }
            }
        }
    };
}

kinds! {
    Folder "group-d" "" is "ManagedEntity";
    Datacenter "datacenter-" "" is "ManagedEntity";
    ComputeResource "domain-s" "" is "ManagedEntity";
    ClusterComputeResource "domain-c" "" is "ManagedEntity" "ComputeResource";
    HostSystem "host-" "" is "ManagedEntity";
    ResourcePool "resgroup-" "" is "ManagedEntity";
    Datastore "datastore-" "" is "ManagedEntity";
    StoragePod "group-p" "" is "ManagedEntity" "Folder";
    Network "network-" "" is "ManagedEntity";
    DistributedVirtualPortgroup "dvportgroup-" "" is "ManagedEntity" "Network";
    VmwareDistributedVirtualSwitch "dvs-" "" is "ManagedEntity" "DistributedVirtualSwitch";
    VirtualMachine "vm-" "" is "ManagedEntity";
    VirtualMachineSnapshot "snapshot-" "" is;
    HostDatastoreBrowser "datastoreBrowser-" "" is;
    Task "task-" "" is;
    ContainerView "view-" "" is "View" "ManagedObjectView";
    ListView "listview-" "" is "View" "ManagedObjectView";
    PropertyCollector "collector-" "propertyCollector" is;
    PropertyFilter "filter-" "" is;
    EventHistoryCollector "eventcollector-" "" is "HistoryCollector";
    TaskHistoryCollector "taskcollector-" "" is "HistoryCollector";
    ServiceInstance "" "ServiceInstance" is;
    SessionManager "" "SessionManager" is;
    AuthorizationManager "" "AuthorizationManager" is;
    ViewManager "" "ViewManager" is;
    SearchIndex "" "SearchIndex" is;
    TaskManager "" "TaskManager" is;
    EventManager "" "EventManager" is;
    FileManager "" "FileManager" is;
    StorageResourceManager "" "StorageResourceManager" is;
    CustomizationSpecManager "" "CustomizationSpecManager" is;
    VirtualDiskManager "" "virtualDiskManager" is;
    GuestOperationsManager "" "guestOperationsManager" is;
    GuestAuthManager "" "guestOperationsAuthManager" is;
    GuestFileManager "" "guestOperationsFileManager" is;
    GuestProcessManager "" "guestOperationsProcessManager" is;
    OptionManager "" "VpxSettings" is;
    PerformanceManager "" "PerfMgr" is;
    LicenseManager "" "LicenseManager" is;
    ExtensionManager "" "ExtensionManager" is;
}

/// One object. Numbers are never used again, whatever the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id {
    pub kind: Kind,
    pub number: u32,
}

/// A text is not the name of an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a reference such as VirtualMachine:vm-12")]
pub struct InvalidId(String);

impl TryFrom<String> for Id {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        let parts = text.split_once(':');
        parts.and_then(|(kind, id)| Self::of(&MoRef::new(kind, id))).ok_or(InvalidId(text))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        format!("{}:{}", id.kind.class(), id.text())
    }
}

impl Id {
    /// The object of that reference, whether there is one or not.
    pub fn of(reference: &MoRef) -> Option<Self> {
        let kind = *Kind::ALL.iter().find(|kind| kind.class() == reference.kind())?;
        if !kind.only().is_empty() && kind.only() == reference.id() {
            return Some(Self::single(kind));
        }
        let number = Some(kind.prefix()).filter(|prefix| !prefix.is_empty())?;
        let number = reference.id().strip_prefix(number)?;
        // Only as it was given out: no sign, no leading zero.
        let canonical = number.bytes().all(|b| b.is_ascii_digit()) && !number.starts_with('0');
        Some(Self { kind, number: number.parse().ok().filter(|_| canonical)? })
    }

    /// The one object of that class.
    pub const fn single(kind: Kind) -> Self {
        Self { kind, number: 0 }
    }

    /// How clients name it.
    pub fn reference(self) -> MoRef {
        MoRef::new(self.kind.class(), &self.text())
    }

    /// The identifier without its class, as in `vm-12`.
    pub fn text(self) -> String {
        if self.number == 0 && !self.kind.only().is_empty() {
            return self.kind.only().to_owned();
        }
        let mut text = String::with_capacity(16);
        text.push_str(self.kind.prefix());
        // Writing to a string cannot fail.
        write!(text, "{}", self.number).ok();
        text
    }

    /// Whether it is part of the inventory, and so has a name and a parent.
    pub fn is_entity(self) -> bool {
        self.kind.is_a("ManagedEntity")
    }
}
