//! Values of JSON, as people read them.

use serde_json::Value;

/// A field's value for people. `separator` stands between the items of a list.
pub fn value_text(value: &Value, separator: &str) -> String {
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
}
