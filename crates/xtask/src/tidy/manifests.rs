//! Versions stand in the workspace manifest only: members inherit them. No library has doctests: the test command would
//! not run them.

use std::path::Path;

use super::Problems;
use crate::checkout::Checkout;
use crate::failure::Outcome;

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut problems = vec![];
    let manifests =
        checkout.of_kind("toml").filter(|path| path.starts_with("crates") && path.ends_with("Cargo.toml"));
    for path in manifests {
        let manifest = checkout.text(path)?;
        problems.extend(not_inherited(path, &manifest));
        let library = path.with_file_name("src").join("lib.rs");
        if checkout.paths.contains(&library) && !manifest.contains("doctest = false") {
            problems.push(format!("{}: `[lib]` needs `doctest = false`", path.display()));
        }
    }
    Ok(problems)
}

/// Reads lines, not TOML: one dependency per line is how manifests are written here, and anything else is reported.
fn not_inherited(path: &Path, manifest: &str) -> Problems {
    let mut problems = vec![];
    let mut in_dependencies = false;
    for (number, line) in (1..).zip(manifest.lines().map(str::trim)) {
        let at = || format!("{}:{number}", path.display());
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_dependencies = section.ends_with("dependencies");
            if section.contains("dependencies.") {
                problems.push(format!("{}: write the dependency on one line", at()));
            }
        } else if in_dependencies
            && line.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !line.replace(' ', "").contains("workspace=true")
        {
            problems.push(format!("{}: the version belongs into the workspace manifest: {line}", at()));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_with_problems(manifest: &str) -> Vec<String> {
        let problems = not_inherited(Path::new("m"), manifest);
        problems.iter().filter_map(|problem| problem.split(':').nth(1)).map(str::to_owned).collect()
    }

    #[test]
    fn inherited_dependencies_pass() {
        let manifest = "[package]\nversion = \"1\"\n[dependencies]\na.workspace = true\n# b = \"1\"\n\
            b = { workspace = true, features = [\n  \"x\",\n] }\n[target.'cfg(unix)'.dependencies]\nc.workspace=true\n\
            [lints]\nother = 1\n";
        assert_eq!(lines_with_problems(manifest), [""; 0]);
    }

    #[test]
    fn versions_of_a_member_are_found() {
        let manifest = "[dependencies]\na = \"1\"\n[dev-dependencies]\nb = { path = \"../b\" }\n\
            [target.'cfg(unix)'.build-dependencies]\nc = \"2\"\n[dependencies.d]\nversion = \"1\"\n";
        assert_eq!(lines_with_problems(manifest), ["2", "4", "6", "7"]);
    }
}
