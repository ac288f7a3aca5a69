//! Generated files are checked in, and are what their generator prints today.

use std::path::Path;

use super::Problems;
use crate::checkout::Checkout;
use crate::failure::Outcome;
use crate::process::{capture, shown};

/// A file and the arguments of the `cargo` call that prints it, such as `run -p rookery -- operator crds`.
struct Generated {
    file: &'static str,
    cargo: &'static [&'static str],
}

const GENERATED: &[Generated] = &[];

pub(super) fn check(checkout: &Checkout<'_>) -> Outcome<Problems> {
    if GENERATED.is_empty() {
        println!("nothing generated yet");
    }
    let mut problems = vec![];
    for Generated { file, cargo } in GENERATED {
        let mut generator = checkout.workspace.cargo([]);
        generator.args(*cargo);
        if capture(&mut generator)? != checkout.text(Path::new(file))? {
            problems.push(format!("{file} is out of date: {} > {file}", shown(&generator)));
        }
    }
    Ok(problems)
}
