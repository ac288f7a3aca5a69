//! What has to be known before either server can be asked: from flags and variables, else from whoever sits at the terminal.

use std::env;
use std::path::{PathBuf, absolute};

use rookery_daemon::settings::Problems;
use rookery_vim_client::GuestUser;

use super::Args;
use super::files::{Held, Keeper};
use super::person::Person;
use crate::settings::{self, Loaded, Sources};

/// Variables of CDS's own command line, and one beside them.
const CDS_URL: &str = "CDS_API_URL";
const TOKEN: &str = "CDS_TOKEN";
const TOKEN_V2: &str = "CDS_TOKEN_V2";

/// What has to be known before CDS can be asked.
pub(super) struct Basics {
    pub(super) name: String,
    pub(super) cds: String,
    pub(super) token: Option<Held>,
    pub(super) token_v2: Option<Held>,
}

/// The settings of vCenter from flags, variables and the program's own file; what is missing is asked for.
pub(super) async fn vcenter_settings(args: &Args, person: Option<&Person>) -> anyhow::Result<Loaded> {
    let mut sources =
        Sources { guest: args.guest.clone(), ..Sources::of_this_process(None, args.connect.clone()) };
    let mut loaded = settings::load(&sources);
    let Some(person) = person else { return Ok(loaded) };
    let is_missing = |loaded: &Loaded, key: &str| loaded.settings.origin(key).is_none();
    if is_missing(&loaded, "vcenter.endpoint") {
        sources.flags.endpoint = Some(person.ask("vCenter's address").await?);
        loaded = settings::load(&sources);
    }
    if is_missing(&loaded, "vcenter.user") {
        sources.flags.user = Some(person.ask("its user").await?);
    }
    if is_missing(&loaded, "vcenter.password") && is_missing(&loaded, "vcenter.password-file") {
        let password = person.ask_secret("the password").await?;
        sources.vars.insert("ROOKERY_VCENTER__PASSWORD".to_owned(), password);
    }
    Ok(settings::load(&sources))
}

pub(super) async fn basics(
    args: &Args,
    person: Option<&Person>,
    keeper: &mut Keeper,
    missing: &mut Problems,
) -> anyhow::Result<Option<Basics>> {
    let name = match (&args.name, person) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(person)) => Some(person.ask("the hatchery's name, as CDS knows it").await?),
        (None, None) => {
            missing.push(
                "--name",
                "name the hatchery: the name marks its VMs, and for V2 jobs CDS knows it by it",
            );
            None
        }
    };
    let said = |variable: &str| env::var(variable).ok().filter(|value| !value.is_empty());
    let cds = match (args.cds.clone().or_else(|| said(CDS_URL)), person) {
        (Some(url), _) => Some(url),
        (None, Some(person)) => Some(person.ask("the address of CDS's API").await?),
        (None, None) => {
            missing.push(
                "--cds",
                format!("name CDS's API, such as https://cds.example.org/api, or set {CDS_URL}"),
            );
            None
        }
    };
    let mut token = |file: Option<&PathBuf>, variable: &str, name: &str| {
        let held = match file {
            Some(file) => Some(Held::InFile(absolute(file)?)),
            None => said(variable).map(|token| keeper.keep(name, token.into())).transpose()?,
        };
        anyhow::Ok(held)
    };
    let mut v1 = token(args.token_file.as_ref(), TOKEN, "token")?;
    let mut v2 = token(args.token_v2_file.as_ref(), TOKEN_V2, "token-v2")?;
    if v1.is_none() && v2.is_none() {
        if let Some(person) = person {
            let ask = async |what: &str| {
                let token = person.ask_secret(what).await?;
                anyhow::Ok(Some(token).filter(|token| !token.is_empty()))
            };
            if let Some(token) = ask("CDS's token for V2 jobs (empty: none)").await? {
                v2 = Some(keeper.keep("token-v2", token.into())?);
            }
            if let Some(token) = ask("CDS's token for V1 jobs (empty: none)").await? {
                v1 = Some(keeper.keep("token", token.into())?);
            }
        }
        if v1.is_none() && v2.is_none() {
            let why = format!(
                "CDS needs a token of the hatchery: give --token-v2-file (or {TOKEN_V2}) for V2 jobs, --token-file (or \
                 {TOKEN}) for V1 jobs, or both"
            );
            missing.push("--token-v2-file", why);
        }
    }
    let is_whole = v1.is_some() || v2.is_some();
    Ok(name.zip(cds).filter(|_| is_whole).map(|(name, cds)| Basics { name, cds, token: v1, token_v2: v2 }))
}

/// Who logs in to guests, if anybody was named.
pub(super) fn guest(loaded: &Loaded, missing: &mut Problems) -> Option<GuestUser> {
    let is_named = ["guest.user", "guest.password"].iter().any(|key| loaded.settings.origin(key).is_some());
    if !is_named {
        return None;
    }
    let found = loaded.guest_user();
    found.map_err(|problems| problems.as_slice().iter().for_each(|problem| missing.add(problem.clone()))).ok()
}
