//! Where a new VM goes: the places that its arguments name, or the obvious ones.

use rookery_daemon::settings::Problems;
use rookery_vim::MoRef;
use rookery_vim_client::{FindError, Kind, Place, Places};

use super::arguments;
use crate::exit::Exit;

/// Where it goes. Each is a name, or a path as far as it takes to be clear.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Where it goes (each a name, or as much of a path as makes it clear)")]
pub(super) struct SiteArgs {
    /// The folder that it is filed in
    #[arg(long, value_name = "FOLDER")]
    pub(super) folder: Option<String>,
    /// The resource pool that it runs in
    #[arg(long, value_name = "POOL")]
    pool: Option<String>,
    /// The host that it runs on [default: vCenter chooses]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// The datastore, or cluster of datastores, that its files go to
    #[arg(long, value_name = "DATASTORE")]
    datastore: Option<String>,
}

impl SiteArgs {
    pub(super) fn check(&self, problems: &mut Problems) {
        let Self { folder, pool, host, datastore } = self;
        for (flag, place) in
            [("--folder", folder), ("--pool", pool), ("--host", host), ("--datastore", datastore)]
        {
            place.as_deref().and_then(|place| problems.keep(flag, arguments::name(place)));
        }
    }
}

/// Looks places up. What is unclear is left out, and told at the end.
pub(super) struct Finder<'p> {
    places: &'p Places,
    /// The datacenter that all of them are in, or everything.
    within: MoRef,
    unclear: Vec<FindError>,
}

impl<'p> Finder<'p> {
    pub(super) fn new(places: &'p Places, within: MoRef) -> Self {
        Self { places, within, unclear: Vec::new() }
    }

    /// From here on only what is in the same datacenter as this place.
    pub(super) fn stay_beside(&mut self, place: &MoRef) {
        let mut next = self.places.get(place);
        // Bounded, should a server ever answer with a circle.
        for _ in 0..64 {
            let Some(place) = next else { return };
            if place.id.kind() == "Datacenter" {
                self.within = place.id.clone();
                return;
            }
            next = place.parent.as_ref().and_then(|id| self.places.get(id));
        }
    }

    fn keep(&mut self, found: Result<&Place, FindError>) -> Option<MoRef> {
        found.map(|place| place.id.clone()).map_err(|error| self.unclear.push(error)).ok()
    }

    /// A place by its name; the only one if no name is given.
    fn find(&mut self, kind: Kind, name: Option<&str>) -> Option<MoRef> {
        let found = self.places.find(kind, name, &self.within);
        self.keep(found)
    }

    pub(super) fn network(&mut self, name: &str) -> Option<MoRef> {
        self.find(Kind::Network, Some(name))
    }

    /// The folder, or the one of all VMs of the datacenter.
    pub(super) fn folder(&mut self, args: &SiteArgs) -> Option<MoRef> {
        if let Some(name) = &args.folder {
            return self.find(Kind::Folder, Some(name));
        }
        let datacenter = self.find(Kind::Datacenter, None)?;
        let path = format!("{}/vm", self.places.path(&datacenter));
        let found = self.places.find(Kind::Folder, Some(&path), &datacenter);
        self.keep(found)
    }

    /// The host, if one was named.
    pub(super) fn host(&mut self, args: &SiteArgs) -> Option<MoRef> {
        self.find(Kind::Host, Some(args.host.as_ref()?))
    }

    /// The pool; without a name the source's, if the host can serve it, or else the only one that it can.
    pub(super) fn pool(
        &mut self,
        args: &SiteArgs,
        host: Option<&MoRef>,
        source: Option<&MoRef>,
    ) -> Option<MoRef> {
        let beside = host.and_then(|host| self.places.get(host)).and_then(|host| host.parent.clone());
        let within = beside.unwrap_or_else(|| self.within.clone());
        let find = |name: Option<&str>| self.places.find(Kind::Pool, name, &within);
        let same = source.filter(|_| args.pool.is_none()).map(|pool| self.places.path(pool));
        let same = same.and_then(|path| find(Some(&path)).ok());
        let found = same.map_or_else(|| find(args.pool.as_deref()), Ok);
        self.keep(found)
    }

    /// The datastore, or the only one there is.
    pub(super) fn datastore(&mut self, args: &SiteArgs) -> Option<MoRef> {
        self.find(Kind::Datastore, args.datastore.as_deref())
    }

    /// The datastore, if one was named.
    pub(super) fn named_datastore(&mut self, args: &SiteArgs) -> Option<MoRef> {
        self.find(Kind::Datastore, Some(args.datastore.as_ref()?))
    }

    /// The value, or everything that was unclear.
    pub(super) fn unless_unclear<T>(self, value: Option<T>) -> anyhow::Result<T> {
        value.filter(|_| self.unclear.is_empty()).ok_or_else(|| {
            let reasons: Vec<_> = self.unclear.iter().map(ToString::to_string).collect();
            Exit::Unclear.because(reasons.join("\n       ")).context("nothing was made")
        })
    }
}
