//! Paths of somebody's machine do not belong into the repository.

use super::Problems;
use crate::checkout::Checkout;
use crate::failure::{Outcome, Trying};
use crate::process::shown;

/// The brackets keep the pattern from finding itself. A letter before the path means that it is part of a longer
/// one or of an address, which is fine.
const PATTERN: &str = "(^|[^[:alnum:]_.-])/([w]ork|[r]oot)/";

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    let mut git = checkout.workspace.command("git");
    git.args(["grep", "--untracked", "-nIE", PATTERN]);
    let output = git.output().trying(|| format!("start `{}`", shown(&git)))?;
    match output.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()),
        Some(1) => Ok(vec![]),
        _ => Err(format!("`{}`: {}", shown(&git), String::from_utf8_lossy(&output.stderr)).into()),
    }
}
