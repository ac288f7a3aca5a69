//! Names of machines: what we call them, and what a name alone tells.
//!
//! A name is visible before the notes are, and it survives restarts: while a clone is made, the address in its name is
//! the only lock on that address that anybody can see.

use std::net::Ipv4Addr;

use rand::rngs::StdRng;
use rookery_fleet::names::fresh;

/// How the names of all warm machines begin.
pub const POOLED: &str = "provision-";
const POOLED_V1: &str = "provision-v1-";
const POOLED_V2: &str = "provision-v2-";
const POOLED_AT: &str = "provision-v2-ip-";
const REGISTER: &str = "register-";

/// Which kind of model a machine is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelKind {
    /// A model that CDS keeps and the hatchery makes a template of.
    V1,
    /// A model that names a template of vSphere.
    V2,
}

impl ModelKind {
    /// How it is written in logs and labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    /// How the names of its warm machines begin.
    pub fn family(self) -> &'static str {
        match self {
            Self::V1 => POOLED_V1,
            Self::V2 => POOLED_V2,
        }
    }
}

/// A new name for a worker that runs a job.
pub fn worker(random: &mut StdRng, taken: &dyn Fn(&str) -> bool) -> String {
    fresh("", random, taken)
}

/// A new name for a worker that registers a model.
pub fn register(random: &mut StdRng, taken: &dyn Fn(&str) -> bool) -> String {
    fresh(REGISTER, random, taken)
}

/// A new name for a warm machine. Only names for V2 models carry the address: older hatcheries know it there alone.
pub fn pooled(
    kind: ModelKind,
    address: Option<Ipv4Addr>,
    random: &mut StdRng,
    taken: &dyn Fn(&str) -> bool,
) -> String {
    match (kind, address) {
        (ModelKind::V1, _) => fresh(POOLED_V1, random, taken),
        (ModelKind::V2, None) => fresh(POOLED_V2, random, taken),
        (ModelKind::V2, Some(address)) => {
            let [a, b, c, d] = address.octets();
            fresh(&format!("{POOLED_AT}{a}-{b}-{c}-{d}-"), random, taken)
        }
    }
}

/// The kind that a warm machine's name tells.
pub fn kind_of(name: &str) -> Option<ModelKind> {
    [ModelKind::V1, ModelKind::V2].into_iter().find(|kind| name.starts_with(kind.family()))
}

pub fn address_in(name: &str) -> Option<Ipv4Addr> {
    let mut parts = name.strip_prefix(POOLED_AT)?.split('-');
    let mut octet = || {
        let part = parts.next()?;
        let number = part.bytes().all(|byte| byte.is_ascii_digit());
        number.then(|| part.parse::<u8>().ok()).flatten()
    };
    Some(Ipv4Addr::new(octet()?, octet()?, octet()?, octet()?))
}

/// Whether a name says that the machine waits for a job. The mark must say so, too.
pub fn is_pooled_name(name: &str) -> bool {
    name.starts_with(POOLED)
}

/// Whether a name says that the machine registers a model.
pub fn is_register_name(name: &str) -> bool {
    name.starts_with(REGISTER)
}

#[cfg(test)]
mod tests;
