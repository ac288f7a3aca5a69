//! Where the program's settings come from: flags, variables, a file, and what a URL among them implies.

mod show;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use anyhow::Context as _;
use rookery_daemon::settings::{Key, Layers, Origin, Problems, Settings, environment};
use rookery_vim_client::GuestUser;

use crate::cli::{Connect, GuestLogin};
use crate::guest_user;
use crate::vcenter::{self, Vcenter, address, check, known_hosts};

pub use show::{ShowArgs, show};

/// Every key, in the order in which they are shown.
pub(crate) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| [vcenter::KEYS, guest_user::KEYS].concat());

/// Everything that settings are read from. The file is read on top of it.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The settings file that was asked for.
    pub config: Option<PathBuf>,
    pub flags: Connect,
    /// The flags about guests.
    pub guest: GuestLogin,
    pub vars: BTreeMap<String, String>,
}

/// The effective settings, and what is wrong with them.
#[derive(Debug)]
pub struct Loaded {
    /// The values that are right.
    pub settings: Settings,
    /// All that is wrong.
    pub problems: Problems,
    /// The file that is read when none is asked for.
    pub default_file: Option<PathBuf>,
    vcenter: Option<Vcenter>,
    warnings: Vec<String>,
}

impl Sources {
    /// The environment of this process, beside what was said on the command line.
    pub fn of_this_process(config: Option<PathBuf>, flags: Connect) -> Self {
        Self { config, flags, guest: GuestLogin::default(), vars: environment().collect() }
    }

    fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn default_file(&self) -> Option<PathBuf> {
        let given = self.var("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = given.or_else(|| Some(PathBuf::from(self.var("HOME")?).join(".config")))?;
        Some(folder.join("rookery").join("rookery.toml"))
    }

    /// All layers but what follows from others.
    fn layers(&self) -> Layers<'static> {
        let Connect { endpoint, user, password_file, datacenter, ca_file, thumbprint, insecure } =
            self.flags.clone();
        let GuestLogin { guest_user, guest_password_file } = self.guest.clone();
        let layers = Layers::new(&KEYS);
        let asked_for = self.config.clone().or_else(|| self.var("ROOKERY_CONFIG").map(PathBuf::from));
        let layers = match (asked_for, self.default_file()) {
            (Some(file), _) => layers.file(&file),
            (None, Some(file)) => layers.optional_file(&file),
            (None, None) => layers,
        };
        let layers = layers
            .env(self.vars.clone())
            .flag("vcenter.endpoint", endpoint)
            .flag("vcenter.user", user)
            .flag("vcenter.password-file", password_file)
            .flag("vcenter.datacenter", datacenter)
            .flag("vcenter.ca-file", ca_file)
            .flag("vcenter.thumbprint", thumbprint)
            .flag("vcenter.insecure", insecure.then(|| "true".to_owned()));
        // Flags of the same names are about vCenter.
        let of_guest = [
            ("guest.user", "guest-user", guest_user),
            ("guest.password-file", "guest-password-file", guest_password_file),
        ];
        of_guest.into_iter().fold(layers, |layers, (key, flag, value)| match value {
            Some(value) => layers.implied_by_flag(key, flag, value),
            None => layers,
        })
    }
}

/// What an address implies is as strong as the address itself: credentials in a flag's URL beat all variables.
fn imply(layers: Layers<'static>, origin: &Origin, values: Vec<(&'static str, String)>) -> Layers<'static> {
    if let Origin::Flag(flag) = origin {
        let add = |layers: Layers<'static>, (key, value)| layers.implied_by_flag(key, flag, value);
        return values.into_iter().fold(layers, add);
    }
    layers.computed(&origin.to_string(), values)
}

/// Reads all layers and checks what they say together.
pub fn load(sources: &Sources) -> Loaded {
    // Twice: what the effective address implies is known only once it has been found.
    let (first, _) = sources.layers().resolve_what_is_right();
    let mut warnings = Vec::new();
    let mut layers = sources.layers();
    if let Some((origin, values)) = address::implied(&first) {
        layers = imply(layers, &origin, values);
    }
    if let Some(file) = sources.var("GOVC_TLS_KNOWN_HOSTS").filter(|_| check::trust_is_open(&first)) {
        match known_hosts::thumbprint(file, &first) {
            Ok(found) => {
                let value = found.map(|print| ("vcenter.thumbprint", print.to_string()));
                layers = layers.computed(&format!("file {file} (GOVC_TLS_KNOWN_HOSTS)"), value);
            }
            Err(warning) => warnings.push(warning),
        }
    }
    if let Some(login) = sources.var(guest_user::GOVC_LOGIN) {
        let origin = format!("environment {}", guest_user::GOVC_LOGIN);
        layers = layers.computed(&origin, guest_user::implied(login));
    }
    let (settings, mut problems) = layers.resolve_what_is_right();
    let vcenter = check::check(&settings, &mut problems);
    let problems = settings.locate(problems);
    warnings.extend(address::exposure(&settings));
    Loaded { settings, problems, default_file: sources.default_file(), vcenter, warnings }
}

/// What a command says that needs a vCenter, if nobody has said which.
pub(crate) const NO_VCENTER: &str = "no vCenter is named: give --endpoint, --user and --password-file, or set GOVC_URL, \
     GOVC_USERNAME and GOVC_PASSWORD,\nor write `endpoint`, `user` and `password-file` below [vcenter] into \
     ~/.config/rookery/rookery.toml";

impl Loaded {
    /// The vCenter to connect to, or all that stands in the way.
    pub fn vcenter(&self) -> Result<&Vcenter, Problems> {
        match &self.vcenter {
            Some(vcenter) if self.problems.is_empty() => Ok(vcenter),
            Some(_) | None => Err(self.problems.clone()),
        }
    }

    /// The same for a command that cannot do without one.
    pub fn vcenter_or_advice(&self) -> anyhow::Result<&Vcenter> {
        let vcenter = self.vcenter();
        if self.names_a_vcenter() {
            return Ok(vcenter?);
        }
        vcenter.context(NO_VCENTER)
    }

    /// Who acts inside guests, or what is missing for it.
    pub fn guest_user(&self) -> Result<GuestUser, Problems> {
        guest_user::check(&self.settings)
    }

    /// Whether anybody said which vCenter, or said anything wrong.
    pub fn names_a_vcenter(&self) -> bool {
        let named = |key| self.settings.origin(key).is_some();
        let wrong = self.problems.as_slice().iter().any(|problem| problem.origin.is_some());
        ["vcenter.endpoint", "vcenter.user", "vcenter.password"].into_iter().any(named) || wrong
    }

    /// What is allowed but unwise.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        self.settings.warnings().iter().chain(&self.warnings).map(String::as_str)
    }
}

#[cfg(test)]
mod tests;
