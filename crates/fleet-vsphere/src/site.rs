//! Where new VMs go: the places that the settings name, or the obvious ones.

use rookery_vim::MoRef;
use rookery_vim_client::{
    CallError, Client, FindError, Kind, NetworkBacking, Places, Site as Workplace, network_backing,
};

/// Places by name, or by as much of a path as makes it clear. What is not named is the only one there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteNames {
    /// The datacenter that everything else is in; if it is empty, the only one.
    pub datacenter: String,
    /// The folder that VMs are filed in; the datacenter's own if none is named.
    pub folder: Option<String>,
    /// The resource pool that they run in.
    pub resource_pool: Option<String>,
    /// The datastore, or cluster of them, that their disks go to.
    pub datastore: Option<String>,
    /// The network that their first card is connected to.
    pub network: Option<String>,
}

/// The same places on vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    pub datacenter: MoRef,
    pub placement: Placement,
    /// Which of these places VMs must be in to be touched.
    pub bounds: Bounds,
}

/// Where a new VM goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    pub folder: MoRef,
    pub pool: MoRef,
    /// Where its disks go; to those of its template if there is none to be seen.
    pub datastore: Option<MoRef>,
    /// What its first card is connected to; as its template's if there is none to be seen.
    pub network: Option<NetworkBacking>,
}

impl Placement {
    /// Where clones make work, as far as it is known beforehand: in a cluster of datastores vCenter chooses one.
    pub fn workplace(&self) -> Workplace {
        let datastore = self.datastore.clone().filter(|datastore| datastore.kind() == "Datastore");
        Workplace { host: None, datastore }
    }
}

/// The folder and the resource pool that the settings name: a VM elsewhere was moved there by somebody. What they do not
/// name binds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Where VMs and templates are filed.
    pub folder: Option<MoRef>,
    /// What VMs run in; templates are in no pool.
    pub pool: Option<MoRef>,
}

impl Bounds {
    /// Whether a VM or template there is outside. One of which it is not told is.
    pub fn exclude(&self, folder: Option<&MoRef>, pool: Option<&MoRef>, is_template: bool) -> bool {
        let misses = |bound: &Option<MoRef>, place| bound.is_some() && bound.as_ref() != place;
        misses(&self.folder, folder) || (!is_template && misses(&self.pool, pool))
    }
}

/// Why there is no site.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SiteError {
    /// The places could not be read.
    #[error("vCenter's folders, pools, datastores and networks could not be read")]
    Call(#[from] CallError),
    /// What the settings say does not lead to one place each.
    #[error("it cannot be decided where VMs go: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unclear(Vec<SiteProblem>),
}

/// A setting that does not lead to one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct SiteProblem {
    pub setting: &'static str,
    /// What is wrong with it.
    pub problem: FindError,
}

impl Site {
    /// Finds the places, or says all that is unclear.
    pub async fn find(client: &Client, names: &SiteNames) -> Result<Self, SiteError> {
        let places = Places::load(client).await?;
        let found = found(&places, &client.content().root_folder, names).map_err(SiteError::Unclear)?;
        let network = match &found.network {
            Some(network) => Some(network_backing(client, network).await?),
            None => None,
        };
        let Found { datacenter, folder, pool, datastore, .. } = found;
        let bounds = Bounds {
            // What is in a vApp is in no folder.
            folder: (names.folder.as_ref())
                .filter(|name| !name.is_empty() && pool.kind() != "VirtualApp")
                .map(|_| folder.clone()),
            pool: names.resource_pool.as_ref().filter(|name| !name.is_empty()).map(|_| pool.clone()),
        };
        Ok(Self { datacenter, placement: Placement { folder, pool, datastore, network }, bounds })
    }
}

/// The site before its network was looked at.
struct Found {
    datacenter: MoRef,
    folder: MoRef,
    pool: MoRef,
    datastore: Option<MoRef>,
    network: Option<MoRef>,
}

fn found(places: &Places, root: &MoRef, names: &SiteNames) -> Result<Found, Vec<SiteProblem>> {
    let mut problems = Vec::new();
    let mut find = |setting, kind, name: Option<&str>, within: &MoRef| {
        let name = name.filter(|name| !name.is_empty());
        match places.find(kind, name, within) {
            Ok(place) => Some(place.id.clone()),
            // There is nothing to choose from: clones keep what their template has.
            Err(FindError::NoDefault { candidates, .. })
                if candidates.is_empty() && matches!(kind, Kind::Datastore | Kind::Network) =>
            {
                None
            }
            Err(problem) => {
                problems.push(SiteProblem { setting, problem });
                None
            }
        }
    };
    let datacenter = find("datacenterString", Kind::Datacenter, Some(&names.datacenter), root);
    // Without its datacenter everything is looked for everywhere: what is nowhere is wrong all the same. What has no name
    // cannot be looked for.
    let within = datacenter.as_ref().unwrap_or(root);
    let worthwhile = |name: &Option<String>| datacenter.is_some() || name.is_some();
    let of_all = datacenter.as_ref().map(|datacenter| format!("{}/vm", places.path(datacenter)));
    let folder = names.folder.as_deref().or(of_all.as_deref());
    let folder = folder.and_then(|folder| find("folder", Kind::Folder, Some(folder), within));
    let mut place = |setting, kind, name: &Option<String>| {
        worthwhile(name).then(|| find(setting, kind, name.as_deref(), within)).flatten()
    };
    let pool = place("resourcePool", Kind::Pool, &names.resource_pool);
    let datastore = place("datastoreString", Kind::Datastore, &names.datastore);
    let network = place("networkString", Kind::Network, &names.network);
    match (datacenter, folder, pool) {
        (Some(datacenter), Some(folder), Some(pool)) if problems.is_empty() => {
            Ok(Found { datacenter, folder, pool, datastore, network })
        }
        _ => Err(problems),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_where_the_settings_say_is_outside() {
        let (folder, pool) = (MoRef::new("Folder", "group-v1"), MoRef::new("ResourcePool", "resgroup-1"));
        let other = MoRef::new("Folder", "group-v2");
        let both = Bounds { folder: Some(folder.clone()), pool: Some(pool.clone()) };
        assert!(!both.exclude(Some(&folder), Some(&pool), false));
        assert!(both.exclude(Some(&other), Some(&pool), false), "another folder");
        assert!(both.exclude(Some(&folder), Some(&other), false), "another pool");
        assert!(both.exclude(None, Some(&pool), false), "nobody tells where it is");
        assert!(!both.exclude(Some(&folder), None, true), "a template is in no pool");
        assert!(both.exclude(Some(&other), None, true));
        let neither = Bounds::default();
        assert!(!neither.exclude(Some(&other), None, false), "the settings name no place");
    }
}
