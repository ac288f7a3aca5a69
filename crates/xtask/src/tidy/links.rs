//! Relative links in documents lead somewhere: to a file or folder of the checkout, and to a heading in it.

use std::path::Path;

use super::Problems;
use super::markdown::{anchors, links};
use crate::checkout::Checkout;
use crate::failure::Outcome;

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut problems = vec![];
    for document in checkout.of_kind("md") {
        for (line, target) in links(&checkout.text(document)?) {
            if let Some(problem) = broken(checkout, document, &target)? {
                problems.push(format!("{}:{line}: {target}: {problem}", document.display()));
            }
        }
    }
    Ok(problems)
}

fn broken(checkout: &Checkout<'_>, document: &Path, target: &str) -> Outcome<Option<&'static str>> {
    // `https:`, `mailto:` and the like are not ours to check: no network.
    if target.split(['/', '#']).next().is_some_and(|start| start.contains(':')) {
        return Ok(None);
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path.strip_prefix('/') {
        Some(from_root) => Path::new(from_root).to_owned(),
        None if path.is_empty() => document.to_owned(),
        None => document.parent().unwrap_or(document).join(path),
    };
    if !checkout.workspace.root.join(&path).exists() {
        return Ok(Some("does not exist"));
    }
    let is_document = path.extension().is_some_and(|kind| kind == "md");
    if !anchor.is_empty() && is_document && !anchors(&checkout.text(&path)?).contains(anchor) {
        return Ok(Some("no such heading"));
    }
    Ok(None)
}
