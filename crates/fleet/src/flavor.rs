//! Flavors: sizes with names, and what a machine will take.

use std::collections::BTreeMap;

use crate::disks::{DiskSizes, KB_PER_GB};
use crate::machine::Hardware;

/// A size with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flavor {
    /// Its name as it was configured.
    pub name: String,
    /// What is `None` is the template's.
    pub hardware: Hardware,
    /// The least size of the first disk; `None`: the template's.
    pub disk_gb: Option<u64>,
}

impl Flavor {
    /// Whether that name means this flavor.
    pub fn is_named(&self, name: &str) -> bool {
        key(&self.name) == key(name)
    }

    /// The least size of the first disk; `None`: whatever the template has.
    pub fn first_disk_kb(&self) -> Option<u64> {
        self.disk_gb.map(|gb| gb.saturating_mul(KB_PER_GB))
    }

    /// Whether a machine with such disks is large enough. Disks that were not read yet are not.
    pub fn fits_disks(&self, disks: Option<&DiskSizes>) -> bool {
        let has = disks.and_then(|disks| disks.first_kb);
        self.first_disk_kb().is_none_or(|least| has.is_some_and(|has| has >= least))
    }
}

/// The configured flavors. Case does not tell them apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Flavors(BTreeMap<String, Flavor>);

/// Two flavors cannot be told apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("flavors {first:?} and {second:?} have the same name but for its case: rename one of them")]
pub struct SameName {
    /// The name that came first.
    pub first: String,
    /// The name that came later.
    pub second: String,
}

impl Flavors {
    pub fn new(flavors: impl IntoIterator<Item = Flavor>) -> Result<Self, SameName> {
        let mut by_key = BTreeMap::<_, Flavor>::new();
        for flavor in flavors {
            let key = key(&flavor.name);
            if let Some(first) = by_key.get(&key) {
                return Err(SameName { first: first.name.clone(), second: flavor.name });
            }
            by_key.insert(key, flavor);
        }
        Ok(Self(by_key))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The flavors in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Flavor> {
        self.0.values()
    }

    /// The flavor of that name.
    pub fn get(&self, name: &str) -> Option<&Flavor> {
        self.0.get(&key(name))
    }

    /// The smallest number of CPUs that a flavor names and that is below this one.
    pub fn smaller_cpus(&self, than: u32) -> Option<u32> {
        self.iter().filter_map(|flavor| flavor.hardware.cpus).filter(|cpus| *cpus < than).min()
    }

    /// The smallest memory that a flavor names and that is below this one.
    pub fn smaller_memory(&self, than: u64) -> Option<u64> {
        self.iter().filter_map(|flavor| flavor.hardware.memory_mb).filter(|memory| *memory < than).min()
    }
}

/// What a machine of that flavor from that template will take.
pub fn footprint(flavor: Option<&Flavor>, template: Hardware) -> Hardware {
    flavor.map(|flavor| flavor.hardware).unwrap_or_default().or(template)
}

fn key(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
pub(crate) mod tests;
