//! What was seen of a vCenter. What could not be seen is an error or `None`, never an absence.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::MoRef;
use rookery_vim::objects::AboutInfo;
use rookery_vim_client::{
    CallError, Certificate, DialError, Endpoint, FindError, SearchError, Trust, TrustError,
};

use super::privileges::On;

/// Everything that was seen.
#[derive(Debug)]
pub struct Observed {
    /// Where vCenter is meant to be.
    pub endpoint: Endpoint,
    /// Why it would be believed to be the right one.
    pub trust: Trust,
    pub user: String,
    pub now: Timestamp,
    /// What it shows of itself; `None` without TLS.
    pub certificate: Result<Option<Certificate>, DialError>,
    /// What could be seen once logged in.
    pub session: Result<Session, Refusal>,
}

/// Why there is no session.
#[derive(Debug)]
pub enum Refusal {
    /// Nothing was tried: the settings of trust cannot be used.
    Trust(TrustError),
    /// It was tried.
    Call(CallError),
    /// Something on this machine.
    Local(String),
}

/// What a session sees.
#[derive(Debug)]
pub struct Session {
    /// What the server says of itself.
    pub about: AboutInfo,
    /// The version that was agreed on.
    pub api_version: String,
    /// Its clock beside ours.
    pub clock: Result<ClockReading, CallError>,
    /// What was asked for.
    pub sought: Result<Inventory, CallError>,
}

/// How far the server's clock is ahead of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Its time, less ours.
    pub ahead: SignedDuration,
    /// The truth lies this far off at most: half the time that the answer took.
    pub uncertainty: Duration,
}

/// What was looked for, and found or not.
#[derive(Debug)]
pub struct Inventory {
    /// Where everything else was looked for.
    pub datacenter: Datacenter,
    pub datastore: Option<Sought<Datastore>>,
    pub networks: Vec<Sought<Network>>,
    pub pool: Option<Sought<Pool>>,
    pub folder: Option<Sought<Folder>>,
    pub templates: Vec<Sought<Template>>,
    /// What the user may do.
    pub privileges: Vec<ObjectPrivileges>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datacenter {
    /// This one, by its path.
    One(String),
    /// None was named: all of these.
    All(Vec<String>),
    /// Not the one that was named.
    Missing(FindError),
}

/// Something that was looked for by name.
#[derive(Debug)]
pub struct Sought<T> {
    /// What was asked for.
    pub name: String,
    pub found: Result<T, Miss>,
}

/// Why something was not found.
#[derive(Debug)]
pub enum Miss {
    /// No place has this name, or several have.
    Place(FindError),
    /// No VM has this name. Similar names are given.
    Vm {
        /// Names that may have been meant.
        similar: Vec<String>,
    },
    /// Several VMs have this name.
    Vms(Vec<MoRef>),
    /// No VM is at this path.
    Path(SearchError),
    /// It could not be read.
    Call(CallError),
}

/// A datastore, or a cluster of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datastore {
    pub id: MoRef,
    pub path: String,
    /// Whether any host reaches it.
    pub accessible: Option<bool>,
    /// `normal`, or how it is being emptied.
    pub maintenance: Option<String>,
    /// Bytes.
    pub capacity: Option<i64>,
    /// Bytes.
    pub free: Option<i64>,
    /// The datastores that a VM on it may be on: itself, or those of the cluster.
    pub members: Option<Vec<MoRef>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub id: MoRef,
    pub path: String,
    /// The hosts that have it, if the server says so.
    pub hosts: Vec<MoRef>,
}

#[derive(Debug)]
pub struct Pool {
    pub id: MoRef,
    pub path: String,
    /// `green`, `yellow`, `red`, or `gray` for unknown.
    pub status: Option<String>,
    /// MHz.
    pub cpu: PoolUsage,
    /// Bytes.
    pub memory: PoolUsage,
    /// What its hosts reach.
    pub reach: Result<Reach, CallError>,
}

/// How much of a pool is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolUsage {
    pub used: Option<i64>,
    /// The most that can be.
    pub most: Option<i64>,
}

/// What the hosts of a pool reach.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub hosts: Option<Vec<MoRef>>,
    /// How many of them can run VMs now.
    pub usable_hosts: Option<i64>,
    /// What at least one of them reaches.
    pub networks: Option<Vec<MoRef>>,
    /// What at least one of them reaches.
    pub datastores: Option<Vec<MoRef>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub id: MoRef,
    pub path: String,
    /// Classes of what may be in it.
    pub holds: Option<Vec<String>>,
}

/// A template, or a VM that is cloned like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub id: MoRef,
    pub path: String,
    /// Whether it is marked as one.
    pub marked: Option<bool>,
    /// `poweredOn`, `poweredOff` or `suspended`.
    pub power: Option<String>,
    /// What is known of VMware Tools.
    pub tools: Tools,
    /// Whether it has a snapshot.
    pub snapshot: Option<bool>,
    /// Where its disks are: references and names.
    pub datastores: Option<Vec<(MoRef, String)>>,
    /// Classes of its network cards.
    pub cards: Option<Vec<String>>,
    /// How many disks it has.
    pub disks: Option<usize>,
}

/// Three ways in which servers tell about VMware Tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// Zero if there are none.
    pub version: Option<i64>,
    /// `guestToolsNotInstalled`, `guestToolsCurrent`, …
    pub version_status: Option<String>,
    /// `toolsNotInstalled`, `toolsOk`, …
    pub status: Option<String>,
}

/// What the user may do with one object.
#[derive(Debug)]
pub struct ObjectPrivileges {
    /// What the object stands for.
    pub on: Vec<On>,
    /// Its path, or the name that did not lead to it.
    pub object: String,
    pub answer: Answer,
}

/// Whether privileges are granted.
#[derive(Debug)]
pub enum Answer {
    /// By identifier.
    Told(BTreeMap<String, bool>),
    /// The object was not found.
    NoObject,
    /// The server has nobody to ask.
    Unsupported,
    Failed(CallError),
}
