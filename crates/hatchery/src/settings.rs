//! The hatchery's settings, from the file of the Go hatchery: its keys, its bare numbers, its two layouts.
//!
//! ```text
//! text → layout (hatchery.vsphere, or the top) → section (types, unknown keys) → checked parts → Settings
//! ```
//!
//! - The loader reports all problems at once, each with the path of its key. What does not keep the hatchery from
//!   working is a warning. An unknown key is a problem if it resembles a known one; other unknown keys are listed
//!   apart, because `run` accepts them and `check` does not.
//! - Not set is not the same as 0, except for intervals, deadlines and pool sizes: there 0 means the default, because
//!   generated files contain zeros.
//! - Each secret `x` can be kept in a file that `xFile` names. No secret appears in a `Debug`, problem or report.
//! - [`KEYS`] is the table of all keys with their defaults. The reader, the document, the comparison at a reload and
//!   the tests use it.

mod addresses;
mod common;
mod flavors;
mod keys;
mod layout;
mod log;
mod models;
mod pem;
mod provision;
mod reload;
mod reported;
mod section;
mod url;
mod vcenter;
mod warm;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::plan::capacity::Limits;
use rookery_cds::Cdn;
use rookery_daemon::settings::{Origin, Problem, Problems, exposure, read_secret, syntax};
use rookery_fleet::capacity;
use rookery_fleet::flavor::Flavors;
use rookery_vim_client::Trust;
use toml::Table;

pub use crate::plan::{Cleaning, ModelRef, Pool, Warm};
pub use addresses::Addresses;
pub use common::{Api, Identity, Listen};
pub use keys::{Effective, KEYS, Key, WhenUnset};
pub use log::{Level, Log};
pub use models::Models;
pub use provision::{Queue, SlowSpawn, Worker};
pub use reload::{differences, reload};
pub use reported::reported;
pub use section::ReadSecret;
pub use url::{InvalidAddress, Url};
pub use vcenter::VCenter;

use section::{Notes, Section};

use crate::intake::demand::Rules;
use crate::launch::config::{Addresses as WorkerAddresses, HttpAddress};
use crate::plan::Desired;

/// The checked settings of a hatchery.
#[derive(Debug, Clone)]
pub struct Settings {
    pub identity: Identity,
    pub listen: Listen,
    pub api: Api,
    /// Where logs are sent; the CDS server is asked for what is empty.
    pub cdn: Cdn,
    pub queue: Queue,
    pub limits: Limits,
    pub worker: Worker,
    pub vcenter: VCenter,
    pub addresses: Addresses,
    pub flavors: Flavors,
    /// The flavor of jobs and models that name none, spelled as in its definition.
    pub default_flavor: Option<String>,
    pub warm: Warm,
    pub models: Models,
    pub cleaning: Cleaning,
    pub log: Log,
}

impl Settings {
    /// Which jobs this hatchery takes.
    pub fn rules(&self) -> Rules {
        Rules {
            region: self.queue.region.clone().unwrap_or_default(),
            ignore_job_with_no_region: self.queue.ignore_jobs_without_region,
            os_arch: self.identity.os_arch.clone(),
            default_models: self.models.defaults_v2.clone(),
            reads_v2_models: self.api.token_v2.is_some(),
        }
    }

    /// What a plan is made for.
    pub fn desired(&self) -> Desired<'_> {
        Desired {
            owner: &self.identity.owner,
            limits: &self.limits,
            registering: self.queue.registering,
            attempts: self.queue.attempts,
            flavors: &self.flavors,
            default_flavor: self.default_flavor.as_deref(),
            networks: &self.addresses.networks,
            warm: &self.warm,
            cleaning: &self.cleaning,
        }
    }

    /// Where workers find their servers; `told` is what the CDS server says of its CDN.
    pub fn worker_addresses(&self, told: Option<&Cdn>) -> WorkerAddresses {
        let insecure = self.api.trust == Trust::Insecure;
        let api = HttpAddress { url: self.api.url.to_string(), insecure };
        let told = WorkerAddresses { api, cdn: told.cloned().unwrap_or_default() };
        let ours = WorkerAddresses { cdn: self.cdn.clone(), ..WorkerAddresses::default() };
        told.overridden_by(&ours).overridden_by(&self.worker.addresses)
    }
}

#[derive(Debug, Clone)]
pub struct Loaded {
    pub settings: Settings,
    pub warnings: Vec<Warning>,
    /// Keys that have no effect because nobody knows them.
    pub unknown: Vec<Unknown>,
    /// Remarks for the user that need no action.
    pub notices: Vec<String>,
    /// Whether the text itself holds a secret.
    pub holds_secrets: bool,
}

/// Something that looks wrong but does not keep the hatchery from working.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub path: String,
    /// What looks wrong, and what the hatchery does about it.
    pub message: String,
}

/// A key that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    pub path: String,
    /// A known key with a similar name.
    pub meant: Option<String>,
}

/// Reads the settings file and the files of secrets that it names.
pub fn load_file(path: &Path) -> Result<Loaded, Problems> {
    let origin = Origin::File(path.to_owned());
    let text =
        std::fs::read_to_string(path).map_err(|error| whole(&origin, format!("cannot be read: {error}")))?;
    let secrets = RefCell::new(BTreeSet::new());
    let mut loaded = load(&text, &origin, &|file| {
        secrets.borrow_mut().insert(file.to_owned());
        read_secret(file)
    })?;
    let mut secrets = secrets.take();
    if loaded.holds_secrets {
        secrets.insert(path.to_owned());
    }
    for file in &secrets {
        let place = file.display().to_string();
        let exposed = exposure(file).map(|told| told.trim_start_matches(&place).trim_start().to_owned());
        loaded.warnings.extend(exposed.map(|message| Warning { path: place, message }));
    }
    Ok(loaded)
}

/// Reads settings from a text. `origin` names the text in problems that concern all of it.
pub fn load(text: &str, origin: &Origin, read_secret: ReadSecret<'_>) -> Result<Loaded, Problems> {
    let file: Table = text.parse().map_err(|error| whole(origin, syntax(text, &error)))?;
    let mut notes = Notes::new(read_secret);
    let found = layout::find(file, &mut notes);
    let log = found.log.into_iter().map(|log| ("log".to_owned(), log)).collect();
    let log = log::log(Section::new("", log, &mut notes).section("log"));
    let settings = check(Section::new(found.at, found.ours, &mut notes), log);
    let Notes { mut problems, warnings, unknown, holds_secrets, .. } = notes;
    // Ignoring a misspelt key is not safe: a pool whose section is misspelt would be emptied.
    let is_slip = unknown.iter().any(|key| key.meant.is_some());
    match settings {
        Some(settings) if problems.is_empty() && !is_slip => {
            let foreign = found.foreign.join(", ");
            let notice = format!("sections of other services are passed over: {foreign}");
            let notices = Some(notice).filter(|_| !foreign.is_empty()).into_iter().collect();
            Ok(Loaded { settings, warnings, unknown, notices, holds_secrets })
        }
        _ => {
            // The load fails anyway, and a misspelt key may be the reason.
            for key in &unknown {
                problems.add(key.to_problem());
            }
            Err(problems)
        }
    }
}

fn check(mut ours: Section<'_, '_>, log: Log) -> Option<Settings> {
    let vcenter = vcenter::vcenter(&mut ours);
    let addresses = addresses::addresses(&mut ours);
    let sizing = flavors::sizing(&mut ours);

    let mut common = ours.section("commonConfiguration");
    let identity = common::identity(&mut common);
    let listen = common::listen(common.section("http"));
    let api = common::api(common.section("api"));
    let cdn = common::cdn(common.section("cdn"));
    let slow_spawn = provision::slow_spawn(common.section("logOptions"));
    let provision = provision::provision(common.section("provision"), slow_spawn);
    common.end();

    let sized = flavors::settle(sizing, provision.sizing, &mut ours);
    let warm = warm::warm(&mut ours, &sized.flavors);
    let models = models::models(&mut ours);
    let minutes = |number: u32| Duration::from_mins(number.into());
    let cleaning = Cleaning {
        interval: ours.seconds("killAwolServersInterval"),
        worker_ttl: minutes(ours.positive("workerTTL")),
        registration_ttl: minutes(ours.positive("workerRegistrationTTL")),
        grace: ours.seconds("finishedWorkerGracePeriod"),
    };
    let adapts_to_cds = ours.flag("adaptToCDS");
    ours.end();
    Some(Settings {
        identity: identity?,
        listen: listen?,
        api: api?,
        cdn,
        queue: Queue { adapts_to_cds, ..provision.queue },
        limits: Limits {
            size: capacity::Limits {
                cpus: sized.cpus,
                memory_mb: sized.memory_mb,
                keep_smaller: sized.keep_smaller,
            },
            ..provision.limits
        },
        worker: provision.worker,
        vcenter: vcenter?,
        addresses,
        flavors: sized.flavors,
        default_flavor: sized.default,
        warm,
        models,
        cleaning,
        log,
    })
}

fn whole(origin: &Origin, message: String) -> Problems {
    let mut problems = Problems::new();
    problems.add(Problem { path: String::new(), origin: Some(origin.clone()), message });
    problems
}

impl Unknown {
    /// The same as a problem, for callers that accept no unknown keys.
    pub fn to_problem(&self) -> Problem {
        let message = match &self.meant {
            Some(meant) => format!("unknown key; did you mean {meant}?"),
            None => "unknown key".to_owned(),
        };
        Problem { path: self.path.clone(), origin: None, message }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_problem().fmt(f)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

#[cfg(test)]
pub(crate) mod tests;
