//! Where things are: the checkout, cargo's target folder, the per-user caches — and commands that agree on it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use crate::failure::{Outcome, Trying};

#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's target folder, absolute.
    pub(crate) target: PathBuf,
    /// Our folder in the user's cache.
    pub(crate) cache: PathBuf,
    /// Set for every child. Changing our own environment instead would need unsafe code.
    environment: Vec<(&'static str, OsString)>,
}

impl Workspace {
    pub(crate) fn here() -> Outcome<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or("start this with `cargo xtask`")?;
        let root =
            Path::new(&manifest).ancestors().nth(2).ok_or("the xtask crate is not in crates/")?.to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(given) => absolute(&given).trying(|| "CARGO_TARGET_DIR".to_owned())?,
            None => root.join("target"),
        };
        let mut environment = vec![("CARGO_TARGET_DIR", target.clone().into_os_string())];
        if env::var_os("CI").is_some() {
            // Nobody builds a second time there: incremental state would only cost disk and time.
            environment.push(("CARGO_INCREMENTAL", "0".into()));
        }
        Ok(Self { root, target, cache: user_cache()?.join("rookery"), environment })
    }

    /// The same checkout with every cache empty and inside `scratch`. Downloads (crates, Go modules) are kept:
    /// they are not the subject of a measurement, and the network is not ours to load.
    pub(crate) fn fresh(&self, scratch: &Path) -> Self {
        let target = scratch.join("target");
        let places = [
            ("CARGO_TARGET_DIR", target.clone()),
            ("CARGO_BUILD_BUILD_DIR", scratch.join("build")),
            ("GOCACHE", scratch.join("go")),
        ];
        let mut environment = self.environment.clone();
        environment.extend(places.map(|(name, path)| (name, path.into_os_string())));
        Self { root: self.root.clone(), target, cache: scratch.join("cache"), environment }
    }

    /// Another checkout in `folder`, built beside itself. The tools stay where they are.
    pub(crate) fn copied_to(&self, folder: &Path) -> Self {
        let target = folder.join("target");
        let places = [
            ("CARGO_TARGET_DIR", target.clone()),
            ("CARGO_BUILD_BUILD_DIR", folder.join("build")),
            ("ROOKERY_TOOLS", self.tools()),
        ];
        let mut environment = self.environment.clone();
        environment.extend(places.map(|(name, path)| (name, path.into_os_string())));
        // Each change is compiled for the sake of one test.
        environment.push(("CARGO_PROFILE_DEV_OPT_LEVEL", "0".into()));
        Self { root: folder.join("checkout"), target, cache: self.cache.clone(), environment }
    }

    /// A command that runs at the root of the checkout.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn cargo<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments);
        command
    }

    /// Where tests find the real components.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }
}

fn user_cache() -> Outcome<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("XDG_CACHE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| Some(folder("HOME")?.join(".cache")))
        .ok_or_else(|| "neither HOME nor XDG_CACHE_HOME is set: no place for caches".into())
}
