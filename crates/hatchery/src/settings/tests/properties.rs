//! Whatever a file says, the outcome is settings or problems.

use proptest::prelude::*;

use super::samples::SAMPLES;
use super::*;

/// Values of all types, among them those that have a meaning somewhere.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Boolean),
        prop_oneof![Just(0), Just(-1), -5..200i64, any::<i64>()].prop_map(Value::Integer),
        any::<f64>().prop_filter("TOML", |number| number.is_finite()).prop_map(Value::Float),
        "\\PC{0,12}".prop_map(Value::String),
        prop_oneof![
            Just("10.0.0.0/8"),
            Just("255.255.255.0"),
            Just("%41%zz"),
            Just("http://x"),
            Just("a/b"),
            Just("::/0"),
            Just("-----BEGIN PRIVATE KEY-----"),
        ]
        .prop_map(|text| Value::String(text.to_owned())),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map("[a-z]{1,6}|name|cpus|memoryMB|modelVMWare|number", inner, 0..4)
                .prop_map(|map| Value::Table(map.into_iter().collect())),
        ]
    })
}

/// Puts a value at a path, through lists of one entry.
fn put(file: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            file.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let entry =
                file.entry(first.trim_end_matches("[]")).or_insert_with(|| Value::Table(Table::new()));
            if let Some(table) = inner(entry) {
                put(table, rest, value);
            }
        }
    }
}

/// Settings with at least what is mandatory, or at least one problem with a name and a text.
fn check(text: &str) -> Result<(), TestCaseError> {
    match read(text) {
        Ok(loaded) => {
            prop_assert!(!loaded.settings.identity.name.is_empty());
            prop_assert!(loaded.settings.api.token.is_some() || loaded.settings.api.token_v2.is_some());
            for network in &loaded.settings.addresses.networks {
                prop_assert!(!network.ranges.is_empty());
            }
        }
        Err(problems) => {
            prop_assert!(!problems.is_empty());
            for problem in problems.as_slice() {
                prop_assert!(!problem.message.is_empty());
                prop_assert!(!problem.path.is_empty() || problem.origin.is_some());
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_settings_or_problems(text in "\\PC{0,60}", junk: String) {
        check(&text)?;
        check(&format!("{MINIMAL}\n{junk}"))?;
    }

    #[test]
    fn any_values_are_settings_or_problems(
        samples in prop::collection::vec(prop::sample::select(SAMPLES), 0..6),
        values in prop::collection::vec((prop::sample::select(SAMPLES), value()), 0..4),
        removed in prop::collection::vec(prop::sample::select(SAMPLES), 0..3),
    ) {
        let mut file = with("");
        for (_, fragment, _) in samples {
            merge(&mut file, fragment.parse().unwrap());
        }
        for ((path, ..), value) in values {
            put(&mut file, path, value);
        }
        for (path, ..) in removed {
            remove(&mut file, path);
        }
        check(&file.to_string())?;
    }
}
