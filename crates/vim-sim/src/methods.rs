//! Methods: which call is answered by whom.

mod authorization;
mod collector;
mod events;
mod files;
mod folders;
mod guest;
mod guest_files;
mod history;
mod hosts;
mod machines;
mod power;
mod search;
mod sessions;
mod snapshots;
mod storage;
mod task_history;
mod views;

use rookery_sim::Request;
use rookery_vim::methods::Method;
use rookery_vim::objects::{AboutInfo, ServiceContent};
use rookery_vim::{MoRef, Node};

use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::privileges;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::soap::{Call, Handled};
use crate::task::{self, Title};
use crate::world::{World, uuid_text};
pub(crate) use folders::add_pool;
pub(crate) use guest_files::{FileCall, answer as file_answer};
pub(crate) use sessions::end as end_session;

pub(crate) fn handle(world: &mut World, call: &Call, content: Node, request: &Request) -> Handled {
    // Only these can be called by anybody.
    if call.session.is_none() && !matches!(call.method.as_str(), "RetrieveServiceContent" | "Login") {
        return Err(Refusal::not_authenticated(&call.this));
    }
    privileges::check(world, call, &content)?;
    match sessions::handle(world, call, content, request) {
        Dispatch::Handled(handled) => handled,
        Dispatch::Unknown(content) => rest(world, call, content),
    }
}

fn rest(world: &mut World, call: &Call, mut content: Node) -> Handled {
    type Part = fn(&mut World, &Call, Node) -> Dispatch;
    const PARTS: [Part; 16] = [
        authorization::handle,
        collector::handle,
        views::handle,
        machines::handle,
        power::handle,
        snapshots::handle,
        search::handle,
        events::handle,
        task_history::handle,
        history::handle,
        guest::handle,
        guest_files::handle,
        folders::handle,
        hosts::handle,
        files::handle,
        storage::handle,
    ];
    for part in PARTS {
        match part(world, call, content) {
            Dispatch::Handled(handled) => return handled,
            Dispatch::Unknown(back) => content = back,
        }
    }
    Err(Refusal::new("InvalidRequest", format!("Unable to resolve WSDL method name {}", call.method)))
}

/// Whether a part of the interface has the method.
pub(crate) enum Dispatch {
    Handled(Handled),
    /// It does not; this is the call, for the next part.
    Unknown(Node),
}

/// The entity that a call was made on.
fn this_of(world: &World, call: &Call, kind: Kind) -> Result<Id, Refusal> {
    let id = Id::of(&call.this).filter(|id| id.kind == kind);
    id.filter(|id| crate::properties::exists(world, *id)).ok_or_else(|| Refusal::gone(&call.this))
}

/// Starts an operation; the task that it has become.
fn order<M: Method>(world: &mut World, call: &Call, entity: Id, work: Work) -> MoRef {
    let title = Title { name: M::NAME, description: work.description() };
    let duration = work.duration(&world.settings.durations);
    task::start(world, title, entity, &call.user, duration, work).reference()
}

pub(crate) fn content(world: &World) -> ServiceContent {
    let single = |kind: Kind| Some(Id::single(kind).reference());
    ServiceContent {
        root_folder: world.root.reference(),
        property_collector: Id::single(Kind::PropertyCollector).reference(),
        view_manager: single(Kind::ViewManager),
        about: AboutInfo {
            name: "VMware vCenter Server".to_owned(),
            full_name: "VMware vCenter Server 7.0.3 build-0 (Rookery simulator)".to_owned(),
            vendor: Some("VMware, Inc.".to_owned()),
            version: "7.0.3".to_owned(),
            build: Some("0".to_owned()),
            os_type: Some("linux-x64".to_owned()),
            product_line_id: Some("vpx".to_owned()),
            api_type: "VirtualCenter".to_owned(),
            api_version: "7.0.3.0".to_owned(),
            instance_uuid: Some(uuid_text(instance_uuid(&world.settings))),
        },
        session_manager: single(Kind::SessionManager),
        authorization_manager: single(Kind::AuthorizationManager),
        event_manager: single(Kind::EventManager),
        task_manager: single(Kind::TaskManager),
        customization_spec_manager: single(Kind::CustomizationSpecManager),
        search_index: single(Kind::SearchIndex),
        file_manager: single(Kind::FileManager),
        virtual_disk_manager: single(Kind::VirtualDiskManager),
        storage_resource_manager: single(Kind::StorageResourceManager),
        guest_operations_manager: single(Kind::GuestOperationsManager),
    }
}

/// Random in all but its origin, as version 4 has it.
fn instance_uuid(settings: &Settings) -> u128 {
    const MARKED: u128 = (0xf << 76) | (0x3 << 62);
    let whole = (u128::from(settings.instance) << 64) | u128::from(settings.seed);
    (whole & !MARKED) | (0x4 << 76) | (0x2 << 62)
}

/// A reference to an object of one of some classes, which must be there.
fn existing(world: &World, reference: &MoRef) -> Result<Id, Refusal> {
    Id::of(reference)
        .filter(|id| crate::properties::exists(world, *id))
        .ok_or_else(|| Refusal::gone(reference))
}
