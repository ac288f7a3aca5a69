//! Replaces addresses and credentials in a hatchery's file by those of a simulator, or of another server. Pure.
//!
//! Names of keys are compared as the hatchery reads them, without regard to case; a secret also replaces the file that
//! the key beside it names.

use rookery_vim_client::{Endpoint, Trust};
use secrecy::{ExposeSecret as _, SecretString};
use toml::{Table, Value};

#[cfg(feature = "sim")]
use super::cds::SignIn;
#[cfg(feature = "sim")]
use crate::up::{endpoint_kind::LOGIN, vcenter::DATACENTER};

/// A vCenter that is not simulated. `None` leaves what the file says.
#[derive(Debug)]
pub(in crate::up) struct RealVcenter {
    pub(in crate::up) endpoint: Endpoint,
    pub(super) login: Option<Login>,
    pub(super) trust: Option<Trust>,
    pub(super) datacenter: Option<String>,
    /// Guest credentials by template.
    pub(super) guests: Vec<(String, Login)>,
}

/// A user and the password.
#[derive(Debug, Clone)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: SecretString,
}

/// The table with the hatchery's settings: `hatchery.vsphere` in the engine's layout, else the whole file.
pub(super) fn ours(file: &mut Table) -> Option<&mut Table> {
    if file.contains_key("hatchery") {
        return file.get_mut("hatchery")?.as_table_mut()?.get_mut("vsphere")?.as_table_mut();
    }
    Some(file)
}

/// Whether a key is written, whatever it says.
pub(super) fn has(table: &Table, name: &str) -> bool {
    table.keys().any(|key| key.eq_ignore_ascii_case(name))
}

/// The text of a key, if there is any.
pub(super) fn text<'t>(table: &'t Table, name: &str) -> Option<&'t str> {
    let (_, value) = table.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?;
    value.as_str().filter(|text| !text.trim().is_empty())
}

/// The text of a key of `commonConfiguration` and a table in it.
#[cfg(feature = "sim")]
pub(super) fn common<'t>(table: &'t Table, path: &[&str], name: &str) -> Option<&'t str> {
    let step = |table: &'t Table, part: &&str| {
        table.iter().find(|(key, _)| key.eq_ignore_ascii_case(part)).and_then(|(_, value)| value.as_table())
    };
    let inner = ["commonConfiguration"].iter().chain(path).try_fold(table, step)?;
    text(inner, name)
}

/// Lays the vCenter in this process over the file. It has none of the objects that placement settings of the file name.
#[cfg(feature = "sim")]
pub(super) fn lay_simulated_vcenter(ours: &mut Table, url: &str) {
    let (user, password) = LOGIN;
    set(ours, "endpoint", url);
    set(ours, "user", user);
    set_secret(ours, "password", password);
    set(ours, "datacenterString", DATACENTER);
    for place in ["datastoreString", "networkString", "resourcePool", "folder"] {
        remove(ours, place);
    }
    set_trust(ours, &Trust::SystemRoots);
}

/// Lays somebody's own vCenter over the file.
pub(super) fn lay_vcenter(ours: &mut Table, vcenter: &RealVcenter) {
    set(ours, "endpoint", &vcenter.endpoint.to_string());
    if let Some(login) = &vcenter.login {
        set(ours, "user", &undecoded(&login.user));
        set_secret(ours, "password", &undecoded(login.password.expose_secret()));
    }
    if let Some(trust) = &vcenter.trust {
        set_trust(ours, trust);
    }
    if let Some(datacenter) = &vcenter.datacenter {
        set(ours, "datacenterString", datacenter);
    }
    if !vcenter.guests.is_empty() {
        list(ours, "guestCredentials").extend(vcenter.guests.iter().map(|(template, login)| {
            let mut entry = Table::new();
            set(&mut entry, "modelVMWare", template);
            set(&mut entry, "username", &login.user);
            set(&mut entry, "password", login.password.expose_secret());
            Value::Table(entry)
        }));
    }
}

/// Lays the CDS in this process over the file. `pages` is where the hatchery itself is to be found.
#[cfg(feature = "sim")]
pub(super) fn lay_simulated_cds(ours: &mut Table, url: &str, sign_in: &SignIn, pages: &str) {
    // Models are CDS's, and ours has others.
    remove(ours, "defaultWorkerModelsV2");
    let common = section(ours, "commonConfiguration");
    set(common, "url", pages);
    set_secret(common, "rsaPrivateKey", sign_in.key.expose_secret());
    if text(common, "name").is_none() {
        set(common, "name", &sign_in.name);
    }
    // Workers would turn to the real one otherwise, and send their logs there.
    remove(common, "cdn");
    let api = section(common, "api");
    set_secret(api, "token", &sign_in.tokens.0);
    set_secret(api, "tokenV2", &sign_in.tokens.1);
    remove(api, "http");
    set(section(api, "http"), "url", url);
    let provision = section(common, "provision");
    remove(provision, "workerApiHttp");
    remove(provision, "workerCdn");
    if text(provision, "region").is_none() {
        set(provision, "region", &sign_in.region);
    }
}

/// Lays somebody's own CDS over the file.
pub(super) fn lay_cds(ours: &mut Table, url: &str, pages: &str) {
    let common = section(ours, "commonConfiguration");
    set(common, "url", pages);
    set(section(section(common, "api"), "http"), "url", url);
}

/// Percent-encoded as far as reading it decodes it again.
fn undecoded(text: &str) -> String {
    text.replace('%', "%25")
}

fn set_trust(table: &mut Table, trust: &Trust) {
    for key in ["insecure", "caFile", "thumbprint"] {
        remove(table, key);
    }
    match trust {
        Trust::SystemRoots => {}
        Trust::Insecure => drop(table.insert("insecure".to_owned(), Value::Boolean(true))),
        Trust::CaFile(file) => set(table, "caFile", &file.to_string_lossy()),
        Trust::Thumbprint(thumbprint) => set(table, "thumbprint", &thumbprint.to_string()),
    }
}

fn set(table: &mut Table, name: &str, text: &str) {
    remove(table, name);
    table.insert(name.to_owned(), Value::String(text.to_owned()));
}

fn set_secret(table: &mut Table, name: &str, secret: &str) {
    remove(table, &format!("{name}File"));
    set(table, name, secret);
}

fn remove(table: &mut Table, name: &str) {
    table.retain(|key, _| !key.eq_ignore_ascii_case(name));
}

/// The name under which a table has a key.
fn spelled(table: &Table, name: &str) -> String {
    table.keys().find(|key| key.eq_ignore_ascii_case(name)).map_or(name, String::as_str).to_owned()
}

/// A table in a table. Whatever else has its name could not be used anyway.
fn section<'t>(table: &'t mut Table, name: &str) -> &'t mut Table {
    let name = spelled(table, name);
    if table.get(&name).is_none_or(|value| !value.is_table()) {
        table.insert(name.clone(), Value::Table(Table::new()));
    }
    let found = table.get_mut(&name).and_then(Value::as_table_mut);
    #[expect(clippy::expect_used, reason = "it was put there two lines above")]
    found.expect("it is a table")
}

fn list<'t>(table: &'t mut Table, name: &str) -> &'t mut Vec<Value> {
    let name = spelled(table, name);
    if table.get(&name).is_none_or(|value| !value.is_array()) {
        table.insert(name.clone(), Value::Array(Vec::new()));
    }
    let found = table.get_mut(&name).and_then(Value::as_array_mut);
    #[expect(clippy::expect_used, reason = "it was put there two lines above")]
    found.expect("it is a list")
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests;
