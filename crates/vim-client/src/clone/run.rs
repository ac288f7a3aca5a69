//! Cloning, with the world as it is: answers get lost, and servers drop what they were told.

use std::time::Duration;

use rookery_daemon::Backoff;
use rookery_vim::inventory_name::escape;
use rookery_vim::methods::FindChild;
use rookery_vim::{FaultKind, MoRef, Node, ParseError, Wire as _};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{CloneOrder, NetworkBacking, Source, spec};
use crate::client::Client;
use crate::error::CallError;
use crate::governor::Site;
use crate::machine::{Change, Machines, OperationError, PowerChange};
use crate::properties::properties_of;
use crate::tasks::TaskError;

/// How long to look for the effect of an order whose answer was lost.
const LOOK_AGAIN: Backoff =
    Backoff { first: Duration::from_millis(500), cap: Duration::from_secs(4), attempts: Some(5) };

/// Why there is no clone, or not the one that was wanted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CloneError {
    /// The source could not be read.
    #[error("what {source_vm} is like could not be read")]
    Source { source_vm: MoRef, source: CallError },
    /// The source has something that cannot be said again.
    #[error("what {source_vm} is like cannot be passed on")]
    Unspeakable { source_vm: MoRef, source: ParseError },
    /// Another VM has the name.
    #[error("the name {name:?} is taken")]
    NameTaken { name: String, source: OperationError },
    /// There is no clone, as far as can be seen.
    #[error("{name:?} was not cloned")]
    Failed { name: String, source: OperationError },
    /// There is a clone, and something that was wanted of it did not happen.
    #[error("{vm} was cloned, but not finished")]
    LeftBehind { vm: MoRef, source: OperationError },
}

impl Machines {
    /// Makes a clone and returns it; its mark is in place then. `progress` gets the per cent done.
    pub async fn clone_vm(
        &self,
        order: &CloneOrder,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<MoRef, CloneError> {
        let vm = match self.order_clone(order, deadline, progress).await? {
            Ok(vm) => vm,
            Err(error) => self.look_for(order, error).await?,
        };
        match self.ensure_mark(&vm, order, deadline).await {
            Ok(()) => Ok(vm),
            Err(source) => Err(CloneError::LeftBehind { vm, source }),
        }
    }

    async fn order_clone(
        &self,
        order: &CloneOrder,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<Result<MoRef, OperationError>, CloneError> {
        let source_vm = || order.source.clone();
        let source = read_source(&self.client, &order.source)
            .await
            .map_err(|source| CloneError::Source { source_vm: source_vm(), source })?;
        let call = spec::call(order, &source)
            .map_err(|source| CloneError::Unspeakable { source_vm: source_vm(), source })?;
        let run = async {
            let site = Site { host: order.host.clone(), datastore: order.datastore.clone() };
            let (task, result) = self.run(&call, site, deadline, progress).await?;
            let vm = result.and_then(|node| MoRef::from_node(node).ok());
            let why = || "vCenter did not say which VM it made".to_owned();
            vm.ok_or_else(|| TaskError::Unknown { task, why: why() }.into())
        };
        Ok(run.await)
    }

    /// After an error: whether there is a clone all the same. Its name is how it is known.
    async fn look_for(&self, order: &CloneOrder, error: OperationError) -> Result<MoRef, CloneError> {
        let name = || order.name.clone();
        if error.fault().is_some_and(|f| f.kind() == FaultKind::DuplicateName) {
            return Err(CloneError::NameTaken { name: name(), source: error });
        }
        if !error.may_have_happened() {
            return Err(CloneError::Failed { name: name(), source: error });
        }
        let found = self.find_child(order).await;
        match (found, &error) {
            (None, _) => Err(CloneError::Failed { name: name(), source: error }),
            // vCenter has said that it failed: what is there is a part of what was wanted.
            (Some(vm), OperationError::Task(TaskError::Failed(_))) => {
                Err(CloneError::LeftBehind { vm, source: error })
            }
            (Some(vm), OperationError::Call(_) | OperationError::Task(_)) => {
                self.see_through(vm, order).await
            }
        }
    }

    async fn find_child(&self, order: &CloneOrder) -> Option<MoRef> {
        let this = self.client.content().search_index.clone()?;
        let search = FindChild { this, entity: order.folder.clone(), name: escape(&order.name) };
        let mut delays = LOOK_AGAIN.delays(self.client.fork_random());
        loop {
            // A failed look proves nothing; neither does one that finds nothing while the order is on its way.
            if let Ok(Some(vm)) = self.client.call(&search).await {
                return Some(vm);
            }
            sleep(delays.next()?).await;
        }
    }

    /// A clone that was found again may still be in the making: until then it shows no configuration.
    async fn see_through(&self, vm: MoRef, order: &CloneOrder) -> Result<MoRef, CloneError> {
        let left_behind = |vm: &MoRef, source| CloneError::LeftBehind { vm: vm.clone(), source };
        let mut delays = LOOK_AGAIN.delays(self.client.fork_random());
        loop {
            let read = properties_of(&self.client, &vm, &["config.template"]).await;
            match (read, delays.next()) {
                (Ok(found), _) if !found.is_empty() => break,
                (Ok(_), None) => {
                    let why = "it shows no configuration yet".to_owned();
                    return Err(left_behind(&vm, TaskError::Unknown { task: vm.clone(), why }.into()));
                }
                (Err(error), None) => return Err(left_behind(&vm, error.into())),
                (_, Some(delay)) => sleep(delay).await,
            }
        }
        if order.power_on
            && let Err(source) = self.power(&vm, PowerChange::On, Duration::from_secs(60)).await
        {
            return Err(left_behind(&vm, source));
        }
        Ok(vm)
    }

    /// Some servers do not take the notes from a clone's order. Without its mark the VM would be nobody's.
    async fn ensure_mark(
        &self,
        vm: &MoRef,
        order: &CloneOrder,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        let Some(wanted) = &order.change.annotation else { return Ok(()) };
        let found = properties_of(&self.client, vm, &["config.annotation"]).await?;
        let annotation = found.into_iter().next().and_then(|(_, node)| String::from_node(node).ok());
        if annotation.as_deref() == Some(wanted) {
            return Ok(());
        }
        let change = Change { annotation: Some(wanted.clone()), ..Change::default() };
        self.reconfigure(vm, change, deadline).await
    }
}

async fn read_source(client: &Client, vm: &MoRef) -> Result<Source, CallError> {
    let mut source = Source::default();
    let paths = ["config.hardware.device", "snapshot", "datastore"];
    for (name, mut node) in properties_of(client, vm, &paths).await? {
        match name.as_str() {
            "config.hardware.device" => source.devices = node.children,
            "snapshot" => {
                source.snapshot = node.take("currentSnapshot").and_then(|n| MoRef::from_node(n).ok());
            }
            "datastore" => source.datastores = node.items().unwrap_or_default(),
            _ => {}
        }
    }
    Ok(source)
}

/// What a card must be told to be connected to a network.
pub async fn network_backing(client: &Client, network: &MoRef) -> Result<NetworkBacking, CallError> {
    let text = |found: &[(String, Node)], path: &str| {
        let node = found.iter().find(|(name, _)| name == path).map(|(_, node)| node.text.clone());
        node.unwrap_or_default()
    };
    if network.kind() == "DistributedVirtualPortgroup" {
        let found = properties_of(client, network, &["key", "config.distributedVirtualSwitch"]).await?;
        let switch = found.iter().find(|(name, _)| name == "config.distributedVirtualSwitch");
        let switch = switch.and_then(|(_, node)| MoRef::from_node(node.clone()).ok());
        let uuid = match switch {
            Some(switch) => text(&properties_of(client, &switch, &["uuid"]).await?, "uuid"),
            None => String::new(),
        };
        return Ok(NetworkBacking::Distributed { switch_uuid: uuid, portgroup_key: text(&found, "key") });
    }
    let found = properties_of(client, network, &["name"]).await?;
    Ok(NetworkBacking::Standard { name: text(&found, "name"), network: network.clone() })
}
