//! Why a job is not served now, in words and numbers for the people who wait for it.

use std::fmt;

use crate::plan::capacity::Shortage;
use jiff::Timestamp;
use rookery_cds::JobId;

use super::apart::WhyApart;
use crate::intake::demand::Refusal;

/// A job that is not served now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub job: JobId,
    pub why: WaitReason,
}

/// Why something is not made ahead of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotMade {
    Warm { missing: u32, why: rookery_fleet::warm::WaitReason },
    Registration(WaitReason),
}

impl fmt::Display for NotMade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Warm { missing: 1, why } => write!(f, "1 warm machine is missing: {why}"),
            Self::Warm { missing, why } => write!(f, "{missing} warm machines are missing: {why}"),
            Self::Registration(why) => write!(f, "not registered: {why}"),
        }
    }
}

/// Why a job is not served now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    Refused(Refusal),
    Shortage(Shortage),
    /// vCenter refused something for want of room, whatever the pool says.
    Full {
        /// Until when nothing new is started.
        until: Timestamp,
    },
    /// CDS is slow, and would lose jobs if more workers turned to it.
    SlowCds {
        /// How many may start at once.
        allowed: u32,
    },
    NoAddress {
        total: u64,
    },
    /// Clones from before our start may still take addresses.
    AddressesUnsettled {
        /// How many; none: vCenter has not told yet whether there are any.
        clones: usize,
    },
    TemplateMissing {
        template: String,
    },
    TemplateAmbiguous {
        template: String,
        count: usize,
    },
    /// The template of a V1 model has to be made first.
    TemplateBeingMade {
        model: String,
    },
    /// The template's name is that of another model's template.
    TemplateOfAnotherModel {
        template: String,
        /// The model that it belongs to.
        owner: String,
    },
    /// A machine that is no template of a model has the name of a model's template.
    NameOfTemplateTaken {
        name: String,
        model: String,
    },
    /// The template is older than its model, and another hatchery made it.
    TemplateOfAnotherHatchery {
        template: String,
        model: String,
        /// The hatchery that made it.
        hatchery: String,
    },
    /// The template is older than its model, and is left alone until somebody has looked at it.
    TemplateLeftAlone {
        template: String,
        model: String,
        why: WhyApart,
    },
    /// Something that is not ours has the name that the template has while it is made.
    InTheWay {
        name: String,
        /// The hatchery that it belongs to, if it belongs to one: it may go by itself then.
        owner: Option<String>,
    },
    /// The template failed and is left alone for a while.
    BackOff {
        template: String,
        until: Timestamp,
    },
    /// The model cannot be used as it is.
    Unusable {
        model: String,
        reason: String,
    },
    /// vCenter has so much to do that its clone or start would not begin in time.
    Busy {
        /// How many orders are before it.
        ahead: usize,
    },
    /// Another front of the process took the name, the address or the room between the plan and the start.
    TakenMeanwhile,
    /// vCenter is being asked how much room there is.
    RoomIsAsked,
    /// A machine of this job is there already.
    Served {
        machine: String,
    },
    /// The inventory is not complete: what is there cannot be said.
    InventoryIncomplete,
    /// CDS has not told which workers it knows.
    WorkersUnknown,
    Draining,
}

impl WaitReason {
    /// A word for metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.as_str(),
            Self::Shortage(_) | Self::Full { .. } => "capacity",
            Self::SlowCds { .. } => "slow_cds",
            Self::NoAddress { .. } | Self::AddressesUnsettled { .. } => "address",
            Self::TemplateMissing { .. }
            | Self::TemplateAmbiguous { .. }
            | Self::TemplateBeingMade { .. }
            | Self::TemplateOfAnotherModel { .. }
            | Self::NameOfTemplateTaken { .. }
            | Self::TemplateOfAnotherHatchery { .. }
            | Self::TemplateLeftAlone { .. }
            | Self::InTheWay { .. } => "template",
            Self::BackOff { .. } => "back-off",
            Self::Busy { .. } => "vcenter_busy",
            Self::TakenMeanwhile => "reserved",
            Self::Served { .. } => "served",
            Self::Unusable { .. } => "model",
            Self::InventoryIncomplete | Self::WorkersUnknown | Self::RoomIsAsked => "unknown",
            Self::Draining => "draining",
        }
    }

    /// Whether waiting alone will not help: somebody has to change something.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.is_permanent(),
            Self::Shortage(shortage) => shortage.is_hopeless(),
            Self::TemplateMissing { .. }
            | Self::TemplateAmbiguous { .. }
            | Self::TemplateOfAnotherModel { .. }
            | Self::NameOfTemplateTaken { .. }
            | Self::TemplateOfAnotherHatchery { .. }
            | Self::TemplateLeftAlone { .. }
            | Self::InTheWay { owner: None, .. }
            | Self::Unusable { .. } => true,
            Self::Full { .. }
            | Self::SlowCds { .. }
            | Self::NoAddress { .. }
            | Self::AddressesUnsettled { .. }
            | Self::TemplateBeingMade { .. }
            | Self::InTheWay { owner: Some(_), .. }
            | Self::BackOff { .. }
            | Self::Busy { .. }
            | Self::TakenMeanwhile
            | Self::RoomIsAsked
            | Self::Served { .. }
            | Self::InventoryIncomplete
            | Self::WorkersUnknown
            | Self::Draining => false,
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Shortage(shortage) => shortage.fmt(f),
            Self::Full { until } => {
                write!(f, "vCenter had no room for a machine; the next one is started after {until:.0}")
            }
            Self::SlowCds { allowed: 1 } => f.write_str("CDS answers slowly: only 1 worker starts at once"),
            Self::SlowCds { allowed } => write!(f, "CDS answers slowly: only {allowed} workers start at once"),
            Self::NoAddress { total } => write!(f, "none of the {total} configured addresses is free"),
            Self::AddressesUnsettled { clones: 0 } => f.write_str(
                "no address is given out until vCenter has listed the clones that it was making when the hatchery \
                 started: they may hold some",
            ),
            Self::AddressesUnsettled { clones } => {
                write!(
                    f,
                    "no address is given out until {clones} clones have ended that vCenter was making when the \
                     hatchery started: they may hold some; wait, or cancel them in vCenter"
                )
            }
            Self::TemplateMissing { template } => write!(
                f,
                "there is no template {template:?} in vCenter: create it, or correct the image of the worker model"
            ),
            Self::TemplateAmbiguous { template, count } => {
                write!(f, "{count} machines are named {template:?}: rename all but the template")
            }
            Self::TemplateBeingMade { model } => {
                write!(f, "the template of the model {model:?} is being made")
            }
            Self::TemplateOfAnotherModel { template, owner } => {
                write!(f, "{template:?} is the template of the model {owner:?}: rename one of the two models")
            }
            Self::NameOfTemplateTaken { name, model } => write!(
                f,
                "the machine {name:?} has the name of the template of the model {model:?} but is no template of a \
                 model: rename the machine or the model"
            ),
            Self::TemplateLeftAlone { template, model, why } => write!(
                f,
                "the template {template:?} is older than the model {model:?} and is left alone: {why}; `rookery hatchery \
                 status` tells what to do"
            ),
            Self::TemplateOfAnotherHatchery { template, model, hatchery } => write!(
                f,
                "the template {template:?} is older than the model {model:?} and was made by the hatchery \
                 {hatchery:?}: `rookery hatchery adopt {model}` sets it aside, and a new one is made"
            ),
            Self::InTheWay { name, owner: None } => write!(
                f,
                "the template cannot be made: a machine that is not this hatchery's is called {name:?}; rename or \
                 remove it"
            ),
            Self::InTheWay { name, owner: Some(owner) } => {
                write!(f, "the template cannot be made: {name:?} is a machine of the hatchery {owner:?}")
            }
            Self::BackOff { template, until } => {
                write!(f, "the template {template:?} failed lately and is tried again at {until:.0}")
            }
            Self::Unusable { model, reason } => write!(f, "the model {model:?} cannot be used: {reason}"),
            Self::Busy { ahead } => write!(f, "vCenter is busy: {ahead} before this one"),
            Self::TakenMeanwhile => f.write_str(
                "another front of this process took its name, address or room first; it is planned again",
            ),
            Self::RoomIsAsked => f.write_str("vCenter is being asked how much room there is"),
            Self::Served { machine } => write!(f, "the machine {machine:?} is there for it already"),
            Self::InventoryIncomplete => f.write_str("vCenter has not shown all its machines yet"),
            Self::WorkersUnknown => f.write_str("CDS has not told which workers it knows yet"),
            Self::Draining => f.write_str("the hatchery takes no new jobs: it is being drained"),
        }
    }
}
