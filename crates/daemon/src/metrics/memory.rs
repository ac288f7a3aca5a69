//! What memory the process has, as the kernel tells it.

/// What memory the process has, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// What is resident now.
    pub resident: u64,
    /// The most that was resident.
    pub peak: u64,
    pub mapped: u64,
}

impl Memory {
    /// Now. It is all zero where the kernel does not tell it.
    pub fn now() -> Self {
        Self::read(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    fn read(status: &str) -> Self {
        let bytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
            kilobytes.unwrap_or(0).saturating_mul(1024)
        };
        Self { resident: bytes("VmRSS:"), peak: bytes("VmHWM:"), mapped: bytes("VmSize:") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_speaks_in_kilobytes() {
        let status = "Name:\trookery\nVmSize:\t  300 kB\nVmHWM:\t 20 kB\nVmRSS:\t      10 kB\nThreads:\t4\n";
        assert_eq!(Memory::read(status), Memory { resident: 10 << 10, peak: 20 << 10, mapped: 300 << 10 });
        assert_eq!(Memory::read("VmRSS:\tlots\n"), Memory::default());
    }
}
