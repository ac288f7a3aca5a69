//! Flavors, and limits on CPUs and memory.
//!
//! These keys belong beside `user` and `endpoint`. A widely copied example puts them below the header of
//! `commonConfiguration.provision`, which makes them keys of that section; the loader accepts them there too.

use std::collections::BTreeMap;

use rookery_fleet::Hardware;
use rookery_fleet::flavor::{Flavor, Flavors};
use toml::{Table, Value};

use super::section::Section;

/// The keys as one of the two places has them, each with its path.
#[derive(Debug, Default)]
pub(super) struct Sizing {
    max_cpus: Option<(String, u32)>,
    max_memory_mb: Option<(String, u32)>,
    flavors: Option<(String, Flavors)>,
    default: Option<(String, String)>,
    keep_smaller: Option<(String, u32)>,
}

/// The values of both places, merged.
pub(super) struct Sized {
    pub(super) cpus: Option<u64>,
    pub(super) memory_mb: Option<u64>,
    pub(super) keep_smaller: u32,
    pub(super) flavors: Flavors,
    pub(super) default: Option<String>,
}

pub(super) fn sizing(section: &mut Section<'_, '_>) -> Sizing {
    Sizing {
        max_cpus: located(section, "maxCpus", Section::natural),
        max_memory_mb: located(section, "maxMemoryMB", Section::natural),
        flavors: located(section, "flavors", flavors),
        default: located(section, "defaultFlavor", Section::text),
        keep_smaller: located(section, "countSmallerFlavorToKeep", Section::natural),
    }
}

/// Merges the values of the two places.
pub(super) fn settle(ours: Sizing, provision: Sizing, section: &mut Section<'_, '_>) -> Sized {
    let limit = |most: Option<u32>| most.filter(|most| *most != 0).map(u64::from);
    let cpus = limit(merge(ours.max_cpus, provision.max_cpus, section));
    let memory_mb = limit(merge(ours.max_memory_mb, provision.max_memory_mb, section));
    let flavors = merge(ours.flavors, provision.flavors, section).unwrap_or_default();
    let keep_smaller = merge(ours.keep_smaller, provision.keep_smaller, section);
    let keep_smaller = keep_smaller.unwrap_or_else(|| section.default_number("countSmallerFlavorToKeep"));
    let default_at = ours.default.as_ref().or(provision.default.as_ref()).map(|(path, _)| path.clone());
    let named = merge(ours.default, provision.default, section);
    let default = named.as_ref().and_then(|name| flavors.get(name)).map(|flavor| flavor.name.clone());
    if let (Some(path), Some(name), None) = (default_at, named, &default) {
        section.notes.problems.push(path, unknown_flavor(&flavors, &name));
    }
    for flavor in flavors.iter() {
        let too_big = cpus
            .is_some_and(|most| flavor.hardware.cpus.is_some_and(|cpus| u64::from(cpus) > most))
            || memory_mb.is_some_and(|most| flavor.hardware.memory_mb.is_some_and(|memory| memory > most));
        if too_big {
            let message =
                format!("{:?} is larger than maxCpus or maxMemoryMB allows, so it never fits", flavor.name);
            section.warn("flavors", message);
        }
    }
    Sized { cpus, memory_mb, keep_smaller, flavors, default }
}

pub(super) fn unknown_flavor(flavors: &Flavors, name: &str) -> String {
    let known: Vec<_> = flavors.iter().map(|flavor| flavor.name.as_str()).collect();
    if known.is_empty() {
        format!("{name:?} is no flavor: there are none in flavors")
    } else {
        format!("{name:?} is no flavor; there are {}", known.join(", "))
    }
}

fn located<'n, 'a, T>(
    section: &mut Section<'n, 'a>,
    name: &str,
    read: fn(&mut Section<'n, 'a>, &str) -> Option<T>,
) -> Option<(String, T)> {
    let path = section.path(name);
    read(section, name).map(|value| (path, value))
}

fn merge<T: PartialEq>(
    ours: Option<(String, T)>,
    provision: Option<(String, T)>,
    section: &mut Section<'_, '_>,
) -> Option<T> {
    match (ours, provision) {
        (Some((path, value)), Some((other, same))) => {
            if value == same {
                section.notes.warn(other, format!("is said a second time; {path} is the right place"));
            } else {
                let message =
                    format!("{other} says something else; remove that one, this is the right place");
                section.notes.problems.push(path, message);
            }
            Some(value)
        }
        (Some((_, value)), None) => Some(value),
        (None, Some((path, value))) => {
            let place = if section.at().is_empty() { "the top of the file" } else { section.at() };
            let message = format!("is accepted here, but belongs to {place}, beside user and endpoint");
            section.notes.warn(path, message);
            Some(value)
        }
        (None, None) => None,
    }
}

/// A table of flavors by name, or a list of flavors with names.
fn flavors(section: &mut Section<'_, '_>, name: &str) -> Option<Flavors> {
    let value = section.take(name)?;
    let named = match value.as_table() {
        Some(table) => mapped(section, name, table),
        None => listed(section, name, value),
    };
    let mut flavors = BTreeMap::new();
    for (path, given, table) in named {
        let mut entry = section.entry(name, path.clone(), table);
        let flavor_name = match given {
            Some(given) => Some(given),
            None => entry.required("name"),
        };
        let flavor = flavor_name.map(|flavor_name| flavor(&mut entry, flavor_name));
        entry.end();
        let Some(flavor) = flavor else { continue };
        let folded = flavor.name.to_lowercase();
        if let Some(same) = flavors.insert(folded, flavor) {
            let message =
                format!("there is {:?} already, and names are the same whatever their case", same.name);
            section.notes.problems.push(path, message);
        }
    }
    // Keyed by the name in lower case, so no name comes twice.
    Flavors::new(flavors.into_values()).ok()
}

/// A flavor's path, its name unless that is one of its keys, and its keys.
type Named = (String, Option<String>, Table);

fn listed(section: &mut Section<'_, '_>, name: &str, value: Value) -> Vec<Named> {
    let whole = Table::from_iter([(name.to_owned(), value)]);
    let at = section.at().to_owned();
    let mut list = Section::new(at, whole, section.notes);
    list.tables(name).into_iter().map(|(path, table)| (path, None, table)).collect()
}

fn mapped(section: &mut Section<'_, '_>, name: &str, flavors: &Table) -> Vec<Named> {
    let mut named = vec![];
    for (flavor, value) in flavors {
        let path = section.path(&format!("{name}.{}", flavor.escape_debug()));
        match value.as_table() {
            Some(table) => named.push((path, Some(flavor.clone()), table.clone())),
            None => section.notes.problems.push(path, "expected a table with cpus, memoryMB or diskSizeGB"),
        }
    }
    named
}

fn flavor(entry: &mut Section<'_, '_>, name: String) -> Flavor {
    if name.trim() != name || name.is_empty() {
        entry.problem("name", format!("{name:?} is no name of a flavor"));
    }
    let mut size = |key: &str| entry.natural_or_default(key);
    let (cpus, memory_mb, disk_gb) = (size("cpus"), size("memoryMB"), size("diskSizeGB"));
    if memory_mb % 4 != 0 {
        entry.warn("memoryMB", "is not a multiple of 4, which vSphere refuses");
    }
    let some = |number: u32| Some(u64::from(number)).filter(|number| *number > 0);
    let hardware = Hardware { cpus: Some(cpus).filter(|cpus| *cpus > 0), memory_mb: some(memory_mb) };
    Flavor { name, hardware, disk_gb: some(disk_gb) }
}
