//! What people want of the pools, and when VMs are deleted.

use std::fmt;
use std::time::Duration;

use rookery_fleet::claim::Resizing;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelRef {
    /// A V1 model by its path, such as `group/model`.
    V1(String),
    /// A V2 model by the name of its template.
    V2(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warm {
    /// How often the pools are checked.
    pub interval: Duration,
    /// How many VMs are made at once; `None`: no limit.
    pub concurrency: Option<u32>,
    pub pools: Vec<Pool>,
    pub resizing: Resizing,
    /// The age at which an unused VM is replaced; `None`: never.
    pub max_age: Option<Duration>,
    /// How many VMs of an old template are replaced at once.
    pub refresh_budget: u32,
}

/// VMs of one model and size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    pub model: ModelRef,
    /// The flavor, spelled as in its definition.
    pub flavor: Option<String>,
    pub number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleaning {
    /// How often VMs to delete are looked for.
    pub interval: Duration,
    /// How long a worker may live.
    pub worker_ttl: Duration,
    /// How long a worker may take to register.
    pub registration_ttl: Duration,
    /// How long a VM stays after its worker ended.
    pub grace: Duration,
}

impl ModelRef {
    /// The path or the name, without telling which.
    pub fn name(&self) -> &str {
        match self {
            Self::V1(name) | Self::V2(name) => name,
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
