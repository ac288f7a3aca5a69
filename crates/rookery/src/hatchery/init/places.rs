//! Where VMs go, and whose guests are logged in to: what was named, what there is only one of, or what somebody chooses.

use std::path::PathBuf;

use rookery_daemon::settings::Problems;
use rookery_vim::MoRef;
use rookery_vim_client::{GuestUser, Kind};

use super::Args;
use super::choose::{Unclear, choose_place, choose_templates};
use super::draft::Places;
use super::look::Seen;
use super::person::Person;
use crate::vcenter::Vcenter;

pub(super) async fn choose_places(
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
    within: &MoRef,
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

pub(super) type GuestsSaid = (Option<(GuestUser, Option<PathBuf>)>, Vec<String>, Vec<String>);

/// Whose guests are logged in to, and the templates that nobody has named.
pub(super) async fn guests_of(
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
