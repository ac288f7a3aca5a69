//! What the sections mean, with their defaults.

use super::{AgentSettings, Firmware, IsoSettings, Placement, SecretReference, Template, Vsphere, defaults};
use crate::{DurationText, GoDuration, InvalidDuration};

/// An empty text says as little as an absent one.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

impl SecretReference {
    pub fn namespace<'a>(&'a self, of_pool: &'a str) -> &'a str {
        given(self.namespace.as_ref()).unwrap_or(of_pool)
    }
}

impl Vsphere {
    pub fn datacenter(&self) -> &str {
        given(self.datacenter.as_ref()).unwrap_or(defaults::DATACENTER)
    }

    pub fn folder<'a>(&'a self, hosted_cluster: &'a str) -> &'a str {
        given(self.folder.as_ref()).unwrap_or(hosted_cluster)
    }

    pub fn guest_id(&self) -> &str {
        given(self.guest_id.as_ref()).unwrap_or(defaults::GUEST_ID)
    }

    pub fn scsi_type(&self) -> &str {
        given(self.scsi_type.as_ref()).unwrap_or(defaults::SCSI_TYPE)
    }

    pub fn firmware(&self) -> Firmware {
        self.firmware.unwrap_or(defaults::FIRMWARE)
    }

    pub fn network_adapter_type(&self) -> &str {
        given(self.network_adapter_type.as_ref()).unwrap_or(defaults::NETWORK_ADAPTER_TYPE)
    }

    pub fn disk_eagerly_scrub(&self) -> bool {
        self.disk_eagerly_scrub.unwrap_or(defaults::DISK_EAGERLY_SCRUB)
    }

    /// All places for VMs, at least one, without gaps.
    pub fn placements(&self) -> Vec<Placement> {
        let complete = |one: &Placement| Placement {
            resource_pool: Some(given(one.resource_pool.as_ref()).unwrap_or(&self.resource_pool).to_owned()),
            datastore_cluster: Some(
                given(one.datastore_cluster.as_ref()).unwrap_or(&self.datastore_cluster).to_owned(),
            ),
            network: Some(given(one.network.as_ref()).unwrap_or(&self.network).to_owned()),
        };
        match self.placements.as_deref() {
            None | Some([]) => vec![complete(&Placement::default())],
            Some(several) => several.iter().map(complete).collect(),
        }
    }
}

impl Template {
    pub fn name_prefix<'a>(&'a self, pool: &'a str) -> &'a str {
        given(self.name_prefix.as_ref()).unwrap_or(pool)
    }

    pub fn num_cpus(&self) -> i32 {
        self.num_cpus.unwrap_or(defaults::NUM_CPUS)
    }

    pub fn memory_mib(&self) -> i32 {
        self.memory_mib.unwrap_or(defaults::MEMORY_MIB)
    }

    pub fn disk_gib(&self) -> i32 {
        self.disk_gib.unwrap_or(defaults::DISK_GIB)
    }
}

impl AgentSettings {
    pub fn role(&self) -> &str {
        given(self.role.as_ref()).unwrap_or(defaults::ROLE)
    }

    pub fn approve(&self) -> bool {
        self.approve.unwrap_or(defaults::APPROVE)
    }
}

impl IsoSettings {
    pub fn check_interval(&self) -> Result<GoDuration, InvalidDuration> {
        positive_or(self.check_interval.as_ref(), defaults::CHECK_INTERVAL)
    }

    pub fn retain_versions(&self) -> i32 {
        self.retain_versions.unwrap_or(defaults::RETAIN_VERSIONS)
    }

    pub fn path_prefix(&self, namespace: &str, pool: &str) -> String {
        let given = given(self.path_prefix.as_ref()).map(|prefix| prefix.trim_end_matches('/'));
        given.map_or_else(|| format!("agent-forge/{namespace}/{pool}"), str::to_owned)
    }

    pub fn insecure_skip_verify(&self) -> bool {
        self.insecure_skip_verify.unwrap_or_default()
    }

    pub fn max_size_gib(&self) -> i32 {
        self.max_size_gib.unwrap_or(defaults::ISO_MAX_SIZE_GIB)
    }
}

/// Zero is what Go leaves in a field that nobody has set, and no time to wait is negative.
pub(in crate::agents) fn positive_or(
    written: Option<&DurationText>,
    default: GoDuration,
) -> Result<GoDuration, InvalidDuration> {
    let Some(written) = written else { return Ok(default) };
    let duration = written.parse()?;
    Ok(if duration.positive().is_some() { duration } else { default })
}
