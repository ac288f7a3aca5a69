//! What is meant by fields that are absent. Those of the peer's API stand in the schema as well; what is ours does not, nor
//! what its schema leaves out: objects that are stored must read the same under both definitions.

use super::{CleanupPolicy, Firmware};
use crate::GoDuration;

pub const DATACENTER: &str = "dc1";
pub const GUEST_ID: &str = "rhel9_64Guest";
pub const SCSI_TYPE: &str = "pvscsi";
pub const FIRMWARE: Firmware = Firmware::Efi;
pub const NETWORK_ADAPTER_TYPE: &str = "vmxnet3";
pub const DISK_EAGERLY_SCRUB: bool = false;
pub const NUM_CPUS: i32 = 4;
pub const MEMORY_MIB: i32 = 16_384;
pub const DISK_GIB: i32 = 100;
pub const ROLE: &str = "worker";
pub const APPROVE: bool = true;
pub const RETAIN_VERSIONS: i32 = 2;
pub const CLEANUP_POLICY: CleanupPolicy = CleanupPolicy::Delete;

/// In code alone, with the peer too.
pub const CHECK_INTERVAL: GoDuration = GoDuration::from_minutes(10);

/// Ours.
pub const DISCOVERY_TIMEOUT: GoDuration = GoDuration::from_minutes(30);
pub const MIN_SPARE: i32 = 0;
pub const ISO_MAX_SIZE_GIB: i32 = 8;
