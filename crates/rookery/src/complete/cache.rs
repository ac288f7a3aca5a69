//! What was last seen of a vCenter, for whoever completes names: a file of this user alone, without secrets.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::vcenter::Vcenter;

/// How old what is offered may be before it is looked up again.
const FRESH: Duration = Duration::from_secs(60);
/// No file of ours is larger: a name has at most 80 characters.
const LARGEST: u64 = 64 << 20;

/// What is remembered of the vCenter, the user and the datacenter that it belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) of: Of,
    /// When it was loaded.
    pub(super) loaded: Option<Timestamp>,
    /// Until when nobody tries again.
    pub(super) not_before: Option<Timestamp>,
    pub(super) machines: Vec<Machine>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Of {
    endpoint: String,
    user: String,
    datacenter: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) name: String,
    pub(super) template: bool,
}

impl Of {
    pub(super) fn new(vcenter: &Vcenter) -> Self {
        Self {
            endpoint: vcenter.endpoint.to_string(),
            user: vcenter.user.clone(),
            datacenter: vcenter.datacenter.clone(),
        }
    }
}

impl Seen {
    /// Whether it is to be loaded anew. A time that is yet to come was written by a clock that was wrong.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let loaded_lately = self.loaded.is_some_and(|at| at <= now && now.duration_since(at) < signed(FRESH));
        let wait = |until: Timestamp| {
            now < until && until.duration_since(now) <= signed(super::machines::LONGEST_WAIT)
        };
        !loaded_lately && !self.not_before.is_some_and(wait)
    }
}

fn signed(duration: Duration) -> jiff::SignedDuration {
    jiff::SignedDuration::try_from(duration).unwrap_or(jiff::SignedDuration::MAX)
}

/// The file for one vCenter and user.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    name: String,
    of: Of,
}

impl Cache {
    /// Below `$XDG_CACHE_HOME`, or `~/.cache`; nothing if there is neither.
    pub(super) fn new(of: Of, var: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let absolute = |name| var(name).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        let mut hasher = DefaultHasher::new();
        of.hash(&mut hasher);
        Some(Self {
            folder: base.join("rookery").join("completion"),
            name: format!("{:016x}", hasher.finish()),
            of,
        })
    }

    /// What was seen last; nothing if that cannot be read.
    pub(super) fn read(&self) -> Seen {
        let nothing = || Seen { of: self.of.clone(), ..Seen::default() };
        let path = self.folder.join(format!("{}.json", self.name));
        if fs::metadata(&path).map_or(0, |file| file.len()) > LARGEST {
            return nothing();
        }
        let seen = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<Seen>(&bytes).ok());
        seen.filter(|seen| seen.of == self.of).unwrap_or_else(nothing)
    }

    /// Readers see all of it or nothing of it. Only who has locked it writes.
    pub(super) fn write(&self, seen: &Seen) -> io::Result<()> {
        let new = self.folder.join(format!("{}.new", self.name));
        let mut file = private().truncate(true).open(&new)?;
        file.write_all(&serde_json::to_vec(seen)?)?;
        fs::rename(&new, self.folder.join(format!("{}.json", self.name)))
    }

    /// The right to write, until the file is dropped; nothing if somebody else has it.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let file = private().open(self.folder.join(format!("{}.lock", self.name)))?;
        Ok(file.try_lock().is_ok().then_some(file))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[test]
    fn what_is_a_minute_old_is_loaded_anew_unless_that_has_just_failed() {
        let check = |loaded: Option<i64>, not_before: Option<i64>, expected: bool| {
            let seen = Seen { loaded: loaded.map(at), not_before: not_before.map(at), ..Seen::default() };
            assert_eq!(seen.is_due(at(0)), expected, "{loaded:?} {not_before:?}");
        };
        check(None, None, true);
        check(Some(0), None, false);
        check(Some(-59), None, false);
        check(Some(-60), None, true);
        check(Some(5), None, true);
        check(None, Some(1), false);
        check(Some(-60), Some(60), false);
        check(Some(-60), Some(0), true);
        check(None, Some(600), false);
        check(None, Some(601), true);
    }

    #[test]
    fn what_is_written_is_read_again_for_the_same_user_of_the_same_vcenter_alone() {
        let folder = tempfile::tempdir().unwrap();
        let of =
            |user: &str| Of { endpoint: "https://vc".to_owned(), user: user.to_owned(), datacenter: None };
        let base = |name: &str| (name == "HOME").then(|| folder.path().to_owned());
        let (mine, other) = (Cache::new(of("me"), base).unwrap(), Cache::new(of("you"), base).unwrap());
        let machines = vec![Machine { name: "web 1".to_owned(), template: false }];
        let seen = Seen { of: of("me"), loaded: Some(at(0)), not_before: None, machines };
        assert_eq!(mine.read().loaded, None);
        let lock = mine.lock().unwrap();
        assert!(lock.is_some() && mine.lock().unwrap().is_none() && other.lock().unwrap().is_some());
        mine.write(&seen).unwrap();
        assert_eq!((mine.read(), other.read().loaded), (seen, None));
        let file = mine.folder.join(format!("{}.json", mine.name));
        fs::rename(&file, mine.folder.join(format!("{}.json", other.name))).unwrap();
        assert_eq!((mine.read().loaded, other.read().loaded), (None, None), "it says whose it is");
        fs::write(&file, "{").unwrap();
        assert_eq!(mine.read().loaded, None);
        assert!(Cache::new(of("me"), |_| Some("relative".into())).is_none());
    }
}
