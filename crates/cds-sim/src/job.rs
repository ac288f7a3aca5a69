//! Jobs and their lives.
//!
//! ```text
//! first protocol:   Waiting ─take by a worker─► Building ─► Success | Fail
//!                      ▲ └─hatchery gives up─► Fail  │
//!                      └──worker died, thrice────────┴─► Stopped
//! second protocol:  Waiting ─take─► Scheduling ─worker─► Building ─► Success | Fail | Stopped
//!                      ▲                │                    │           │
//!                      └── release ─────┴────────────────────┴───────────┘   (the fifth fails it)
//! ```
//!
//! Whatever is not over can be stopped by people.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::SHARED;

/// Which of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Jobs with numbers.
    #[default]
    V1,
    /// Jobs with UUIDs.
    V2,
}

/// What a model runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelType {
    /// Containers.
    Docker,
    /// The hatchery's own machine.
    Host,
    /// An `OpenStack`.
    Openstack,
    #[default]
    Vsphere,
}

impl ModelType {
    /// As CDS writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Host => "host",
            Self::Openstack => "openstack",
            Self::Vsphere => "vsphere",
        }
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        [Self::Docker, Self::Host, Self::Openstack, Self::Vsphere].into_iter().find(|t| t.as_str() == text)
    }
}

/// What state a job is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Status {
    /// In the queue, reserved by no hatchery.
    Waiting,
    /// A hatchery has it.
    Scheduling,
    /// A worker has it.
    Building,
    Success,
    Fail,
    /// Stopped by a person, or lost with its worker.
    Stopped,
}

impl Status {
    /// Whether nothing more happens by itself.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Fail | Self::Stopped)
    }

    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_value(text.into()).ok()
    }

    /// Whether a job may go from here to there.
    pub fn leads_to(self, next: Self, protocol: Protocol) -> bool {
        use Status::{Building, Fail, Scheduling, Stopped, Success, Waiting};
        match protocol {
            Protocol::V1 => {
                matches!(
                    (self, next),
                    (Waiting, Building | Fail | Success | Stopped)
                        | (Building, Waiting | Success | Fail | Stopped)
                )
            }
            Protocol::V2 => {
                matches!(
                    (self, next),
                    (Waiting, Scheduling | Fail | Stopped)
                        | (Scheduling, Waiting | Building | Success | Fail | Stopped)
                        | (Building, Waiting | Success | Fail | Stopped)
                        // Releasing a finished job starts it again: a fault of the real server.
                        | (Success | Fail | Stopped, Waiting | Fail)
                )
            }
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a job asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct NewJob {
    /// Which protocol it comes by.
    pub protocol: Protocol,
    pub project: String,
    pub workflow: String,
    /// Its name in the workflow.
    pub name: String,
    /// What the worker runs.
    pub script: String,
    /// Where it must run; in the second protocol it always is somewhere.
    pub region: Option<String>,
    /// Its model: a name, or a path such as `PROJECT/vcs/org/repo/model@branch`.
    pub model: Option<String>,
    /// What its model runs on, if its model does not say.
    pub model_type: Option<ModelType>,
    /// The size of its VMs.
    pub flavor: Option<String>,
    /// How much memory it wants, in MB.
    pub memory: Option<u64>,
    /// Side containers: image by name.
    pub services: BTreeMap<String, String>,
    /// What else it requires; first protocol only.
    pub requirements: Vec<Requirement>,
    /// Who may run it; first protocol only.
    pub exec_groups: Vec<String>,
}

impl Default for NewJob {
    fn default() -> Self {
        Self {
            protocol: Protocol::V1,
            project: "PRJ".to_owned(),
            workflow: "wf".to_owned(),
            name: "build".to_owned(),
            script: "true".to_owned(),
            region: None,
            model: None,
            model_type: None,
            flavor: None,
            memory: None,
            services: BTreeMap::new(),
            requirements: Vec::new(),
            exec_groups: vec![SHARED.to_owned()],
        }
    }
}

impl NewJob {
    /// A job of the first protocol that runs this.
    pub fn v1(script: &str) -> Self {
        Self { script: script.to_owned(), ..Self::default() }
    }

    /// A job of the second protocol that runs this on that model, in that region.
    pub fn v2(script: &str, model: &str, region: &str) -> Self {
        Self {
            protocol: Protocol::V2,
            model: Some(model.to_owned()),
            region: Some(region.to_owned()),
            ..Self::v1(script)
        }
    }

    /// All requirements, those that have fields of their own included.
    pub(crate) fn all_requirements(&self) -> Vec<Requirement> {
        let own = |kind: &str, value: &Option<String>| {
            value.as_ref().map(|value| Requirement::new(kind, value, value))
        };
        let memory = self.memory.map(|memory| memory.to_string());
        let mut all: Vec<_> = [
            own("region", &self.region),
            own("model", &self.model),
            own("flavor", &self.flavor),
            own("memory", &memory),
        ]
        .into_iter()
        .flatten()
        .collect();
        all.extend(self.services.iter().map(|(name, image)| Requirement::new("service", name, image)));
        all.extend(self.requirements.iter().cloned());
        all
    }
}

/// One requirement of a job of the first protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// `binary`, `model`, `hostname`, `os-architecture`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is called.
    pub name: String,
    pub value: String,
}

impl Requirement {
    pub fn new(kind: &str, name: &str, value: &str) -> Self {
        Self { kind: kind.to_owned(), name: name.to_owned(), value: value.to_owned() }
    }
}

/// A job and all that happened to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// A number or a UUID.
    pub id: String,
    /// In which order jobs came.
    pub number: i64,
    /// The workflow run that it belongs to; second protocol only.
    pub run_id: String,
    /// What it asks for.
    pub asked: NewJob,
    /// What its model runs on; empty if nothing says so.
    pub model_type: String,
    /// System and processor of its model; empty without a model.
    pub model_osarch: String,
    /// What state it is in.
    pub status: Status,
    /// All states that it has been in, and since when.
    pub history: Vec<(Timestamp, Status)>,
    /// Since when it waits.
    pub queued: Timestamp,
    /// Since when a hatchery has it.
    pub scheduled: Option<Timestamp>,
    /// Since when a worker has it.
    pub started: Option<Timestamp>,
    /// Who has booked it, and until when; first protocol only.
    pub booking: Option<Booking>,
    /// Every booking and take that succeeded.
    pub attempts: Vec<Attempt>,
    /// Which hatchery has it, or had it last.
    pub hatchery: String,
    pub worker_id: String,
    /// The worker's name, which is that of its machine.
    pub worker_name: String,
    /// Every worker that took it, by name.
    pub workers: Vec<String>,
    /// How often a dead worker gave it back; first protocol only.
    pub retry: u32,
    /// How often hatcheries gave it back.
    pub releases: u32,
    /// What hatcheries and the server said about it.
    pub infos: Vec<Info>,
    /// The steps as its worker told them.
    pub steps: Vec<Value>,
    /// What its worker printed.
    pub logs: String,
    /// How it ended, as it was told.
    pub result: Option<Value>,
}

/// A hold on a job of the first protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    pub hatchery: String,
    /// The number of its service.
    pub service: i64,
    pub until: Timestamp,
}

/// A hatchery got the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub at: Timestamp,
    pub hatchery: String,
}

/// Something that was said about a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Info {
    pub at: Timestamp,
    /// Who said it: a hatchery, a worker, or `api`.
    pub by: String,
    /// What was said, as it was sent.
    pub said: Value,
}

/// Logs are cut at this size.
const LONGEST_LOG: usize = 1 << 20;

impl Job {
    pub(crate) fn say(&mut self, at: Timestamp, by: &str, said: Value) {
        self.infos.push(Info { at, by: by.to_owned(), said });
    }

    pub(crate) fn log(&mut self, text: &str) {
        let room = LONGEST_LOG.saturating_sub(self.logs.len());
        let fits = text.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last();
        self.logs.push_str(text.get(..fits.unwrap_or_default()).unwrap_or_default());
    }

    pub(crate) fn booked(&self, now: Timestamp) -> Option<&Booking> {
        self.booking.as_ref().filter(|booking| booking.until > now)
    }

    /// Whether it comes by that protocol.
    pub(crate) fn is_for(&self, protocol: Protocol) -> bool {
        self.asked.protocol == protocol
    }
}
