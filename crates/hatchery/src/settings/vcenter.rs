//! The vCenter: connection, login, and placement of VMs.

use std::path::PathBuf;

use rookery_vim_client::{Ceilings, DiskMove, Endpoint, Thumbprint, Trust};
use secrecy::{ExposeSecret, SecretString};

use super::common::{UNENCRYPTED, required_secret};
use super::section::Section;

const CARD_CLASSES: &[&str] = &[
    "VirtualE1000",
    "VirtualE1000e",
    "VirtualPCNet32",
    "VirtualSriovEthernetCard",
    "VirtualVmxnet",
    "VirtualVmxnet2",
    "VirtualVmxnet3",
];

/// How to connect to the vCenter, and where VMs are placed.
#[derive(Debug, Clone)]
pub struct VCenter {
    pub endpoint: Endpoint,
    /// The endpoint as the file has it.
    pub address: String,
    pub user: String,
    pub password: SecretString,
    pub trust: Trust,
    pub datacenter: String,
    /// `None`: the template's.
    pub datastore: Option<String>,
    /// `None`: the template's.
    pub network: Option<String>,
    /// `None`: the datacenter's default one.
    pub resource_pool: Option<String>,
    /// `None`: the template's.
    pub folder: Option<String>,
    /// A key of the Go hatchery that is only reported.
    pub card_name: String,
    /// The class of the network card; `None`: the template's.
    pub card_class: Option<String>,
    pub disk_move: DiskMove,
    /// How many heavy operations run at once.
    pub ceilings: Ceilings,
}

pub(super) fn vcenter(section: &mut Section<'_, '_>) -> Option<VCenter> {
    let address = section.required("endpoint");
    let endpoint = address.as_deref().and_then(|address| endpoint(section, address));
    let user = section.required("user").map(|user| go_decoded(section, "user", &user).unwrap_or(user));
    let password = password(section);
    let trust = trust(section);
    let datacenter = section.required("datacenterString");
    // All keys are read before a missing one ends it.
    Some(VCenter {
        disk_move: disk_move(section),
        card_class: card_class(section),
        datastore: section.text("datastoreString"),
        network: section.text("networkString"),
        resource_pool: section.text("resourcePool"),
        folder: section.text("folder"),
        ceilings: ceilings(section),
        card_name: section.text_or_default("cardName"),
        endpoint: endpoint?,
        address: address?,
        user: user?,
        password: password?,
        trust: trust?,
        datacenter: datacenter?,
    })
}

fn ceilings(section: &mut Section<'_, '_>) -> Ceilings {
    let mut most = |name| usize::try_from(section.positive(name)).unwrap_or(usize::MAX);
    Ceilings {
        total: most("maxOperations"),
        per_host: most("maxOperationsPerHost"),
        per_datastore: most("maxOperationsPerDatastore"),
    }
}

fn endpoint(section: &mut Section<'_, '_>, address: &str) -> Option<Endpoint> {
    if address.contains('@') {
        section
            .problem("endpoint", "holds a user before its @; write it in user, and its password in password");
        return None;
    }
    match Endpoint::parse(address) {
        Ok((endpoint, _)) => {
            if !endpoint.is_tls() {
                section.warn("endpoint", UNENCRYPTED);
            }
            Some(endpoint)
        }
        Err(error) => {
            section.problem("endpoint", error.to_string());
            None
        }
    }
}

/// A password from a file is never decoded.
fn password(section: &mut Section<'_, '_>) -> Option<SecretString> {
    let is_inline = section.is_filled("password");
    let password = required_secret(section, "password")?;
    let decoded = if is_inline { go_decoded(section, "password", password.expose_secret()) } else { None };
    Some(decoded.map_or(password, SecretString::from))
}

/// The Go hatchery puts user and password into a URL, so its files have them percent-encoded. A text that does not
/// decode completely cannot have worked there, and is taken literally.
fn go_decoded(section: &mut Section<'_, '_>, name: &str, text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    let mut escapes = 0;
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
        escapes += 1;
    }
    let decoded = String::from_utf8(bytes).ok()?;
    if escapes == 0 {
        return None;
    }
    let advice = if name == "password" { "; in passwordFile it is taken as it stands" } else { "" };
    section.warn(name, format!("is percent-encoded, as the Go hatchery needs it, and was decoded{advice}"));
    Some(decoded)
}

fn trust(section: &mut Section<'_, '_>) -> Option<Trust> {
    let insecure = section.flag("insecure").then_some(Trust::Insecure);
    let ca_file = section.text("caFile").map(|file| Trust::CaFile(PathBuf::from(file)));
    let thumbprint = match section.text("thumbprint").map(|text| text.parse::<Thumbprint>()) {
        None => None,
        Some(Ok(thumbprint)) => Some(Trust::Thumbprint(thumbprint)),
        Some(Err(error)) => {
            section.problem("thumbprint", error.to_string());
            return None;
        }
    };
    let mut given = [("insecure", insecure), ("caFile", ca_file), ("thumbprint", thumbprint)]
        .into_iter()
        .filter_map(|(name, trust)| Some((name, trust?)));
    let Some((first, trust)) = given.next() else { return Some(Trust::SystemRoots) };
    if let Some((second, _)) = given.next() {
        section.problem(second, format!("contradicts {first}; keep one of them"));
        return None;
    }
    Some(trust)
}

fn disk_move(section: &mut Section<'_, '_>) -> DiskMove {
    match section.text_or_default("diskMove").as_str() {
        "auto" => DiskMove::Auto,
        "seed" => DiskMove::ChildMost,
        other => {
            section.problem("diskMove", format!("{other:?} is neither \"auto\" nor \"seed\""));
            DiskMove::Auto
        }
    }
}

/// In any case, with or without the prefix `Virtual`: most people write `vmxnet3`.
fn card_class(section: &mut Section<'_, '_>) -> Option<String> {
    let given = section.text("cardClass")?;
    let fits = |class: &&&str| {
        class.eq_ignore_ascii_case(&given)
            || class.strip_prefix("Virtual").is_some_and(|short| short.eq_ignore_ascii_case(&given))
    };
    let class = CARD_CLASSES.iter().find(fits);
    if class.is_none() {
        section.problem("cardClass", format!("{given:?} is none of {}", CARD_CLASSES.join(", ")));
    }
    class.map(|class| (*class).to_owned())
}
