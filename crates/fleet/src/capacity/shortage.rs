//! Why one more does not fit.

/// What is short, with the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Shortage {
    /// The resource pool's CPU is used up.
    #[error("no CPU is left in the resource pool (of {max_mhz} MHz)")]
    PoolCpu {
        /// The most the pool may use.
        max_mhz: u64,
    },
    /// The resource pool's memory is too small.
    #[error("{left_mb} MB of memory are left in the resource pool, {next} MB are needed")]
    PoolMemory {
        /// What is left after all that is in flight.
        left_mb: i64,
        next: u64,
    },
    #[error("{used} of {max} CPUs are in use, {next} more are needed")]
    Cpus { used: u64, next: u64, max: u64 },
    /// CPUs are kept for smaller flavors.
    #[error(
        "{used} of {max} CPUs are in use, {next} more are needed and {kept} are kept for smaller flavors"
    )]
    CpusKept { used: u64, next: u64, kept: u64, max: u64 },
    #[error("{used} of {max} MB of memory are in use, {next} more are needed")]
    Memory { used: u64, next: u64, max: u64 },
    /// Memory is kept for smaller flavors.
    #[error(
        "{used} of {max} MB of memory are in use, {next} more are needed and {kept} are kept for smaller flavors"
    )]
    MemoryKept { used: u64, next: u64, kept: u64, max: u64 },
}

impl Shortage {
    /// Whether it would be the same if nothing else were there.
    pub fn is_hopeless(&self) -> bool {
        match self {
            Self::Cpus { next, max, .. } | Self::Memory { next, max, .. } => next > max,
            Self::CpusKept { next, kept, max, .. } | Self::MemoryKept { next, kept, max, .. } => {
                next.saturating_add(*kept) > *max
            }
            Self::PoolCpu { .. } | Self::PoolMemory { .. } => false,
        }
    }

    /// Its label in metrics and JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::PoolCpu { .. } => "pool_cpu",
            Self::PoolMemory { .. } => "pool_memory",
            Self::Cpus { .. } => "cpus",
            Self::CpusKept { .. } => "cpus_kept",
            Self::Memory { .. } => "memory",
            Self::MemoryKept { .. } => "memory_kept",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_limit_is_hopeless_and_less_is_a_matter_of_time() {
        for (shortage, hopeless) in [
            (Shortage::Cpus { used: 0, next: 65, max: 64 }, true),
            (Shortage::Cpus { used: 1, next: 64, max: 64 }, false),
            (Shortage::Memory { used: 0, next: 8193, max: 8192 }, true),
            (Shortage::Memory { used: 1, next: 8192, max: 8192 }, false),
            (Shortage::CpusKept { used: 0, next: 61, kept: 4, max: 64 }, true),
            (Shortage::CpusKept { used: 1, next: 60, kept: 4, max: 64 }, false),
            (Shortage::MemoryKept { used: 0, next: u64::MAX, kept: 1, max: 64 }, true),
        ] {
            assert_eq!(shortage.is_hopeless(), hopeless, "{shortage}");
        }
    }
}
