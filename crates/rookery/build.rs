//! Lets the program know its compiler, and the commit that it was built from: `ROOKERY_COMMIT` if that is set, else that of
//! the checkout. Without either it only knows its version.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=ROOKERY_COMMIT");
    let given = env::var("ROOKERY_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let commit = given.or_else(of_checkout).unwrap_or_default();
    let plus = if commit.is_empty() { "" } else { "+" };
    println!("cargo::rustc-env=ROOKERY_VERSION={version}{plus}{commit}");
    println!("cargo::rustc-env=ROOKERY_BUILT_FROM={commit}");
    println!("cargo::rustc-env=ROOKERY_COMPILER={}", compiler().unwrap_or_default());
}

/// As it names itself.
fn compiler() -> Option<String> {
    told(Command::new(env::var_os("RUSTC")?).arg("--version"))
}

fn of_checkout() -> Option<String> {
    let workspace = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    // Sources without a history of their own may lie in somebody else's checkout.
    if Path::new(&git(&workspace, &["rev-parse", "--show-toplevel"])?) != workspace {
        return None;
    }
    // The first changes with the branch, the second with each commit.
    for name in ["HEAD", "logs/HEAD"] {
        let file = workspace.join(git(&workspace, &["rev-parse", "--git-path", name])?);
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    git(&workspace, &["rev-parse", "--short=12", "HEAD"])
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    told(Command::new("git").args(arguments).current_dir(folder))
}

fn told(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let told = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| told.trim().to_owned())
}
