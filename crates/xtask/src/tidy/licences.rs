//! Licences of everything that is compiled in: those that a product under Apache-2.0 can carry.

use super::Problems;
use super::graph::{Graph, Package};
use super::spdx::satisfied;

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "MPL-2.0+",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(super) fn check(graph: &Graph) -> Problems {
    let compiled = graph.packages.iter().filter(|package| graph.compiled.contains(&package.version));
    compiled.filter_map(problem).collect()
}

fn problem(package: &Package) -> Option<String> {
    let name = &package.version.name;
    let Some(expression) = &package.licence else { return Some(format!("{name} names no licence")) };
    match satisfied(expression, |licence| ALLOWED.contains(&licence)) {
        Ok(true) => None,
        Ok(false) => Some(format!("{name}: {expression} is not on the list")),
        Err(error) => Some(format!("{name}: {expression}: {error}")),
    }
}
