//! Running other programs.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::{Outcome, Trying};

/// Runs a program on our own terminal. Its failure names the whole command, so that it can be repeated by hand.
pub(crate) fn run(command: &mut Command) -> Outcome<()> {
    let status = command.status().trying(|| format!("start `{}`", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command)).into()) }
}

/// Runs a program and returns what it printed; its errors go to our terminal.
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    let output =
        command.stderr(Stdio::inherit()).output().trying(|| format!("start `{}`", shown(command)))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{}` failed ({})", shown(command), output.status).into())
    }
}

/// What a program prints, or nothing if it is not there or fails: for questions such as "which version?".
pub(crate) fn probe(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as a person would type it: `cargo`, not the path of the toolchain's copy.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().filter(|name| *name == "cargo").unwrap_or(program.as_os_str());
    let words = [name].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
