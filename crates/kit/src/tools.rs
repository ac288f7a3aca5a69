use std::path::{Path, PathBuf};

/// A real component that `cargo xtask tools` has built. Its absence is a failure, never a skip.
pub fn tool(name: &str) -> PathBuf {
    let path = folder().join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask tools`", path.display());
    path
}

fn folder() -> PathBuf {
    match std::env::var_os("ROOKERY_TOOLS") {
        Some(folder) => folder.into(),
        None => workspace().join("target/tools"),
    }
}

/// The root of the checkout.
pub fn workspace() -> &'static Path {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).expect("the crate lives two folders below the workspace")
}

/// The resident memory of a process, in MiB.
pub fn resident(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: u32 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    f64::from(kib) / 1024.0
}
