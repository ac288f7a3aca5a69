//! How much may run, how much does, and whether one more fits. Admission is one decision: whoever is admitted is
//! taken into the ledger at once, so that two demands cannot have the last of it.

mod ledger;
mod shortage;

use crate::flavor::{Flavor, Flavors};
use crate::machine::Hardware;

pub use ledger::{InFlight, Ledger, ledger};
pub use shortage::Shortage;

const MEGABYTE: i64 = 1 << 20;

/// The configured limits. `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Virtual CPUs of what runs.
    pub cpus: Option<u64>,
    pub memory_mb: Option<u64>,
    /// For how many machines of the smallest flavor a larger one leaves room.
    pub keep_smaller: u32,
}

/// What the resource pool has left, as the supplier says; `None` is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolRoom {
    /// The most it may use.
    pub cpu_max_mhz: Option<u64>,
    /// What is left for machines.
    pub cpu_unreserved_mhz: Option<i64>,
    /// What is left for machines.
    pub memory_unreserved_bytes: Option<i64>,
}

/// Whether one more machine fits. A pool that could not be asked (`None`) keeps nobody out.
pub fn admit(
    ledger: &Ledger,
    limits: &Limits,
    room: Option<&PoolRoom>,
    footprint: &Hardware,
    flavor: Option<&Flavor>,
    flavors: &Flavors,
) -> Result<(), Shortage> {
    // Of what is not known we know that it takes something: then only an exhausted limit refuses.
    let cpus = footprint.cpus.map_or(1, u64::from);
    let memory_mb = footprint.memory_mb.unwrap_or(1);
    if let Some(room) = room {
        room.fits(ledger, memory_mb)?;
    }
    if let Some(max) = limits.cpus {
        let used = ledger.cpus;
        if used.saturating_add(cpus) > max {
            return Err(Shortage::Cpus { used, next: cpus, max });
        }
        // What a flavor leaves to the template counts as it will be.
        let size = flavor.and_then(|flavor| footprint.cpus.or(flavor.hardware.cpus));
        let smaller = size.and_then(|cpus| flavors.smaller_cpus(cpus)).map_or(0, u64::from);
        let kept = smaller.saturating_mul(limits.keep_smaller.into());
        if used.saturating_add(cpus).saturating_add(kept) > max {
            return Err(Shortage::CpusKept { used, next: cpus, kept, max });
        }
    }
    if let Some(max) = limits.memory_mb {
        let used = ledger.memory_mb;
        if used.saturating_add(memory_mb) > max {
            return Err(Shortage::Memory { used, next: memory_mb, max });
        }
        let size = flavor.and_then(|flavor| footprint.memory_mb.or(flavor.hardware.memory_mb));
        let smaller = size.and_then(|memory| flavors.smaller_memory(memory)).unwrap_or(0);
        let kept = smaller.saturating_mul(limits.keep_smaller.into());
        if used.saturating_add(memory_mb).saturating_add(kept) > max {
            return Err(Shortage::MemoryKept { used, next: memory_mb, kept, max });
        }
    }
    Ok(())
}

impl PoolRoom {
    /// CPU is only tested for being exhausted: the pool counts in MHz, and we in CPUs.
    fn fits(&self, ledger: &Ledger, memory_mb: u64) -> Result<(), Shortage> {
        if let (Some(max_mhz), Some(left_mhz)) = (self.cpu_max_mhz, self.cpu_unreserved_mhz)
            && max_mhz > 0
            && left_mhz <= 0
        {
            return Err(Shortage::PoolCpu { max_mhz });
        }
        if let Some(bytes) = self.memory_unreserved_bytes {
            let signed = |megabytes: u64| i64::try_from(megabytes).unwrap_or(i64::MAX);
            let left_mb = (bytes / MEGABYTE).saturating_sub(signed(ledger.unseen_memory_mb));
            if left_mb < signed(memory_mb) {
                return Err(Shortage::PoolMemory { left_mb, next: memory_mb });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
