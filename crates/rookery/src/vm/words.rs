//! States in the words that commands use.

use rookery_vim::objects::{PowerState, ToolsRunning};
use serde_json::Value;

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

/// A field's value for people. `separator` stands between the items of a list.
pub(super) fn value_text(value: &Value, separator: &str) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Array(items) => join(items.iter(), separator),
        Value::Object(members) => join(members.values().filter(|value| !is_nothing(value)), "  "),
    }
}

fn join<'a>(values: impl Iterator<Item = &'a Value>, separator: &str) -> String {
    values.map(|value| value_text(value, ", ")).collect::<Vec<_>>().join(separator)
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_shown_without_the_marks_of_json() {
        let check = |value, expected| assert_eq!(value_text(&value, "; "), expected);
        check(json!(null), "-");
        check(json!(true), "yes");
        check(json!([]), "-");
        check(json!(["a", "b"]), "a; b");
        check(json!([{"ips": ["10.0.0.7", "fe80::1"], "mac": null}, {"ips": []}]), "10.0.0.7, fe80::1; ");
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
