//! States in the words that commands use.

use rookery_vim::objects::{PowerState, ToolsRunning};

/// `on`, `off` or `suspended`; what we do not know is passed on.
pub(super) fn power_word(power: &PowerState) -> &str {
    match power {
        PowerState::On => "on",
        PowerState::Off => "off",
        PowerState::Suspended => "suspended",
        PowerState::Other(other) => other,
    }
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
    fn memory_is_never_rounded() {
        let check = |megabytes, expected| assert_eq!(memory(megabytes), expected);
        check(32, "32 MiB");
        check(1024, "1 GiB");
        check(1536, "1.5 GiB");
        check(1500, "1500 MiB");
        check(65536, "64 GiB");
    }
}
