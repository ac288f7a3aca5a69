//! The warm pools.

use std::collections::BTreeMap;
use std::time::Duration;

use rookery_fleet::claim::Resizing;
use rookery_fleet::flavor::Flavors;

use super::flavors::unknown_flavor;
use super::section::Section;
use crate::plan::{ModelRef, Pool, Warm};

pub(super) fn warm(section: &mut Section<'_, '_>, flavors: &Flavors) -> Warm {
    let pools = pools(section, flavors);
    let max_age = section.natural_or_default("warmMaxAge");
    Warm {
        interval: section.seconds("workerProvisioningInterval"),
        // Files that the Go engine generates have 0, which means no limit.
        concurrency: Some(section.natural_or_default("workerProvisioningPoolSize")).filter(|size| *size != 0),
        pools,
        resizing: Resizing {
            unflavored: section.flag("resizeWarm"),
            named: section.flag("resizeNamedFlavors"),
        },
        max_age: (max_age != 0).then(|| Duration::from_secs(max_age.into())),
        refresh_budget: section.positive("refreshBudget"),
    }
}

fn pools(section: &mut Section<'_, '_>, flavors: &Flavors) -> Vec<Pool> {
    let mut seen = BTreeMap::new();
    section.entries("workerProvisioning", |entry| {
        let pool = pool(entry, flavors)?;
        let path = entry.at().to_owned();
        if let Some(other) = seen.insert((pool.model.clone(), pool.flavor.clone()), path.clone()) {
            let message = format!("{other} is of the same model and flavor; keep one of them");
            entry.notes.problems.push(path, message);
        }
        Some(pool)
    })
}

fn pool(entry: &mut Section<'_, '_>, flavors: &Flavors) -> Option<Pool> {
    let model = model(entry);
    let number = entry.natural_or_default("number");
    let given = entry.text("flavor");
    let flavor = given.as_deref().and_then(|name| flavors.get(name));
    if let (Some(given), None) = (&given, flavor) {
        entry.problem("flavor", unknown_flavor(flavors, given));
    }
    Some(Pool { model: model?, flavor: flavor.map(|flavor| flavor.name.clone()), number })
}

/// Reads `modelPath` or `modelVMWare`, exactly one of them.
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
