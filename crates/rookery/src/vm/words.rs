//! States in the words that commands use.

use jiff::Timestamp;
use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::Vm;

/// `on`, `off` or `suspended`; what we do not know is passed on.
pub(super) fn power_word(power: &PowerState) -> &str {
    match power {
        PowerState::On => "on",
        PowerState::Off => "off",
        PowerState::Suspended => "suspended",
        PowerState::Other(other) => other,
    }
}

/// The power of a VM; a template has none.
pub(super) fn power_of(vm: &Vm) -> &str {
    if vm.is_template() { "template" } else { vm.power.as_ref().map_or("-", power_word) }
}

/// The size of a disk, rounded down to a tenth.
pub(super) fn size(kilobytes: i64) -> String {
    for (unit, name) in [(1 << 30, "TiB"), (1 << 20, "GiB"), (1 << 10, "MiB")] {
        if kilobytes >= unit {
            let tenths = i128::from(kilobytes) * 10 / i128::from(unit);
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                rest => format!("{}.{rest} {name}", tenths / 10),
            };
        }
    }
    format!("{kilobytes} KiB")
}

/// A moment by vCenter's clock.
pub(super) fn moment(time: Option<Timestamp>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// Whether VMware Tools run.
pub(super) fn tools_word(tools: &ToolsRunning) -> &str {
    match tools {
        ToolsRunning::Running => "running",
        ToolsRunning::NotRunning => "not_running",
        ToolsRunning::ExecutingScripts => "executing_scripts",
        ToolsRunning::Other(other) => other,
    }
}

/// Memory in the largest unit that needs at most one decimal.
pub(super) fn memory(megabytes: i32) -> String {
    let tenths = i64::from(megabytes) * 10;
    if megabytes >= 1024 && tenths % 1024 == 0 {
        let tenths = tenths / 1024;
        return match tenths % 10 {
            0 => format!("{} GiB", tenths / 10),
            rest => format!("{}.{rest} GiB", tenths / 10),
        };
    }
    format!("{megabytes} MiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_the_largest_unit() {
        let check = |kilobytes, expected| assert_eq!(size(kilobytes), expected);
        check(512, "512 KiB");
        check(10 << 20, "10 GiB");
        check((3 << 20) / 2, "1.5 GiB");
        check((1 << 30) - 1, "1023.9 GiB");
        check(2 << 30, "2 TiB");
        check(i64::MAX, "8589934591.9 TiB");
    }

    #[test]
    fn memory_is_never_rounded() {
        let check = |megabytes, expected| assert_eq!(memory(megabytes), expected);
        check(32, "32 MiB");
        check(1024, "1 GiB");
        check(1536, "1.5 GiB");
        check(1500, "1500 MiB");
        check(65536, "64 GiB");
    }
}
