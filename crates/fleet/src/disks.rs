//! How large the disks of machines are. Not part of a machine: it is read apart, and later than the rest.

use std::collections::BTreeMap;

use crate::machine::MachineId;

/// Kilobytes of a gigabyte, as disks are counted.
pub const KB_PER_GB: u64 = 1 << 20;

/// The disks of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskSizes {
    /// Kilobytes of all of them.
    pub all_kb: u64,
    /// Kilobytes of the first one; `None`: there is none, or its size was not told.
    pub first_kb: Option<u64>,
}

/// The disks of machines, as far as they were read.
pub type Disks = BTreeMap<MachineId, DiskSizes>;
