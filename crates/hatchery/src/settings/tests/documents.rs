//! The document of all keys, and the example.

use std::fmt::Write;

use super::*;
use crate::settings::{Effective, WhenUnset};

const BEGIN: &str = "<!-- keys: begin -->\n";
const END: &str = "<!-- keys: end -->";

/// Keys that the example only speaks of: a flavor is named by its table, and a template by the newer list.
const ELSEWHERE: [&str; 2] = ["flavors[].name", "guestCredentials[].modelVMWare"];

fn document(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn table() -> String {
    let settings = read(MINIMAL).unwrap().settings;
    let mut text = "\n| key | default | reloads | meaning |\n|---|---|---|---|\n".to_owned();
    for Key { path, default, reloads, meaning, value } in all_keys() {
        let default = match default {
            WhenUnset::Mandatory => "**must be set**".to_owned(),
            WhenUnset::Is("") => String::new(),
            WhenUnset::Is(default) => format!("`{default}`"),
        };
        let reloads = if *reloads { "yes" } else { "" };
        let secret = if matches!(value(&settings), Effective::Secret(_)) { " (secret)" } else { "" };
        writeln!(text, "| `{path}`{secret} | {default} | {reloads} | {meaning} |").unwrap();
    }
    text.push('\n');
    text
}

#[test]
fn the_document_lists_every_key() {
    let file = document("hatchery-settings.md");
    let text = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (documented, after) = rest.split_once(END).unwrap();
    let made = table();
    if documented != made && std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, format!("{before}{BEGIN}{made}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(documented, made, "docs/hatchery-settings.md tells something else; UPDATE_DOCS=1 rewrites it");
}

#[test]
fn the_example_loads_without_a_word_once_its_placeholders_are_filled() {
    let text = std::fs::read_to_string(document("examples/hatchery.toml")).unwrap();
    let loaded = load(&text, &Origin::Default, &|path| {
        let is_key = path.ends_with("signing.pem");
        let pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        Ok(if is_key { pem.into() } else { "secret".into() })
    });
    let loaded = loaded.unwrap();
    assert_eq!((warnings(&loaded), &loaded.unknown, &loaded.notices), (vec![], &vec![], &vec![]));
}

#[test]
fn the_example_shows_every_key() {
    let text = std::fs::read_to_string(document("examples/hatchery.toml")).unwrap();
    let is_key = |line: &&str| line.split_once(" = ").is_some_and(|(name, _)| !name.contains(' '));
    let lines = text.lines().map(|line| line.strip_prefix("# ").filter(is_key).unwrap_or(line));
    let lines: Vec<_> = lines.collect();
    let file: Table = lines.join("\n").parse().unwrap();
    for key in all_keys() {
        let path = key.path.replace("flavors[]", "flavors.small");
        let shown =
            holds(&file, &path) || holds(&file, &format!("{path}File")) || ELSEWHERE.contains(&key.path);
        assert!(shown, "{} is not in the example", key.path);
    }
}

fn holds(table: &Table, path: &str) -> bool {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    match table.get(first.trim_end_matches("[]")) {
        None => false,
        Some(_) if rest.is_empty() => true,
        Some(Value::Array(entries)) => entries.iter().any(|entry| holds(entry.as_table().unwrap(), rest)),
        Some(inner) => holds(inner.as_table().unwrap(), rest),
    }
}
