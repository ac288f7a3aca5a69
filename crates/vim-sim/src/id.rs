//! The names of objects: a class and a number, and how both stand in a reference.

use std::fmt::Write as _;

use rookery_vim::MoRef;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($( $(#[$meta:meta])* $kind:ident $prefix:literal is $($base:literal)* );* $(;)?) => {
        /// The classes of objects that there can be many of.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind { $( $(#[$meta])* $kind ),* }

        impl Kind {
            const ALL: &[Self] = &[ $( Self::$kind ),* ];

            pub(crate) fn all() -> &'static [Self] {
                Self::ALL
            }

            /// The class as references name it.
            pub fn class(self) -> &'static str {
                match self { $( Self::$kind => stringify!($kind) ),* }
            }

            fn prefix(self) -> &'static str {
                match self { $( Self::$kind => $prefix ),* }
            }

            /// Whether objects of this class are of that class, too.
            pub fn is_a(self, class: &str) -> bool {
                class == self.class() || match self { $( Self::$kind => [$($base),*].contains(&class) ),* }
            }
        }
    };
}

kinds! {
    Folder "group-d" is "ManagedEntity";
    Datacenter "datacenter-" is "ManagedEntity";
    ComputeResource "domain-s" is "ManagedEntity";
    ClusterComputeResource "domain-c" is "ManagedEntity" "ComputeResource";
    HostSystem "host-" is "ManagedEntity";
    ResourcePool "resgroup-" is "ManagedEntity";
    Datastore "datastore-" is "ManagedEntity";
    StoragePod "group-p" is "ManagedEntity" "Folder";
    Network "network-" is "ManagedEntity";
    DistributedVirtualPortgroup "dvportgroup-" is "ManagedEntity" "Network";
    VmwareDistributedVirtualSwitch "dvs-" is "ManagedEntity" "DistributedVirtualSwitch";
    VirtualMachine "vm-" is "ManagedEntity";
    VirtualMachineSnapshot "snapshot-" is;
    HostDatastoreBrowser "datastoreBrowser-" is;
    Task "task-" is;
    ContainerView "view-" is "View" "ManagedObjectView";
    ListView "listview-" is "View" "ManagedObjectView";
    PropertyCollector "collector-" is;
    PropertyFilter "filter-" is;
    EventHistoryCollector "eventcollector-" is "HistoryCollector";
    TaskHistoryCollector "taskcollector-" is "HistoryCollector";
    ServiceInstance "" is;
    SessionManager "" is;
    AuthorizationManager "" is;
    ViewManager "" is;
    SearchIndex "" is;
    TaskManager "" is;
    EventManager "" is;
    FileManager "" is;
    StorageResourceManager "" is;
    CustomizationSpecManager "" is;
    VirtualDiskManager "" is;
    GuestOperationsManager "" is;
    GuestAuthManager "" is;
    GuestFileManager "" is;
    GuestProcessManager "" is;
    OptionManager "" is;
    PerformanceManager "" is;
    LicenseManager "" is;
    ExtensionManager "" is;
}

/// Objects that there is one of. Their number is 0.
const SINGLE: &[(Kind, &str)] = &[
    (Kind::ServiceInstance, "ServiceInstance"),
    (Kind::PropertyCollector, "propertyCollector"),
    (Kind::SessionManager, "SessionManager"),
    (Kind::AuthorizationManager, "AuthorizationManager"),
    (Kind::ViewManager, "ViewManager"),
    (Kind::SearchIndex, "SearchIndex"),
    (Kind::TaskManager, "TaskManager"),
    (Kind::EventManager, "EventManager"),
    (Kind::FileManager, "FileManager"),
    (Kind::StorageResourceManager, "StorageResourceManager"),
    (Kind::CustomizationSpecManager, "CustomizationSpecManager"),
    (Kind::VirtualDiskManager, "virtualDiskManager"),
    (Kind::GuestOperationsManager, "guestOperationsManager"),
    (Kind::GuestAuthManager, "guestOperationsAuthManager"),
    (Kind::GuestFileManager, "guestOperationsFileManager"),
    (Kind::GuestProcessManager, "guestOperationsProcessManager"),
    (Kind::OptionManager, "VpxSettings"),
    (Kind::PerformanceManager, "PerfMgr"),
    (Kind::LicenseManager, "LicenseManager"),
    (Kind::ExtensionManager, "ExtensionManager"),
];

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
        if let Some((kind, _)) =
            SINGLE.iter().find(|(kind, id)| *id == reference.id() && kind.class() == reference.kind())
        {
            return Some(Self::single(*kind));
        }
        let kind = *Kind::ALL.iter().find(|kind| kind.class() == reference.kind())?;
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
        if let Some((_, id)) = SINGLE.iter().find(|(kind, _)| self == Self::single(*kind)) {
            return (*id).to_owned();
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
