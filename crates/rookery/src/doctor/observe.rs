//! Looks at a vCenter: the connection, then what was asked for, each by a read of its own. A read that fails costs
//! only what it was for.

mod privileges;
mod things;

use rookery_daemon::Clock;
use rookery_fleet_vsphere::Vcenter as LoggedIn;
use rookery_vim::MoRef;
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim_client::{
    CallError, Client, FindError, Kind, Places, TrustError, presented_certificate, vm_by_path, vm_names,
};
use tokio::time::Instant;

use super::observed::{
    ClockReading, Datacenter, Inventory, Miss, Observed, Refusal, Session, Sought, Template,
};
use super::scope::Scope;
use crate::proxies;
use crate::vcenter::Vcenter;

/// How many similar names are offered.
const SIMILAR: usize = 5;

/// Everything, whether there is a session or not.
pub(super) async fn observe(
    vcenter: &Vcenter,
    connected: anyhow::Result<LoggedIn>,
    scope: &Scope,
    clock: &Clock,
) -> Observed {
    let session = match connected {
        Ok(logged_in) => Ok(session(logged_in.client(), scope, clock).await),
        Err(error) => Err(refusal(error)),
    };
    // Whoever cannot be reached need not be tried a second time.
    let certificate = match &session {
        Err(Refusal::Call(CallError::Unreachable { source, .. })) if source.is_transient() => Ok(None),
        Ok(_) | Err(_) => presented_certificate(&vcenter.endpoint, proxies::of_this_process()).await,
    };
    Observed {
        endpoint: vcenter.endpoint.clone(),
        trust: vcenter.trust.clone(),
        user: vcenter.user.clone(),
        now: clock.now(),
        certificate,
        session,
    }
}

fn refusal(error: anyhow::Error) -> Refusal {
    let error = match error.downcast::<CallError>() {
        Ok(error) => return Refusal::Call(error),
        Err(other) => other,
    };
    match error.downcast::<TrustError>() {
        Ok(error) => Refusal::Trust(error),
        Err(other) => Refusal::Local(format!("{other:#}")),
    }
}

async fn session(client: &Client, scope: &Scope, clock: &Clock) -> Session {
    Session {
        about: client.content().about.clone(),
        api_version: client.api_version().to_owned(),
        clock: read_clock(client, clock).await,
        sought: inventory(client, scope).await,
    }
}

/// The server's clock was read at some time between question and answer; the middle is off by half of it at most.
async fn read_clock(client: &Client, clock: &Clock) -> Result<ClockReading, CallError> {
    let (asked, started) = (clock.now(), Instant::now());
    let theirs = client.call(&CurrentTime { this: service_instance() }).await?;
    let half = started.elapsed() / 2;
    let ours = asked.saturating_add(half).unwrap_or(asked);
    Ok(ClockReading { ahead: theirs.duration_since(ours), uncertainty: half })
}

async fn inventory(client: &Client, scope: &Scope) -> Result<Inventory, CallError> {
    let places = Places::load(client).await?;
    let root = &client.content().root_folder;
    let datacenter = places.find(Kind::Datacenter, scope.datacenter.as_deref(), root);
    // Without its datacenter everything is looked for everywhere: what is nowhere is wrong all the same.
    let within = datacenter.as_ref().map_or(root, |place| &place.id);
    let looking = Looking { client, places: &places, within };
    let mut found = Inventory {
        datacenter: match &datacenter {
            Ok(place) => Datacenter::One(places.path(&place.id)),
            Err(FindError::NoDefault { candidates, .. }) => Datacenter::All(candidates.clone()),
            Err(error) => Datacenter::Missing(error.clone()),
        },
        datastore: looking.each(scope.datastore.as_slice(), Kind::Datastore, things::datastore).await.pop(),
        networks: looking.each(&scope.networks, Kind::Network, things::network).await,
        pool: looking.each(scope.pool.as_slice(), Kind::Pool, things::pool).await.pop(),
        folder: looking.each(scope.folder.as_slice(), Kind::Folder, things::folder).await.pop(),
        templates: looking.templates(&scope.templates).await,
        privileges: Vec::new(),
    };
    found.privileges = privileges::ask(client, &found, within).await;
    Ok(found)
}

/// Where things are looked for.
struct Looking<'a> {
    client: &'a Client,
    places: &'a Places,
    within: &'a MoRef,
}

impl Looking<'_> {
    async fn each<T>(
        &self,
        names: &[String],
        kind: Kind,
        read: impl AsyncFn(&Client, &MoRef, String) -> Result<T, CallError>,
    ) -> Vec<Sought<T>> {
        let mut sought = Vec::with_capacity(names.len());
        for name in names {
            let found = match self.places.find(kind, Some(name), self.within) {
                Ok(place) => {
                    read(self.client, &place.id, self.places.path(&place.id)).await.map_err(Miss::Call)
                }
                Err(error) => Err(Miss::Place(error)),
            };
            sought.push(Sought { name: name.clone(), found });
        }
        sought
    }

    /// The names of all VMs are read once, and only if a template is meant by its name.
    async fn templates(&self, wanted: &[String]) -> Vec<Sought<Template>> {
        let is_path = |name: &str| name.starts_with('/');
        let vms = if wanted.iter().all(|name| is_path(name)) {
            Ok(Vec::new())
        } else {
            vm_names(self.client, self.within).await
        };
        let mut found = Vec::with_capacity(wanted.len());
        for name in wanted {
            let id = match &vms {
                _ if is_path(name) => vm_by_path(self.client, name).await.map_err(Miss::Path),
                Ok(vms) => by_name(vms, name),
                Err(error) => Err(Miss::Call(error.clone())),
            };
            let template = match id {
                Ok(id) => things::template(self.client, self.places, &id).await.map_err(Miss::Call),
                Err(miss) => Err(miss),
            };
            found.push(Sought { name: name.clone(), found: template });
        }
        found
    }
}

/// By name, or else by id; `VirtualMachine:vm-62` is always an id.
fn by_name(vms: &[(MoRef, String)], wanted: &str) -> Result<MoRef, Miss> {
    let those = |fits: &dyn Fn(&MoRef, &str) -> bool| -> Vec<MoRef> {
        vms.iter().filter(|(id, name)| fits(id, name)).map(|(id, _)| id.clone()).collect()
    };
    let mut meant = match wanted.strip_prefix("VirtualMachine:") {
        Some(wanted) => those(&|id, _| id.id() == wanted),
        None => those(&|_, name| name == wanted),
    };
    if meant.is_empty() {
        meant = those(&|id, _| id.id() == wanted);
    }
    match meant.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Miss::Vm { similar: similar(vms, wanted) }),
        [_, _, ..] => Err(Miss::Vms(meant)),
    }
}

fn similar(vms: &[(MoRef, String)], wanted: &str) -> Vec<String> {
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let mut ranked: Vec<_> = vms.iter().map(|(_, name)| (likeness(name), name)).collect();
    ranked.retain(|(likeness, _)| *likeness > 0.7);
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    ranked.into_iter().take(SIMILAR).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_meant_by_its_name_before_it_is_by_its_id() {
        let vm = |id: &str, name: &str| (MoRef::new("VirtualMachine", id), name.to_owned());
        let vms = [vm("vm-1", "ubuntu"), vm("vm-2", "twin"), vm("vm-3", "twin"), vm("vm-4", "vm-1")];
        let check = |wanted: &str, expected: &str| {
            let found = by_name(&vms, wanted).map(|id| id.id().to_owned());
            assert_eq!(found.unwrap(), expected);
        };
        check("ubuntu", "vm-1");
        check("vm-1", "vm-4");
        check("vm-3", "vm-3");
        check("VirtualMachine:vm-1", "vm-1");
        assert!(matches!(by_name(&vms, "twin"), Err(Miss::Vms(ids)) if ids.len() == 2));
        assert!(matches!(by_name(&vms, "Ubunut"), Err(Miss::Vm { similar }) if similar == ["ubuntu"]));
        assert!(matches!(by_name(&vms, "zzz"), Err(Miss::Vm { similar }) if similar.is_empty()));
    }
}
