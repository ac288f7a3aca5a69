//! What a file must say so that a hatchery can start, and ways to change it.

mod derived;
mod documents;
mod effects;
mod engine_file;
mod problems;
mod properties;
mod reloads;
mod samples;
mod secrets;

use std::path::Path;

use rookery_daemon::settings::{Origin, Problems, SecretFileError};
use secrecy::SecretString;
use toml::{Table, Value};

use super::keys::all as all_keys;
use super::{Key, Loaded, Settings, load};

/// The least that starts a hatchery.
const MINIMAL: &str = r#"
endpoint = "vc.example.org"
user = "cds"
password = "hunter2"
datacenterString = "DC0"

[commonConfiguration]
name = "rig"
rsaPrivateKey = """
-----BEGIN RSA PRIVATE KEY-----
MIIBOgIBAAJBAKj34GkxFhD9
-----END RSA PRIVATE KEY-----
"""
[commonConfiguration.api]
tokenV2 = "first-token"
[commonConfiguration.api.http]
url = "https://cds.example.org/api"
"#;

/// The settings of the minimal file with more in it.
pub(crate) fn settings(fragment: &str) -> Settings {
    read(&with(fragment).to_string()).unwrap().settings
}

fn read(text: &str) -> Result<Loaded, Problems> {
    load(text, &Origin::File("h.toml".into()), &|path| secret_file(path))
}

/// A file `/secrets/x` holds `x`.
fn secret_file(path: &Path) -> Result<SecretString, SecretFileError> {
    let missing =
        || SecretFileError::Unreadable { path: path.to_owned(), source: std::io::ErrorKind::NotFound.into() };
    let name = path.strip_prefix("/secrets").map_err(|_| missing())?;
    Ok(name.display().to_string().into())
}

/// The minimal file with more in it.
fn with(fragment: &str) -> Table {
    let mut file: Table = MINIMAL.parse().unwrap();
    merge(&mut file, fragment.parse().unwrap());
    file
}

fn merge(into: &mut Table, from: Table) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

/// Removes a key, from the first entry where its path leads through a list.
fn remove(file: &mut Table, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => file.remove(path),
        Some((first, rest)) => remove(inner(file.get_mut(first.trim_end_matches("[]"))?)?, rest),
    }
}

/// A table, or the first one of a list.
fn inner(value: &mut Value) -> Option<&mut Table> {
    if value.is_array() { value.as_array_mut()?.first_mut()?.as_table_mut() } else { value.as_table_mut() }
}

fn lines(text: &str) -> Vec<String> {
    let problems = read(text).map(|loaded| loaded.settings).unwrap_err();
    problems.as_slice().iter().map(ToString::to_string).collect()
}

fn warnings(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().map(ToString::to_string).collect()
}
