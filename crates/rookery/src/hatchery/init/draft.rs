//! The text of the first settings file. Pure.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rookery_vim_client::Trust;
use secrecy::ExposeSecret as _;

use super::files::Held;
use crate::output::printable;
use crate::vcenter::Vcenter;

/// All that the file says.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) file: PathBuf,
    pub(super) vcenter: Vcenter,
    pub(super) password: Held,
    pub(super) places: Places,
    pub(super) guests: Guests,
    pub(super) name: String,
    pub(super) key: PathBuf,
    pub(super) cds: String,
    pub(super) token: Option<Held>,
    pub(super) token_v2: Option<Held>,
    pub(super) region: Option<String>,
    /// The V1 models that CDS has.
    pub(super) v1_models: Vec<String>,
}

/// Where VMs go. What is `None` is as their template has it.
#[derive(Debug, Clone, Default)]
pub(super) struct Places {
    pub(super) datacenter: String,
    pub(super) pool: Option<String>,
    pub(super) datastore: Option<String>,
    pub(super) network: Option<String>,
    pub(super) folder: Option<String>,
}

/// Who logs in to the guests of which templates.
#[derive(Debug)]
pub(super) struct Guests {
    pub(super) login: Option<(String, Held)>,
    pub(super) templates: Vec<String>,
    /// Templates that nobody has named.
    pub(super) others: Vec<String>,
}

impl Draft {
    pub(super) fn text(&self) -> String {
        [self.vcenter(), self.places(), ADDRESSES.to_owned(), self.guests(), self.warm(), self.cds()].concat()
    }

    fn vcenter(&self) -> String {
        let mut text = format!(
            "# Settings of the hatchery {}, written by `rookery hatchery init`. docs/hatchery-settings.md has all keys; what is\n\
             # commented out shows a default or an example. `rookery hatchery check` tells what is wrong with the file.\n\n\
             # vCenter\n",
            printable(&self.name)
        );
        line(&mut text, "endpoint", &self.vcenter.endpoint.to_string());
        // Reading the file decodes what is percent-encoded.
        line(&mut text, "user", &self.vcenter.user.replace('%', "%25"));
        match &self.password {
            Held::Clear(secret) => line(&mut text, "password", &secret.expose_secret().replace('%', "%25")),
            file @ Held::InFile(_) => secret(&mut text, "password", file),
        }
        match &self.vcenter.trust {
            Trust::SystemRoots => text.push_str(
                "# caFile = \"…\"       # or thumbprint: the authorities of this machine are trusted\n",
            ),
            Trust::Insecure => {
                text.push_str("insecure = true        # any certificate is trusted: for simulators only\n");
            }
            Trust::CaFile(file) => line(&mut text, "caFile", &path(file)),
            Trust::Thumbprint(thumbprint) => line(&mut text, "thumbprint", &thumbprint.to_string()),
        }
        text
    }

    fn places(&self) -> String {
        let Places { datacenter, pool, datastore, network, folder } = &self.places;
        let mut text = "\n# Where VMs go: a name, or as much of a path as makes it clear\n".to_owned();
        line(&mut text, "datacenterString", datacenter);
        for (key, value) in [
            ("resourcePool", pool),
            ("datastoreString", datastore),
            ("networkString", network),
            ("folder", folder),
        ] {
            match value {
                Some(value) => line(&mut text, key, value),
                None => comment(&mut text, &format!("{key} = \"…\"")),
            }
        }
        text
    }

    fn guests(&self) -> String {
        let mut text = "\n# Who logs in to guests, by template; V2 models may say it themselves\n".to_owned();
        if let Some((user, password)) = &self.guests.login {
            for template in &self.guests.templates {
                text.push_str("[[guestCredentials]]\n");
                line(&mut text, "modelVMWare", template);
                line(&mut text, "username", user);
                secret(&mut text, "password", password);
            }
        }
        let example = if self.guests.login.is_none() && self.guests.others.is_empty() {
            vec!["debian-12".to_owned()]
        } else {
            self.guests.others.clone()
        };
        for template in example {
            let template = quoted(&template);
            write!(
                text,
                "# [[guestCredentials]]\n# modelVMWare = {template}\n# username = \"…\"\n# passwordFile = \"…\"\n"
            )
            .ok();
        }
        text
    }

    fn warm(&self) -> String {
        let mut text =
            "\n# Warm VMs, which wait for jobs: of a V2 model by its template, of a V1 model by its path\n"
                .to_owned();
        let templates = self.guests.templates.iter().chain(&self.guests.others).take(1);
        let templates = templates.map(|template| ("modelVMWare", template));
        for (key, model) in templates.chain(self.v1_models.iter().map(|model| ("modelPath", model))) {
            let model = quoted(model);
            write!(text, "# [[workerProvisioning]]\n# {key} = {model}\n# number = 2\n").ok();
        }
        text
    }

    fn cds(&self) -> String {
        let mut text = "\n[commonConfiguration]\n".to_owned();
        line(&mut text, "name", &self.name);
        line(&mut text, "rsaPrivateKeyFile", &path(&self.key));
        text.push_str(
            "\n# The pages /mon/status, /metrics, /healthz and /readyz\n[commonConfiguration.http]\n# addr = \"127.0.0.1\"\n\
             # port = 8081\n\n# A token for V1 jobs, one for V2 jobs (tokenV2), or both\n[commonConfiguration.api]\n",
        );
        for (key, token) in [("token", &self.token), ("tokenV2", &self.token_v2)] {
            match token {
                Some(token) => secret(&mut text, key, token),
                None => comment(&mut text, &format!("{key}File = \"…\"")),
            }
        }
        text.push_str("\n[commonConfiguration.api.http]\n");
        line(&mut text, "url", &self.cds);
        text.push_str(
            "# caFile = \"…\"\n\n[commonConfiguration.provision]\n# maxWorker = 10                  # workers at once\n\
             # maxConcurrentProvisioning = 10  # workers that are on their way at once\n",
        );
        match &self.region {
            Some(region) if !region.is_empty() => line(&mut text, "region", region),
            Some(_) | None => {
                text.push_str("# region = \"…\"                  # of V1 jobs; V2 has it from CDS\n");
            }
        }
        text
    }
}

const ADDRESSES: &str = "\n# Addresses; without any, VMs ask DHCP\n# iprange = \"10.0.0.0/24\"\n# gateway = \"10.0.0.254\"\n\
                         # subnetMask = \"255.255.255.0\"\n# dns = \"10.0.0.53\"\n\n# Limits for all VMs of this hatchery that are \
                         on; 0: no limit\n# maxCpus = 0\n# maxMemoryMB = 0\n";

/// A basic string on one line: one of several lines that begins behind `# ` would go on as settings.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(c)).ok();
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn path(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

fn line(text: &mut String, key: &str, value: &str) {
    writeln!(text, "{key} = {}", quoted(value)).ok();
}

fn comment(text: &mut String, line: &str) {
    writeln!(text, "# {line}").ok();
}

fn secret(text: &mut String, key: &str, held: &Held) {
    match held {
        Held::InFile(file) => line(text, &format!("{key}File"), &path(file)),
        Held::Clear(secret) => line(text, key, secret.expose_secret()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A line break made a string of several lines, and what followed it behind a `# ` was settings.
    #[test]
    fn any_text_stays_on_its_line_and_is_read_as_it_was() {
        for text in
            ["debian-12", "a\nb = 1", "it's \"x\"", "C:\\x", "\u{0}\t\r\u{7f}\u{85}", "größe 日本", ""]
        {
            let quoted = quoted(text);
            assert_eq!(quoted.lines().count(), 1, "{quoted}");
            let read: toml::Table = format!("a = {quoted}").parse().expect("TOML");
            assert_eq!(read["a"].as_str(), Some(text), "{quoted}");
        }
    }
}
