//! Methods: one row a method, with its parameters in schema order, its result, and whether repeating it is harmless.

mod authorization;
mod guest;
mod machine;
mod others;
mod storage;

use jiff::Timestamp;

use crate::objects::{
    EntityPrivilege, EventFilterSpec, PropertyFilterSpec, RetrieveOptions, RetrieveResult, ServiceContent,
    UpdateSet, UserSession, WaitOptions,
};
use crate::wire::{DecodeError, Member};
use crate::{Hidden, MoRef, Node, Writer};

pub use authorization::*;
pub use guest::*;
pub use machine::*;
pub use others::*;
pub use storage::*;

/// One call: its parameters, and the type of its result.
pub trait Method: Sized {
    /// Name of the method's element.
    const NAME: &'static str;
    /// Whether sending it twice has the effect of sending it once, so that it may be repeated after a lost answer.
    const REPEATABLE: bool;
    /// What the method returns.
    type Output: Member;
    /// The object that the method is called on.
    fn this(&self) -> &MoRef;
    /// Writes the parameters after `_this`.
    fn write_parameters(&self, out: &mut Writer);
    /// Reads a call, on the server's side.
    fn read(node: Node) -> Result<Self, DecodeError>;
}

macro_rules! methods {
    ($(
        $(#[$meta:meta])*
        $name:ident = $wire_name:literal, repeatable: $repeatable:literal, returns $output:ty
        { $( $member:ident: $type:ty = $wire:literal ),* $(,)? }
    )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            /// The object that the method is called on.
            pub this: $crate::MoRef,
            $( #[doc = concat!("Parameter `", $wire, "`.")] pub $member: $type ),*
        }
        impl $crate::methods::Method for $name {
            const NAME: &'static str = $wire_name;
            const REPEATABLE: bool = $repeatable;
            type Output = $output;
            fn this(&self) -> &$crate::MoRef {
                &self.this
            }
            #[allow(unused_variables, reason = "a method may have no parameters")]
            fn write_parameters(&self, out: &mut $crate::Writer) {
                $( $crate::wire::Member::write_member(&self.$member, out, $wire); )*
            }
            fn read(node: $crate::Node) -> Result<Self, $crate::DecodeError> {
                let mut element = $crate::Element::from(node);
                $crate::wire::fill_members!(element, this: $crate::MoRef = "_this", $( $member: $type = $wire ),*);
                Ok(Self {
                    this: $crate::wire::Member::finish(this, &element, "_this")?,
                    $( $member: $crate::wire::Member::finish($member, &element, $wire)? ),*
                })
            }
        }
    )*};
}
pub(crate) use methods;

methods! {
    /// The well-known objects; needs no login.
    RetrieveServiceContent = "RetrieveServiceContent", repeatable: true, returns ServiceContent {}
    /// The server's clock.
    CurrentTime = "CurrentTime", repeatable: true, returns Timestamp {}

    /// Starts a session. On a session that is logged in already it answers `InvalidLogin`.
    Login = "Login", repeatable: false, returns UserSession {
        user_name: String = "userName",
        password: Hidden = "password",
        locale: Option<String> = "locale",
    }
    /// Ends the session.
    Logout = "Logout", repeatable: true, returns () {}
    /// Ends other sessions.
    TerminateSession = "TerminateSession", repeatable: true, returns () {
        session_id: Vec<String> = "sessionId",
    }

    /// Which of some privileges a session has on some objects.
    HasPrivilegeOnEntities = "HasPrivilegeOnEntities", repeatable: true, returns Vec<EntityPrivilege> {
        entity: Vec<MoRef> = "entity",
        session_id: Hidden = "sessionId",
        priv_id: Vec<String> = "privId",
    }

    /// All VMs of that UUID; BIOS UUIDs are copied with VMs, so there may be several.
    FindAllByUuid = "FindAllByUuid", repeatable: true, returns Vec<MoRef> {
        datacenter: Option<MoRef> = "datacenter",
        uuid: String = "uuid",
        vm_search: bool = "vmSearch",
        instance_uuid: Option<bool> = "instanceUuid",
    }
    /// The object of that name right inside another one.
    FindChild = "FindChild", repeatable: true, returns Option<MoRef> {
        entity: MoRef = "entity",
        name: String = "name",
    }
    /// The object at a path such as `DC0/vm/folder/name`.
    FindByInventoryPath = "FindByInventoryPath", repeatable: true, returns Option<MoRef> {
        inventory_path: String = "inventoryPath",
    }

    /// A live list of all objects of some classes below a container.
    CreateContainerView = "CreateContainerView", repeatable: true, returns MoRef {
        container: MoRef = "container",
        kinds: Vec<String> = "type",
        recursive: bool = "recursive",
    }
    /// A list of objects that the client keeps.
    CreateListView = "CreateListView", repeatable: true, returns MoRef {
        obj: Vec<MoRef> = "obj",
    }
    /// Changes a list view; returns what could not be found.
    ModifyListView = "ModifyListView", repeatable: true, returns Vec<MoRef> {
        add: Vec<MoRef> = "add",
        remove: Vec<MoRef> = "remove",
    }
    /// Ends a view.
    DestroyView = "DestroyView", repeatable: true, returns () {}

    /// Reads properties of many objects.
    RetrievePropertiesEx = "RetrievePropertiesEx", repeatable: true, returns Option<RetrieveResult> {
        spec_set: Vec<PropertyFilterSpec> = "specSet",
        options: RetrieveOptions = "options",
    }
    /// The next page of a retrieve. A token serves once: a repeat would skip a page or fail.
    ContinueRetrievePropertiesEx = "ContinueRetrievePropertiesEx", repeatable: false, returns RetrieveResult {
        token: String = "token",
    }
    /// A collector of one's own, whose filters do not mix with those of others.
    CreatePropertyCollector = "CreatePropertyCollector", repeatable: true, returns MoRef {}
    /// Ends a collector and its filters.
    DestroyPropertyCollector = "DestroyPropertyCollector", repeatable: true, returns () {}
    /// Starts watching.
    CreateFilter = "CreateFilter", repeatable: false, returns MoRef {
        spec: PropertyFilterSpec = "spec",
        partial_updates: bool = "partialUpdates",
    }
    /// The long poll. With the version of the last answer that arrived it may be repeated: the server replays.
    WaitForUpdatesEx = "WaitForUpdatesEx", repeatable: true, returns Option<UpdateSet> {
        version: Option<String> = "version",
        options: Option<WaitOptions> = "options",
    }
    /// Makes a running long poll of this collector fail with `RequestCanceled`.
    CancelWaitForUpdates = "CancelWaitForUpdates", repeatable: true, returns () {}

    /// Starts reading history. A session may have few of these at a time.
    CreateCollectorForEvents = "CreateCollectorForEvents", repeatable: true, returns MoRef {
        filter: EventFilterSpec = "filter",
    }
    /// The next events after those that were read; none means the end. A repeat would skip some.
    ReadNextEvents = "ReadNextEvents", repeatable: false, returns Vec<Node> {
        max_count: i32 = "maxCount",
    }
    /// Ends reading.
    DestroyCollector = "DestroyCollector", repeatable: true, returns () {}
}
