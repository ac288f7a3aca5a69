//! `rookery hatchery init`: the first settings file, from what was said and what vCenter and CDS show.
//!
//! ```text
//!   flags, variables ─► questions ─► vCenter: places, templates ─► questions ─► CDS: tokens, region, models ─► files
//!                                                     │
//!                                                     └─► without a terminal: all that is missing, in one error
//! ```

mod basics;
mod choose;
mod draft;
mod files;
mod look;
mod person;
mod places;

use std::path::{Path, PathBuf, absolute};

use anyhow::{Context as _, bail};
use rookery_cds::HatcheryKey;
use rookery_daemon::settings::{Origin, Problems, SecretFileError, read_secret};
use rookery_daemon::telemetry::chain;
use rookery_hatchery::settings as hatchery_settings;
use secrecy::SecretString;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::Ending;
use crate::cli::{Connect, GuestLogin};
use crate::output::{Format, Out, printable_lines, remark};
use crate::session::{Orders, signals};
use crate::vcenter::Vcenter;
use crate::vm::{WrongArguments, one_line};
use basics::{Basics, basics, guest, vcenter_settings};
use draft::{Draft, Guests, Places};
use files::{Held, Keeper, is_there};
use person::Person;
use places::{GuestsSaid, choose_places, guests_of};

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
    #[arg(long, value_name = "NAME", value_parser = one_line)]
    name: Option<String>,
    /// The address of CDS's API [env: `CDS_API_URL`]
    #[arg(long, value_name = "URL", value_parser = one_line)]
    cds: Option<String>,
    /// File with the token for V1 jobs [env: `CDS_TOKEN` holds the token itself]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the token for V2 jobs [env: `CDS_TOKEN_V2` holds the token itself]
    #[arg(long, value_name = "FILE")]
    token_v2_file: Option<PathBuf>,
    /// The region of V1 jobs [default: the one that CDS gives for V2 jobs]
    #[arg(long, value_name = "NAME", value_parser = one_line)]
    region: Option<String>,
    /// The RSA key that signs for workers; it is made if the file is not there [default: a file beside the settings]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The resource pool of new VMs [default: the only one]
    #[arg(long, value_name = "POOL", value_parser = one_line)]
    pool: Option<String>,
    /// Their datastore, or cluster of datastores [default: the only one]
    #[arg(long, value_name = "DATASTORE", value_parser = one_line)]
    datastore: Option<String>,
    /// Their network [default: the only one]
    #[arg(long, value_name = "NETWORK", value_parser = one_line)]
    network: Option<String>,
    /// Their folder [default: that of all VMs of the datacenter]
    #[arg(long, value_name = "FOLDER", value_parser = one_line)]
    folder: Option<String>,
    /// A template whose guests the guest user logs in to; may be given several times [default: the only one]
    #[arg(long = "template", value_name = "NAME", value_parser = one_line)]
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

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let file = absolute(args.config.as_deref().unwrap_or(Path::new("hatchery.toml")))
        .context("the folder of this process cannot be read")?;
    if is_there(&file) && !args.force {
        bail!("{} is there already: --force overwrites it, and -c names another file", file.display());
    }
    let found_out = signals::heeding(async |stop| Box::pin(found_out(args, &file, stop)).await);
    let Some(FoundOut { draft, keeper, notes }) = found_out.await? else {
        remark(&Orders::default().left());
        return Ok(Ending::Interrupted);
    };
    let read = read(&draft.text(), &file, &keeper);
    let read = read.context("the file that was made cannot be used; nothing was written")?;
    read.warnings.iter().for_each(|warning| remark(&format!("note: {warning}")));
    let files = keeper.write(&draft.text())?;
    let written = Written { settings: file, files, notes };
    let name = written.settings.to_string_lossy();
    out.line(&args.output.render(&written, [&*name], || lines(&written))?).await?;
    Ok(Ending::Done)
}

/// All that is written, and what is told beside it.
struct FoundOut {
    draft: Draft,
    keeper: Keeper,
    notes: Vec<String>,
}

/// `None` if a signal came first. The same listeners hear it from the first question to the last: those of a session would
/// take the first signal behind it for the second one.
async fn found_out(args: &Args, file: &Path, stop: &CancellationToken) -> anyhow::Result<Option<FoundOut>> {
    let person = Person::at_terminal();
    let mut keeper = Keeper::new(file, args.secrets_in_file, args.force);
    let mut missing = Problems::new();
    let asked = async {
        let loaded = vcenter_settings(args, person.as_ref()).await?;
        if let Err(problems) = loaded.vcenter() {
            problems.as_slice().iter().for_each(|problem| missing.add(problem.clone()));
        }
        let basics = basics(args, person.as_ref(), &mut keeper, &mut missing).await?;
        anyhow::Ok((loaded, basics))
    };
    let Some((loaded, basics)) = stop.run_until_cancelled(asked).await.transpose()? else { return Ok(None) };
    let guest = guest(&loaded, &mut missing);
    let Ok(vcenter) = loaded.vcenter().cloned() else { return Ok(WrongArguments::unless(missing, None)?) };
    let seen = match look::vcenter(&vcenter, stop).await {
        Ok(Some(seen)) => seen,
        Ok(None) => return Ok(None),
        Err(error) if missing.is_empty() => return Err(error),
        Err(error) => {
            missing.push("--endpoint", format!("{error:#}"));
            return Ok(WrongArguments::unless(missing, None)?);
        }
    };
    let settled = async {
        let places = choose_places(args, &vcenter, &seen, person.as_ref(), &mut missing).await?;
        let datacenter = places.as_ref().map(|places| places.datacenter.as_str());
        let guests = guests_of(args, guest, &seen, datacenter, person.as_ref(), &mut missing).await?;
        let (basics, (places, guests)) = WrongArguments::unless(missing, basics.zip(places.zip(guests)))?;
        let mut draft = drafted(args, file, &mut keeper, vcenter, basics, places, guests)?;
        let notes = ask_cds(&mut draft, &keeper).await?;
        Ok(FoundOut { draft, keeper, notes })
    };
    stop.run_until_cancelled(settled).await.transpose()
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
