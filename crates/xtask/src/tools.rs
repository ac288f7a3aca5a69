//! `cargo xtask tools`: the real components that tests run against, built once per user and linked into the checkout.
//!
//! A new component is one row of [`TOOLS`]. Entries of the cache are named by a hash of what they are made from, so a
//! fresh clone of the same revision finds them ready.

mod cache;
mod go;
mod python;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::Outcome;
use crate::workspace::Workspace;
use cache::Cache;

/// One entry of the cache.
#[derive(Debug)]
struct Tool {
    name: &'static str,
    /// Folder of the sources in the checkout.
    source: &'static str,
    recipe: Recipe,
}

#[derive(Debug)]
enum Recipe {
    /// A Go module with a folder for each of these programs.
    GoModule(&'static [&'static str]),
    /// Programs of other people's Go modules, built as they are; these flags leave out what nobody needs here. They take
    /// minutes to build, so they are made only for who asks for them by name.
    GoPrograms { packages: &'static [&'static str], flags: &'static [&'static str] },
    /// A virtual environment with the packages of `requirements.txt`.
    PythonEnvironment,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "vsphere",
        source: "tools/vsphere",
        recipe: Recipe::GoModule(&["vcsim", "govc", "loadprobe"]),
    },
    Tool {
        name: "prometheus",
        source: "tools/prometheus",
        recipe: Recipe::GoPrograms {
            packages: &["github.com/prometheus/prometheus/cmd/prometheus"],
            // Without the clouds' libraries to find what to scrape: a third of the size, and of the time.
            flags: &["-tags=remove_all_sd"],
        },
    },
    Tool { name: "pyvmomi", source: "tools/pyvmomi", recipe: Recipe::PythonEnvironment },
];

pub(crate) fn main(workspace: &Workspace, names: &[String]) -> Outcome<ExitCode> {
    make(workspace, names)?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo xtask vcsim`: for people who want to try the product without a vCenter.
pub(crate) fn vcsim(workspace: &Workspace, arguments: &[String]) -> Outcome<ExitCode> {
    make(workspace, &["vcsim".to_owned()])?;
    let mut vcsim = workspace.command(workspace.tools().join("vcsim"));
    // Replaces this process: signals and the terminal belong to vcsim. The last of equal flags wins, so
    // ARGS can choose another address.
    let error = vcsim.args(["-listen", "127.0.0.1:8989"]).args(arguments).exec();
    Err(format!("start vcsim: {error}").into())
}

/// Builds and links the named tools, or all of them.
pub(crate) fn make(workspace: &Workspace, names: &[String]) -> Outcome<()> {
    for tool in chosen(names)? {
        let entry = tool.obtain(workspace)?;
        for (name, path) in tool.products(entry) {
            if path.exists() {
                cache::link(&path, &workspace.tools().join(name))?;
            } else if names.iter().any(|asked| asked == name) {
                return Err(format!("{name}: {} has no such program yet", tool.source).into());
            }
        }
    }
    Ok(())
}

fn chosen(names: &[String]) -> Outcome<Vec<&'static Tool>> {
    for name in names {
        if !TOOLS.iter().any(|tool| tool.answers_to(name)) {
            let known: Vec<_> = TOOLS.iter().flat_map(Tool::names).collect();
            return Err(format!("there is no tool {name}; there is: {}", known.join(", ")).into());
        }
    }
    let wanted = |tool: &&Tool| {
        names.iter().any(|name| tool.answers_to(name)) || (names.is_empty() && tool.is_usual())
    };
    Ok(TOOLS.iter().filter(wanted).collect())
}

impl Tool {
    /// What `target/tools` calls its products.
    fn names(&self) -> Vec<&'static str> {
        match self.recipe {
            Recipe::GoModule(programs) => programs.to_vec(),
            Recipe::GoPrograms { packages, .. } => {
                packages.iter().filter_map(|path| go::program(path)).collect()
            }
            Recipe::PythonEnvironment => vec![self.name],
        }
    }

    /// Whether it is made when nobody says what to make.
    fn is_usual(&self) -> bool {
        !matches!(self.recipe, Recipe::GoPrograms { .. })
    }

    fn answers_to(&self, name: &str) -> bool {
        self.name == name || self.names().contains(&name)
    }

    fn obtain(&self, workspace: &Workspace) -> Outcome<PathBuf> {
        let cache = Cache { folder: workspace.cache.join("tools") };
        let source = workspace.root.join(self.source);
        let module = match self.recipe {
            Recipe::GoModule(programs) => go::Module { source, programs, packages: &[], flags: &[] },
            Recipe::GoPrograms { packages, flags } => go::Module { source, programs: &[], packages, flags },
            Recipe::PythonEnvironment => {
                let environment = python::Environment { source };
                let key = environment.key(workspace)?;
                let build = |into: &Path| environment.build(workspace, into);
                return cache.obtain(self.name, key, cache::Place::InPlace, build);
            }
        };
        let key = module.key(workspace)?;
        cache.obtain(self.name, key, cache::Place::ThenMoved, |into| module.build(workspace, into))
    }

    fn products(&self, entry: PathBuf) -> Vec<(&'static str, PathBuf)> {
        match self.recipe {
            Recipe::GoModule(_) | Recipe::GoPrograms { .. } => {
                self.names().into_iter().map(|name| (name, entry.join(name))).collect()
            }
            Recipe::PythonEnvironment => vec![(self.name, entry)],
        }
    }
}
