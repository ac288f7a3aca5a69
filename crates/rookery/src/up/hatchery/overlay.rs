//! Replaces addresses and credentials in a hatchery's file by those of a simulator, or of another server. Pure.
//!
//! Names of keys are compared as the hatchery reads them, without regard to case; a secret also replaces the file that
//! the key beside it names.

use rookery_vim_client::Trust;
use secrecy::{ExposeSecret as _, SecretString};
use toml::{Table, Value};

/// The vCenter that the hatchery works on.
#[derive(Debug, Clone)]
pub(super) enum Vcenter {
    /// In this process. It has none of the objects that placement settings of the file name.
    #[cfg(feature = "sim")]
    Simulated { url: String, user: &'static str, password: &'static str, datacenter: &'static str },
    /// `None` leaves what the file says.
    Real {
        url: String,
        login: Option<Login>,
        trust: Option<Trust>,
        datacenter: Option<String>,
        /// Guest credentials by template.
        guests: Vec<(String, Login)>,
    },
}

/// The CDS that it serves.
#[derive(Debug, Clone)]
pub(super) enum Cds {
    /// The one in this process.
    #[cfg(feature = "sim")]
    Simulated {
        url: String,
        key: SecretString,
        tokens: (SecretString, SecretString),
        /// The hatchery's name, unless the file has one.
        name: String,
        /// The region, unless the file has one.
        region: String,
    },
    /// Somebody's own.
    Real { url: String },
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

/// Lays one end over the file.
pub(super) fn lay_vcenter(ours: &mut Table, vcenter: &Vcenter) {
    match vcenter {
        #[cfg(feature = "sim")]
        Vcenter::Simulated { url, user, password, datacenter } => {
            set(ours, "endpoint", url);
            set(ours, "user", user);
            set_secret(ours, "password", password);
            set(ours, "datacenterString", datacenter);
            for place in ["datastoreString", "networkString", "resourcePool", "folder"] {
                remove(ours, place);
            }
            set_trust(ours, &Trust::SystemRoots);
        }
        Vcenter::Real { url, login, trust, datacenter, guests } => {
            set(ours, "endpoint", url);
            if let Some(login) = login {
                set(ours, "user", &undecoded(&login.user));
                set_secret(ours, "password", &undecoded(login.password.expose_secret()));
            }
            if let Some(trust) = trust {
                set_trust(ours, trust);
            }
            if let Some(datacenter) = datacenter {
                set(ours, "datacenterString", datacenter);
            }
            if !guests.is_empty() {
                list(ours, "guestCredentials").extend(guests.iter().map(|(template, login)| {
                    let mut entry = Table::new();
                    set(&mut entry, "modelVMWare", template);
                    set(&mut entry, "username", &login.user);
                    set(&mut entry, "password", login.password.expose_secret());
                    Value::Table(entry)
                }));
            }
        }
    }
}

/// Lays the other end over the file. `pages` is where the hatchery itself is to be found.
pub(super) fn lay_cds(ours: &mut Table, cds: &Cds, pages: &str) {
    #[cfg(feature = "sim")]
    if let Cds::Simulated { .. } = cds {
        // Models are CDS's, and ours has others.
        remove(ours, "defaultWorkerModelsV2");
    }
    let common = section(ours, "commonConfiguration");
    set(common, "url", pages);
    match cds {
        #[cfg(feature = "sim")]
        Cds::Simulated { url, key, tokens, name, region } => {
            set_secret(common, "rsaPrivateKey", key.expose_secret());
            if text(common, "name").is_none() {
                set(common, "name", name);
            }
            // Workers would turn to the real one otherwise, and send their logs there.
            remove(common, "cdn");
            let api = section(common, "api");
            set_secret(api, "token", tokens.0.expose_secret());
            set_secret(api, "tokenV2", tokens.1.expose_secret());
            remove(api, "http");
            set(section(api, "http"), "url", url);
            let provision = section(common, "provision");
            remove(provision, "workerApiHttp");
            remove(provision, "workerCdn");
            if text(provision, "region").is_none() {
                set(provision, "region", region);
            }
        }
        Cds::Real { url } => set(section(section(common, "api"), "http"), "url", url),
    }
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
