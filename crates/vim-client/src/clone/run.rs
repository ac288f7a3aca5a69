//! Carries a clone out: answers get lost, and servers drop some of what they were sent.

use std::borrow::Cow;
use std::time::Duration;

use rookery_vim::{FaultKind, MoRef, ParseError, Wire as _};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::guest::is_mismatch;
use super::{CloneOrder, DiskMove, FixedAddress, GuestSetup, Source, spec};
use crate::client::Client;
use crate::error::CallError;
use crate::governor::Site;
use crate::machine::{Change, Machines, OperationError, PowerChange};
use crate::made::{child, child_after, configured};
use crate::placement::{self, PlacementError};
use crate::properties::properties_of;
use crate::tasks::TaskError;
use crate::uuid::Uuid;

/// How often it is looked whether a clone is still in the making.
const STILL_MADE: Duration = Duration::from_secs(2);

/// Why there is no clone, or not the one that was wanted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CloneError {
    /// The source could not be read.
    #[error("the configuration of {source_vm} could not be read")]
    Source { source_vm: MoRef, source: CallError },
    /// The source has a setting that cannot be encoded.
    #[error("the configuration of {source_vm} cannot be written into the clone's specification")]
    NotEncodable { source_vm: MoRef, source: ParseError },
    /// There is a fixed address, and no card that could have it.
    #[error("{source_vm} has no network card for the address {address}")]
    NoCard { source_vm: MoRef, address: String },
    /// There is no datastore for it.
    #[error("{name:?} was not cloned: no datastore can take its disks")]
    NoPlace { name: String, source: PlacementError },
    /// Another VM has the name.
    #[error("the name {name:?} is taken")]
    NameTaken { name: String, source: OperationError },
    /// There is no clone, as far as can be seen.
    #[error("{name:?} was not cloned")]
    Failed { name: String, source: OperationError },
    /// It was not made in the time that there was for it.
    #[error("{name:?} was not cloned in time")]
    OutOfTime { name: String },
    /// There is a clone, but one of the steps after cloning failed.
    #[error("the clone is there as {}, but {missing}", vm.id())]
    LeftBehind { vm: MoRef, missing: &'static str, source: OperationError },
    /// There is a clone whose guest is not set up: it seems to change its cards all the time.
    #[error("the clone is there as {}, but its guest is not set up: settings were sent for {sent} network cards, and vCenter counts {}", vm.id(), counted.as_deref().unwrap_or("others"))]
    CardsDisagree { vm: MoRef, sent: usize, counted: Option<String>, source: OperationError },
}

impl CloneError {
    /// The clone that is there all the same, without something that was wanted of it.
    pub fn left_behind(&self) -> Option<&MoRef> {
        match self {
            Self::LeftBehind { vm, .. } | Self::CardsDisagree { vm, .. } => Some(vm),
            Self::Source { .. }
            | Self::NotEncodable { .. }
            | Self::NoCard { .. }
            | Self::NoPlace { .. }
            | Self::NameTaken { .. }
            | Self::Failed { .. }
            | Self::OutOfTime { .. } => None,
        }
    }
}

impl Machines {
    /// Makes a clone and returns it; its mark is in place then. `progress` gets the per cent done.
    pub async fn clone_vm(
        &self,
        order: &CloneOrder,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<MoRef, CloneError> {
        let source = self.source_of(order).await?;
        let order = &*self.placed_clone(order, &source).await?;
        let vm = match self.order_clone(order, &source, deadline, progress.clone()).await? {
            Ok(vm) => vm,
            Err(error) if is_mismatch(&error) => {
                self.clone_in_steps(order, source, error, deadline, progress).await?
            }
            Err(error) => self.look_for(order, error, deadline).await?,
        };
        match self.ensure_mark(&vm, order, deadline).await {
            Ok(()) => Ok(vm),
            Err(source) => Err(CloneError::LeftBehind {
                vm,
                missing: "its notes are not those that were asked for",
                source,
            }),
        }
    }

    /// Checks an order as far as that goes without carrying it out, and tells what has its name already.
    pub async fn check_clone(&self, order: &CloneOrder) -> Result<Option<MoRef>, CloneError> {
        let source = self.source_of(order).await?;
        let order = &*self.placed_clone(order, &source).await?;
        spec::call(order, &source).map_err(unspeakable(order))?;
        let failed = |error: CallError| CloneError::Failed { name: order.name.clone(), source: error.into() };
        child(&self.client, &order.folder, &order.name).await.map_err(failed)
    }

    /// What the source is like, if it can have what is wanted.
    pub(super) async fn source_of(&self, order: &CloneOrder) -> Result<Source, CloneError> {
        let source_vm = order.source.clone();
        match (read_source(&self.client, &order.source).await, &order.guest) {
            (Err(source), _) => Err(CloneError::Source { source_vm, source }),
            (Ok(source), GuestSetup::Linux { address: Some(FixedAddress { ip, .. }), .. })
                if source.cards() == 0 =>
            {
                Err(CloneError::NoCard { source_vm, address: ip.clone() })
            }
            (Ok(source), _) => Ok(source),
        }
    }

    /// The order with a datastore in the place of a cluster of them.
    async fn placed_clone<'o>(
        &self,
        order: &'o CloneOrder,
        source: &Source,
    ) -> Result<Cow<'o, CloneOrder>, CloneError> {
        let cluster = order.datastore.as_ref().filter(|target| placement::is_cluster(target));
        let Some(target) = cluster else { return Ok(Cow::Borrowed(order)) };
        let homeless = CloneOrder { datastore: None, disks: DiskMove::ChildMost, ..order.clone() };
        let call = spec::call(&homeless, source).map_err(unspeakable(order))?;
        let what = || spec::placement(target, call);
        let chosen = placement::datastore(&self.client, target, spec::stay(order, source), what)
            .await
            .map_err(|source| CloneError::NoPlace { name: order.name.clone(), source })?;
        Ok(Cow::Owned(CloneOrder { datastore: Some(chosen), ..order.clone() }))
    }

    pub(super) async fn order_clone(
        &self,
        order: &CloneOrder,
        source: &Source,
        deadline: Duration,
        progress: Option<watch::Sender<i32>>,
    ) -> Result<Result<MoRef, OperationError>, CloneError> {
        let call = spec::call(order, source).map_err(unspeakable(order))?;
        let run = async {
            let site = Site { host: order.host.clone(), datastore: order.datastore.clone() };
            let ordered = self.ordered.clone().unwrap_or_default();
            let (task, result) = self.run_noting(&call, site, deadline, progress, &ordered).await?;
            let vm = result.and_then(|node| MoRef::from_node(node).ok());
            if vm.is_none() {
                ordered.taken(&task);
            }
            let why = || "vCenter did not say which VM it made".to_owned();
            vm.ok_or_else(|| TaskError::Unknown { task, why: why() }.into())
        };
        Ok(run.await)
    }

    /// After an error: whether there is a clone all the same. Its name is how it is known.
    pub(super) async fn look_for(
        &self,
        order: &CloneOrder,
        error: OperationError,
        deadline: Duration,
    ) -> Result<MoRef, CloneError> {
        let name = || order.name.clone();
        if error.is(FaultKind::DuplicateName) {
            return Err(CloneError::NameTaken { name: name(), source: error });
        }
        if !error.may_have_happened() {
            return Err(CloneError::Failed { name: name(), source: error });
        }
        let found = child_after(&self.client, &order.folder, &order.name, &error).await;
        match (found, &error) {
            (None, _) => Err(CloneError::Failed { name: name(), source: error }),
            // vCenter has said that it failed: what is there is a part of what was wanted.
            (Some(vm), OperationError::Task(TaskError::Failed(_))) => {
                Err(CloneError::LeftBehind { vm, missing: "vCenter says that cloning failed", source: error })
            }
            (Some(vm), OperationError::Call(_) | OperationError::Task(_)) => {
                self.see_through(vm, order, error, deadline).await
            }
        }
    }

    /// A clone that was found again may still be in the making. It is not given up for that, and not started before.
    async fn see_through(
        &self,
        vm: MoRef,
        order: &CloneOrder,
        lost: OperationError,
        deadline: Duration,
    ) -> Result<MoRef, CloneError> {
        let until = Instant::now() + deadline;
        loop {
            match self.finish(&vm, order).await {
                Ok(true) => return Ok(vm),
                Ok(false) => return Err(CloneError::NameTaken { name: order.name.clone(), source: lost }),
                Err(error) if is_in_the_making(&error) && Instant::now() < until => {
                    sleep(STILL_MADE).await;
                }
                Err(source) => {
                    let missing = "it is not known whether it is complete, and it was not started";
                    return Err(CloneError::LeftBehind { vm, missing, source });
                }
            }
        }
    }

    /// Starts what was found, if it is to run; `false`: it is not what was ordered, and stays as it is.
    async fn finish(&self, vm: &MoRef, order: &CloneOrder) -> Result<bool, OperationError> {
        configured(&self.client, vm, "config.template").await?;
        if let Some(asked) = order.change.instance_uuid {
            let (annotation, given) = self.identity(vm).await?;
            if given.is_some_and(|given| given != asked) && annotation != order.change.annotation {
                return Ok(false);
            }
        }
        if order.power_on {
            self.power(vm, PowerChange::On, Duration::from_secs(60)).await?;
        }
        Ok(true)
    }

    /// The notes and the UUID of a VM.
    async fn identity(&self, vm: &MoRef) -> Result<(Option<String>, Option<Uuid>), OperationError> {
        let mut found =
            properties_of(&self.client, vm, &["config.annotation", "config.instanceUuid"]).await?;
        let mut text = |path: &str| String::from_node(found.remove(path)?).ok();
        let uuid = text("config.instanceUuid").and_then(|uuid| uuid.parse().ok());
        Ok((text("config.annotation"), uuid))
    }

    /// Some servers do not take the notes, or the UUID, from a clone's order. Without its mark the VM would be nobody's,
    /// and with another UUID than its mark names it would pass for a copy.
    async fn ensure_mark(
        &self,
        vm: &MoRef,
        order: &CloneOrder,
        deadline: Duration,
    ) -> Result<(), OperationError> {
        let Some(wanted) = &order.change.annotation else { return Ok(()) };
        let (annotation, given) = self.identity(vm).await?;
        let wanted = match (order.change.instance_uuid, given) {
            (Some(asked), Some(given)) => wanted.replace(&asked.to_string(), &given.to_string()),
            (_, None) | (None, _) => wanted.clone(),
        };
        if annotation.as_ref() == Some(&wanted) {
            return Ok(());
        }
        let change = Change { annotation: Some(wanted), ..Change::default() };
        self.reconfigure(vm, change, deadline).await
    }
}

/// Whether vCenter shows nothing of a VM yet, or is still at work on it.
fn is_in_the_making(error: &OperationError) -> bool {
    matches!(error, OperationError::Task(TaskError::Unknown { .. })) || error.is(FaultKind::TaskInProgress)
}

fn unspeakable(order: &CloneOrder) -> impl FnOnce(ParseError) -> CloneError {
    |source| CloneError::NotEncodable { source_vm: order.source.clone(), source }
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
