use std::env;
use std::fs::File;
use std::time::Duration;

use super::*;

/// A folder of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let folder = env::temp_dir().join(format!("xtask-cache-{test}-{}", std::process::id()));
        clear(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn cache(&self) -> Cache {
        Cache { folder: self.0.clone() }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        clear(&self.0).unwrap();
    }
}

fn write_one_file(into: &Path) -> Outcome<()> {
    fs::create_dir_all(into).unwrap();
    fs::write(into.join("tool"), "built").trying(|| "write".to_owned())
}

#[test]
fn an_entry_is_built_once() {
    let scratch = Scratch::new("once");
    for place in [Place::ThenMoved, Place::InPlace] {
        let name = format!("{place:?}");
        let first = scratch.cache().obtain(&name, 7, place, write_one_file).unwrap();
        let again = scratch.cache().obtain(&name, 7, place, |_| Err("built twice".into())).unwrap();
        assert_eq!(first, again);
        assert_eq!(fs::read_to_string(first.join("tool")).unwrap(), "built");
    }
}

#[test]
fn what_a_failed_build_left_is_not_taken_for_an_entry() {
    let scratch = Scratch::new("failed");
    for place in [Place::ThenMoved, Place::InPlace] {
        let failing = |into: &Path| {
            write_one_file(into)?;
            fs::write(into.join("leftover"), "").unwrap();
            Err("no space".into())
        };
        scratch.cache().obtain("t", 7, place, failing).unwrap_err();
        let entry = scratch.cache().obtain("t", 7, place, write_one_file).unwrap();
        assert!(entry.join("tool").exists() && !entry.join("leftover").exists());
        clear(&entry).unwrap();
    }
}

#[test]
fn the_entries_used_last_are_kept() {
    let scratch = Scratch::new("prune");
    for (key, age) in [(1, 50), (2, 10), (3, 40), (4, 20)] {
        let entry = scratch.cache().folder.join(format!("t-{key:016x}"));
        fs::create_dir_all(&entry).unwrap();
        let mark = File::create(entry.join(MARK)).unwrap();
        mark.set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(1000 - age)).unwrap();
    }
    let other_tool = scratch.0.join(format!("t-other-{:016x}", 1));
    fs::create_dir_all(&other_tool).unwrap();

    scratch.cache().obtain("t", 5, Place::ThenMoved, write_one_file).unwrap();

    let kept: Vec<u64> = (1..=5).filter(|key| scratch.0.join(format!("t-{key:016x}")).exists()).collect();
    assert_eq!(kept, [2, 4, 5]);
    assert!(other_tool.exists());
}

#[test]
fn a_link_is_replaced() {
    let scratch = Scratch::new("link");
    let path = scratch.0.join("tools/vcsim");
    link(Path::new("/old"), &path).unwrap();
    link(Path::new("/new"), &path).unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), Path::new("/new"));
    assert_eq!(fs::read_dir(scratch.0.join("tools")).unwrap().count(), 1);
}
