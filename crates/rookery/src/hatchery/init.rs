//! `rookery hatchery init`: the first settings file, from what was said and what vCenter and CDS show.
//!
//! ```text
//!   flags, variables ─► questions ─► vCenter: places, templates ─► questions ─► CDS: tokens, region, models ─► files
//!                                                     │
//!                                                     └─► without a terminal: all that is missing, in one error
//! ```

mod choose;
mod draft;
mod files;
mod look;
mod person;

use std::env;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, bail};
use rookery_cds::HatcheryKey;
use rookery_daemon::settings::{Origin, Problems, SecretFileError, read_secret};
use rookery_daemon::telemetry::chain;
use rookery_hatchery::settings as hatchery_settings;
use rookery_vim_client::{GuestUser, Kind};
use secrecy::SecretString;
use serde::Serialize;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
use crate::output::{Format, Out, printable_lines, remark};
use crate::settings::{self, Loaded, Sources};
use crate::vcenter::Vcenter;
use crate::vm::WrongArguments;
use choose::{Unclear, choose_place, choose_templates};
use draft::{Draft, Guests, Places};
use files::{Held, Keeper};
use look::Seen;
use person::Person;

/// Variables of CDS's own command line, and one beside them.
const CDS_URL: &str = "CDS_API_URL";
const TOKEN: &str = "CDS_TOKEN";
const TOKEN_V2: &str = "CDS_TOKEN_V2";

/// The arguments of `hatchery init`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write the settings [default: hatchery.toml]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Overwrite files that are there
    #[arg(long)]
    force: bool,
    /// The hatchery's name, which marks its VMs; for V2 jobs the one that CDS knows it by
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The address of CDS's API [env: `CDS_API_URL`]
    #[arg(long, value_name = "URL")]
    cds: Option<String>,
    /// File with the token for V1 jobs [env: `CDS_TOKEN` holds the token itself]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the token for V2 jobs [env: `CDS_TOKEN_V2` holds the token itself]
    #[arg(long, value_name = "FILE")]
    token_v2_file: Option<PathBuf>,
    /// The region of V1 jobs [default: the one that CDS gives for V2 jobs]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// The RSA key that signs for workers; it is made if the file is not there [default: a file beside the settings]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The resource pool of new VMs [default: the only one]
    #[arg(long, value_name = "POOL")]
    pool: Option<String>,
    /// Their datastore, or cluster of datastores [default: the only one]
    #[arg(long, value_name = "DATASTORE")]
    datastore: Option<String>,
    /// Their network [default: the only one]
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    /// Their folder [default: that of all VMs of the datacenter]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// A template whose guests the guest user logs in to; may be given several times [default: the only one]
    #[arg(long = "template", value_name = "NAME")]
    templates: Vec<String>,
    /// Write passwords and tokens into the settings themselves, instead of into files beside them
    #[arg(long)]
    secrets_in_file: bool,
    /// How to show what was written
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    output: Format,
    #[command(flatten)]
    guest: GuestLogin,
    #[command(flatten)]
    connect: Connect,
}

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    settings: PathBuf,
    /// Files beside the settings: the key, passwords and tokens.
    files: Vec<PathBuf>,
    /// What was seen on the way.
    notes: Vec<String>,
}

/// What has to be known before CDS can be asked.
struct Basics {
    name: String,
    cds: String,
    token: Option<Held>,
    token_v2: Option<Held>,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let file = absolute(args.config.as_deref().unwrap_or(Path::new("hatchery.toml")))
        .context("the folder of this process cannot be read")?;
    if file.exists() && !args.force {
        bail!("{} is there already: --force overwrites it, and -c names another file", file.display());
    }
    let person = Person::at_terminal();
    let mut keeper = Keeper::new(&file, args.secrets_in_file, args.force);
    let mut missing = Problems::new();
    let loaded = vcenter_settings(args, person.as_ref()).await?;
    let vcenter = match loaded.vcenter() {
        Ok(vcenter) => Some(vcenter.clone()),
        Err(problems) => {
            problems.as_slice().iter().for_each(|problem| missing.add(problem.clone()));
            None
        }
    };
    let basics = basics(args, person.as_ref(), &mut keeper, &mut missing).await?;
    let guest = guest(&loaded, &mut missing);
    let mut places = None;
    let mut guests = None;
    if let Some(vcenter) = &vcenter {
        let seen = match look::vcenter(vcenter).await {
            Ok(Some(seen)) => seen,
            Ok(None) => return Ok(Ending::Interrupted),
            Err(error) if missing.is_empty() => return Err(error),
            Err(error) => {
                missing.push("--endpoint", format!("{error:#}"));
                return Ok(WrongArguments::unless::<Ending>(missing, None)?);
            }
        };
        places = choose_places(args, vcenter, &seen, person.as_ref(), &mut missing).await?;
        let datacenter = places.as_ref().map(|places| places.datacenter.as_str());
        guests = guests_of(args, guest, &seen, datacenter, person.as_ref(), &mut missing).await?;
    }
    let parts = vcenter
        .zip(basics)
        .zip(places)
        .zip(guests)
        .map(|(((vcenter, basics), places), guests)| (vcenter, basics, places, guests));
    let (vcenter, basics, places, guests) = WrongArguments::unless(missing, parts)?;
    let mut draft = drafted(args, &file, &mut keeper, vcenter, basics, places, guests)?;
    let notes = ask_cds(&mut draft, &keeper).await?;
    let read = read(&draft.text(), &file, &keeper);
    let read = read.context("the file that was made cannot be used; nothing was written")?;
    read.warnings.iter().for_each(|warning| remark(&format!("note: {warning}")));
    let files = keeper.write(&draft.text())?;
    let written = Written { settings: file, files, notes };
    let name = written.settings.to_string_lossy();
    out.line(&args.output.render(&written, [&*name], || lines(&written))?).await?;
    Ok(Ending::Done)
}

fn drafted(
    args: &Args,
    file: &Path,
    keeper: &mut Keeper,
    vcenter: Vcenter,
    Basics { name, cds, token, token_v2 }: Basics,
    places: Places,
    (login, templates, others): GuestsSaid,
) -> anyhow::Result<Draft> {
    let password = match &args.connect.password_file {
        Some(file) => Held::InFile(absolute(file)?),
        None => keeper.keep("vcenter-password", vcenter.password.clone())?,
    };
    let login = match login {
        None => None,
        Some((user, Some(file))) => Some((user.name, Held::InFile(absolute(file)?))),
        Some((user, None)) => Some((user.name, keeper.keep("guest-password", user.password)?)),
    };
    Ok(Draft {
        file: file.to_owned(),
        vcenter,
        password,
        places,
        guests: Guests { login, templates, others },
        name,
        key: keeper.key(args.key_file.as_deref())?,
        cds,
        token,
        token_v2,
        region: args.region.clone(),
        v1_models: Vec::new(),
    })
}

fn lines(written: &Written) -> String {
    let Written { settings, files, notes } = written;
    let file = settings.display();
    let mut lines: Vec<String> = notes.clone();
    lines.push(format!("wrote    {file}"));
    lines.extend(files.iter().map(|file| format!("wrote    {}", file.display())));
    lines.push(format!("check it with `rookery hatchery check -c {file}`"));
    printable_lines(&lines.join("\n"))
}

/// The settings of vCenter from flags, variables and the program's own file; what is missing is asked for.
async fn vcenter_settings(args: &Args, person: Option<&Person>) -> anyhow::Result<Loaded> {
    let mut sources =
        Sources { guest: args.guest.clone(), ..Sources::of_this_process(None, args.connect.clone()) };
    let mut loaded = settings::load(&sources);
    let Some(person) = person else { return Ok(loaded) };
    let is_missing = |loaded: &Loaded, key: &str| loaded.settings.origin(key).is_none();
    if is_missing(&loaded, "vcenter.endpoint") {
        sources.flags.endpoint = Some(person.ask("vCenter's address", None).await?);
        loaded = settings::load(&sources);
    }
    if is_missing(&loaded, "vcenter.user") {
        sources.flags.user = Some(person.ask("its user", None).await?);
    }
    if is_missing(&loaded, "vcenter.password") && is_missing(&loaded, "vcenter.password-file") {
        let password = person.ask_secret("the password").await?;
        sources.vars.insert("ROOKERY_VCENTER__PASSWORD".to_owned(), password);
    }
    Ok(settings::load(&sources))
}

async fn basics(
    args: &Args,
    person: Option<&Person>,
    keeper: &mut Keeper,
    missing: &mut Problems,
) -> anyhow::Result<Option<Basics>> {
    let name = match (&args.name, person) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(person)) => Some(person.ask("the hatchery's name, as CDS knows it", None).await?),
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
        (None, Some(person)) => Some(person.ask("the address of CDS's API", None).await?),
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
fn guest(loaded: &Loaded, missing: &mut Problems) -> Option<GuestUser> {
    let is_named = ["guest.user", "guest.password"].iter().any(|key| loaded.settings.origin(key).is_some());
    if !is_named {
        return None;
    }
    let found = loaded.guest_user();
    found.map_err(|problems| problems.as_slice().iter().for_each(|problem| missing.add(problem.clone()))).ok()
}

async fn choose_places(
    args: &Args,
    vcenter: &Vcenter,
    seen: &Seen,
    person: Option<&Person>,
    missing: &mut Problems,
) -> anyhow::Result<Option<Places>> {
    let Some(datacenter) =
        settled(Kind::Datacenter, vcenter.datacenter.as_deref(), &seen.root, seen, person, missing).await?
    else {
        return Ok(None);
    };
    let Some(name) = datacenter else { return Ok(None) };
    let within = seen.places.find(Kind::Datacenter, Some(&name), &seen.root)?.id.clone();
    let pool = settled(Kind::Pool, args.pool.as_deref(), &within, seen, person, missing).await?;
    let datastore =
        settled(Kind::Datastore, args.datastore.as_deref(), &within, seen, person, missing).await?;
    let network = settled(Kind::Network, args.network.as_deref(), &within, seen, person, missing).await?;
    let folder = match &args.folder {
        Some(folder) => settled(Kind::Folder, Some(folder), &within, seen, person, missing).await?,
        None => Some(None),
    };
    let found = pool.zip(datastore).zip(network).zip(folder);
    Ok(found.map(|(((pool, datastore), network), folder)| Places {
        datacenter: name,
        pool,
        datastore,
        network,
        folder,
    }))
}

/// A place that was named, that is the only one, or that somebody has chosen. The outer `None`: it is missing; the inner
/// one: there is nothing to choose from.
async fn settled(
    kind: Kind,
    given: Option<&str>,
    within: &rookery_vim::MoRef,
    seen: &Seen,
    person: Option<&Person>,
    missing: &mut Problems,
) -> anyhow::Result<Option<Option<String>>> {
    let (flag, what) = match kind {
        Kind::Datacenter => ("--datacenter", "datacenter"),
        Kind::Folder => ("--folder", "folder"),
        Kind::Pool => ("--pool", "resource pool"),
        Kind::Datastore => ("--datastore", "datastore"),
        Kind::Network => ("--network", "network"),
        Kind::Compute | Kind::Host => ("", "host"),
    };
    match choose_place(&seen.places, kind, given, within) {
        Ok(chosen) => Ok(Some(chosen)),
        Err(Unclear { why, candidates }) => {
            if let Some(person) = person.filter(|_| !candidates.is_empty()) {
                return Ok(Some(Some(person.choose(what, &why, &candidates).await?)));
            }
            missing.push(flag, why);
            Ok(None)
        }
    }
}

type GuestsSaid = (Option<(GuestUser, Option<PathBuf>)>, Vec<String>, Vec<String>);

/// Whose guests are logged in to, and the templates that nobody has named.
async fn guests_of(
    args: &Args,
    guest: Option<GuestUser>,
    seen: &Seen,
    datacenter: Option<&str>,
    person: Option<&Person>,
    missing: &mut Problems,
) -> anyhow::Result<Option<GuestsSaid>> {
    let there = seen.templates_in(datacenter);
    if guest.is_none() && args.templates.is_empty() {
        return Ok(Some((None, Vec::new(), there)));
    }
    let chosen = match choose_templates(&args.templates, &there) {
        Ok(chosen) => chosen,
        Err(Unclear { why, candidates }) => {
            if let Some(person) = person.filter(|_| !candidates.is_empty()) {
                vec![person.choose("template", &why, &candidates).await?]
            } else {
                missing.push("--template", why);
                return Ok(None);
            }
        }
    };
    let Some(guest) = guest else {
        let why = "say who logs in to the guests of these templates, too: --guest-user and --guest-password-file, or \
                   GOVC_GUEST_LOGIN";
        missing.push("--guest-user", why);
        return Ok(None);
    };
    let others = there.into_iter().filter(|name| !chosen.contains(name)).collect();
    Ok(Some((Some((guest, args.guest.guest_password_file.as_ref().map(PathBuf::from))), chosen, others)))
}

/// Whether CDS takes the tokens; the region and the models that it tells go into the draft.
async fn ask_cds(draft: &mut Draft, keeper: &Keeper) -> anyhow::Result<Vec<String>> {
    let mut notes = Vec::new();
    let settings = |draft: &Draft| read(&draft.text(), &draft.file, keeper).map(|loaded| loaded.settings);
    if draft.token_v2.is_some() {
        let region = look::v2_region(&settings(draft)?).await?;
        notes.push(format!("CDS takes the token for V2 jobs, of region {region:?}"));
        // CDS keeps the region that the first sign-in for V1 jobs names.
        draft.region = draft.region.take().or(Some(region));
    }
    if draft.token.is_some() {
        let (service, models) = look::v1_service(&settings(draft)?).await?;
        notes.push(format!(
            "CDS takes the token for V1 jobs, as service {service}, and has {} worker models for it",
            models.len()
        ));
        draft.v1_models = models;
    }
    Ok(notes)
}

/// Reads settings that are not written yet.
fn read(text: &str, file: &Path, keeper: &Keeper) -> anyhow::Result<hatchery_settings::Loaded> {
    let secret = |path: &Path| -> Result<SecretString, SecretFileError> {
        keeper.planned(path).map_or_else(|| read_secret(path), Ok)
    };
    let loaded = hatchery_settings::load(text, &Origin::File(file.to_owned()), &secret)?;
    HatcheryKey::from_pem(&loaded.settings.identity.private_key)
        .map_err(|error| anyhow::anyhow!("the key cannot be used: {}", chain(&error)))?;
    Ok(loaded)
}
