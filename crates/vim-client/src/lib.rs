//! A client of one vCenter: a session that renews itself, a live inventory, and tasks that are waited for without
//! polling each of them.
//!
//! It never decides what should happen to a VM, and it never knows whether the server is real. What it reports is
//! what the server said: a call that failed is an error or an unknown, never an absence.
//!
//! Start reading at [`Client`], then [`Inventory`] and [`Tasks`].

mod capacity;
mod cards;
mod changing;
mod client;
mod clone;
mod create;
mod datastore;
mod details;
mod disks;
mod endpoint;
mod error;
mod events;
mod extra_config;
mod governor;
mod guest;
mod inventory;
mod machine;
mod made;
mod network;
mod placement;
mod places;
mod properties;
mod rate;
mod renewal;
mod rest;
mod search;
mod session;
mod snapshots;
mod tags;
mod tasks;
mod transfer;
mod uuid;
mod version;
mod view_watch;

pub use capacity::{
    Bytes, Capacity, ClusterCapacity, ClusterDemand, DatastoreCapacity, HostCapacity, HostConnection, Limit,
    Mhz, PoolCapacity, Share, capacity,
};
pub use cards::NetworkBacking;
pub use client::{Client, Deadlines, Options};
pub use clone::{CloneError, CloneOrder, DiskMove, FixedAddress, GivenUp, GuestSetup, UnfinishedClone};
pub use create::{
    BootDevice, Cdrom, CdromBus, Contradiction, CreateError, CreateOrder, Firmware, NewCard, NewDisk,
    ScsiController,
};
pub use datastore::{
    DatastoreError, DatastoreFiles, DatastorePlace, Existing, FileEntry, FileInfo, FileKind, FilePath,
    InvalidFilePath, Reuse, Upload, Uploaded,
};
pub use details::{Details, details};
pub use disks::Disk;
pub use endpoint::{Endpoint, InvalidEndpoint};
pub use error::CallError;
pub use events::{Event, EventFilter, LatestEvents, events, latest_events};
pub use extra_config::{ExtraConfig, ExtraConfigKey, ExtraValue, InvalidExtraConfigKey};
pub use governor::{Blocked, Ceilings, Gate, Governor, Load, Order, Permit, Priority, Site, Waiting};
pub use guest::{GuestError, GuestFileError, GuestUser, Guests, Program, RouteError};
pub use inventory::{
    Completeness, Config, Guest, Inventory, Nic, Snapshot, Vm, VmChange, WATCHED_PATHS, WaitError,
    WeakInventory,
};
pub use machine::{Change, Machines, OperationError, PowerChange};
pub use network::network_backing;
pub use placement::{Member, PlacementError};
pub use places::{FindError, Kind, Place, Places};
pub use properties::{itself, properties, properties_of, read_object, retrieve, through};
pub use rookery_dial::{
    Certificate, Dial, DialError, Dialing, HttpError, InvalidAddress, InvalidProxy, InvalidThumbprint,
    Proxies, Stream, TcpDial, Thumbprint, Trust, TrustError, UserInfo, presented_certificate,
};
pub use search::{SearchError, UuidKind, vm_by_path, vm_by_uuid, vm_names};
pub use snapshots::VmSnapshot;
pub use tags::{Cardinality, Category, CategoryId, NewCategory, Refusal, Tag, TagError, TagId, Tags};
pub use tasks::{TaskError, Tasks};
pub use transfer::{TransferEnd, TransferError};
pub use uuid::{InvalidUuid, Uuid};
