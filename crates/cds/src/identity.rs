//! Who the hatchery is, as it introduces itself at every sign-in.

use serde_json::{Map, Value};

use crate::key::HatcheryKey;

/// The models that this hatchery serves, and the kind of hatchery that it is.
pub const MODEL_TYPE: &str = "vsphere";

/// Who the hatchery is.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its name: what CDS knows it by.
    pub name: String,
    /// Where its own pages are.
    pub http_url: String,
    /// Its configuration, shown to the administrators of CDS. Must be without secrets.
    pub config: Map<String, Value>,
    /// Its region for V1 jobs. CDS keeps what the first sign-in said.
    pub region: Option<String>,
    /// Whether V1 jobs without a region are left to others.
    pub ignore_job_with_no_region: bool,
    /// The systems whose V2 jobs it serves, such as `linux/amd64`; none: what CDS assumes.
    pub os_arch: Vec<String>,
    /// What signs the tokens of its workers.
    pub key: HatcheryKey,
    pub version: String,
}
