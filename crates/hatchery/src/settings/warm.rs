//! Machines that are made before anybody asks for them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rookery_fleet::claim::Resizing;
use rookery_fleet::flavor::Flavors;

use super::flavors::unknown_flavor;
use super::section::Section;

/// Which model a machine is of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelRef {
    /// A V1 worker model by its path, such as `group/model`.
    V1(String),
    /// A V2 worker model by the name of its template.
    V2(String),
}

/// Machines that are made before anybody asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warm {
    /// How often the pools are looked at.
    pub interval: Duration,
    /// How many are made at once; any number if there is none.
    pub concurrency: Option<u32>,
    /// The pools.
    pub pools: Vec<Pool>,
    /// Which of them may be given another size while they are off.
    pub resizing: Resizing,
    /// After what time an unused machine is replaced; never if there is none.
    pub max_age: Option<Duration>,
    /// How many machines of an old template are replaced at once.
    pub refresh_budget: u32,
}

/// So many machines of a model and a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pool {
    /// The model.
    pub model: ModelRef,
    /// The flavor, as it is spelled in its definition.
    pub flavor: Option<String>,
    /// How many.
    pub number: u32,
}

pub(super) fn warm(section: &mut Section<'_, '_>, flavors: &Flavors) -> Warm {
    let pools = pools(section, flavors);
    let seconds = |number: u32| Duration::from_secs(number.into());
    Warm {
        interval: seconds(section.natural_or("workerProvisioningInterval", 120)),
        // Files that the Go engine generates say 0, and mean no limit.
        concurrency: Some(section.natural("workerProvisioningPoolSize").unwrap_or(1))
            .filter(|size| *size != 0),
        pools,
        resizing: Resizing {
            unflavored: section.flag("resizeWarm").unwrap_or(true),
            named: section.flag("resizeNamedFlavors").unwrap_or(false),
        },
        max_age: section.natural("warmMaxAge").filter(|age| *age != 0).map(seconds),
        refresh_budget: section.natural_or("refreshBudget", 1),
    }
}

fn pools(section: &mut Section<'_, '_>, flavors: &Flavors) -> Vec<Pool> {
    let mut seen = BTreeMap::new();
    let mut pools = vec![];
    for (path, table) in section.tables("workerProvisioning") {
        let mut entry = Section::new(path.clone(), table, section.notes);
        let pool = pool(&mut entry, flavors);
        entry.end();
        let Some(pool) = pool else { continue };
        let what = (pool.model.clone(), pool.flavor.clone());
        if let Some(other) = seen.insert(what, path.clone()) {
            section
                .notes
                .problems
                .push(path, format!("{other} is of the same model and flavor; keep one of them"));
        }
        pools.push(pool);
    }
    pools
}

fn pool(entry: &mut Section<'_, '_>, flavors: &Flavors) -> Option<Pool> {
    let model = model(entry);
    let number = entry.natural("number").unwrap_or(0);
    let given = entry.text("flavor");
    let flavor = given.as_deref().and_then(|name| flavors.get(name));
    if let (Some(given), None) = (&given, flavor) {
        entry.problem("flavor", unknown_flavor(flavors, given));
    }
    Some(Pool { model: model?, flavor: flavor.map(|flavor| flavor.name.clone()), number })
}

/// Exactly one of the two ways to name a model.
pub(super) fn model(entry: &mut Section<'_, '_>) -> Option<ModelRef> {
    let at = entry.at().to_owned();
    match (entry.text("modelPath"), entry.text("modelVMWare")) {
        (Some(path), None) => {
            let is_path =
                path.split_once('/').is_some_and(|(group, name)| !group.is_empty() && !name.is_empty());
            if !is_path {
                entry.problem(
                    "modelPath",
                    format!("{path:?} is not the path of a model, such as group/model"),
                );
            }
            is_path.then_some(ModelRef::V1(path))
        }
        (None, Some(template)) => Some(ModelRef::V2(template)),
        (Some(_), Some(_)) => {
            entry
                .notes
                .problems
                .push(at, "has both modelPath, which is for V1, and modelVMWare, which is for V2");
            None
        }
        (None, None) => {
            entry.notes.problems.push(at, "needs modelPath, for V1, or modelVMWare, for V2");
            None
        }
    }
}

impl ModelRef {
    /// The path or the name, without telling which.
    pub fn name(&self) -> &str {
        match self {
            Self::V1(name) | Self::V2(name) => name,
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
