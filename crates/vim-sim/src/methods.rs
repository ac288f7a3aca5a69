//! Methods: which call is answered by whom.

mod authorization;
mod collector;
mod events;
mod files;
mod folders;
mod guest;
mod guest_files;
mod history;
mod machines;
mod search;
mod sessions;
mod storage;
mod task_history;
mod views;

use std::collections::HashMap;
use std::sync::LazyLock;

use rookery_sim::Request;
use rookery_vim::methods::{Login, Method};
use rookery_vim::objects::{AboutInfo, ServiceContent};
use rookery_vim::{MoRef, Node, envelope};

use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::soap::{self, Call, Handled, Outcome};
use crate::world::{World, uuid_text};
use crate::{privileges, properties, task};
pub(crate) use folders::add_pool;
pub(crate) use guest_files::{FileCall, answer as file_answer};
pub(crate) use sessions::end as end_session;

static METHODS: LazyLock<Methods> = LazyLock::new(|| {
    let mut all = Methods::default();
    sessions::add(&mut all);
    authorization::add(&mut all);
    collector::add(&mut all);
    views::add(&mut all);
    machines::add(&mut all);
    search::add(&mut all);
    events::add(&mut all);
    task_history::add(&mut all);
    history::add(&mut all);
    guest::add(&mut all);
    guest_files::add(&mut all);
    folders::add(&mut all);
    files::add(&mut all);
    storage::add(&mut all);
    all
});

pub(crate) fn handle(world: &mut World, call: &Call, content: Node, request: &Request) -> Handled {
    // Only these can be called by anybody.
    if call.session.is_none() && !matches!(call.method.as_str(), "RetrieveServiceContent" | "Login") {
        return Err(Refusal::not_authenticated(&call.this));
    }
    privileges::check(world, call, &content)?;
    if call.method == Login::NAME {
        return sessions::login(world, call, content, request);
    }
    match METHODS.0.get(call.method.as_str()) {
        Some(answer) => answer(world, call, content),
        None => Err(Refusal::invalid_request(format!("Unable to resolve WSDL method name {}", call.method))),
    }
}

type Handler = dyn Fn(&mut World, &Call, Node) -> Handled + Send + Sync;

/// Who answers each method.
#[derive(Default)]
struct Methods(HashMap<&'static str, Box<Handler>>);

impl Methods {
    /// A method whose answer is written by hand, or comes later.
    fn write<M: Method>(&mut self, act: impl Fn(&mut World, &Call, M) -> Handled + Send + Sync + 'static) {
        self.0.insert(M::NAME, Box::new(move |world, call, node| act(world, call, soap::read(node)?)));
    }

    /// A method that is answered with its result.
    fn answer<M: Method>(
        &mut self,
        act: impl Fn(&mut World, &Call, M) -> Result<M::Output, Refusal> + Send + Sync + 'static,
    ) {
        self.write(move |world, call, m| Ok(Outcome::Answer(envelope::result::<M>(&act(world, call, m)?))));
    }

    /// A method that starts an operation on an entity, and is answered with its task.
    fn order<M: Method<Output = MoRef>>(
        &mut self,
        plan: impl Fn(&mut World, &Call, M) -> Result<(Id, Work), Refusal> + Send + Sync + 'static,
    ) {
        self.answer(move |world, call, m: M| {
            let (entity, work) = plan(world, call, m)?;
            Ok(task::start(world, M::NAME, entity, &call.user, work).reference())
        });
    }

    /// A method that starts an operation on the VM that it is called on.
    fn order_for_vm<M: Method<Output = MoRef>>(
        &mut self,
        plan: impl Fn(Id, M) -> Work + Send + Sync + 'static,
    ) {
        self.order(move |world, call, m| {
            let vm = this_of(world, call, Kind::VirtualMachine)?;
            Ok((vm, plan(vm, m)))
        });
    }
}

/// The object of that class that a call was made on.
fn this_of(world: &World, call: &Call, kind: Kind) -> Result<Id, Refusal> {
    let found = properties::find(world, &call.this).filter(|id| id.kind == kind);
    found.ok_or_else(|| Refusal::gone(&call.this))
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

/// The object of a reference, which must be there.
fn existing(world: &World, reference: &MoRef) -> Result<Id, Refusal> {
    properties::find(world, reference).ok_or_else(|| Refusal::gone(reference))
}

/// The same where nothing needs to be named.
fn existing_if_any(world: &World, reference: Option<&MoRef>) -> Result<Option<Id>, Refusal> {
    reference.map(|reference| existing(world, reference)).transpose()
}
