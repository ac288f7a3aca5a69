//! Who may do what: one row a type, members in schema order.

use crate::MoRef;
use crate::wire::objects;

objects! {
    /// What a user may do with an object, and with what is below it.
    Permission {
        entity: Option<MoRef> = "entity",
        principal: String = "principal",
        group: bool = "group",
        role_id: i32 = "roleId",
        propagate: bool = "propagate",
    }

    /// Privileges under a name.
    AuthorizationRole {
        role_id: i32 = "roleId",
        /// Whether it cannot be changed.
        system: bool = "system",
        name: String = "name",
        info: Description = "info",
        privilege: Vec<String> = "privilege",
    }

    /// Words about something.
    Description {
        label: String = "label",
        summary: String = "summary",
    }

    /// Words about something with a key.
    ElementDescription {
        label: String = "label",
        summary: String = "summary",
        key: String = "key",
    }

    /// A privilege that there is.
    AuthorizationPrivilege {
        priv_id: String = "privId",
        on_parent: bool = "onParent",
        name: String = "name",
        priv_group_name: String = "privGroupName",
    }

    /// All that a user may do with one object.
    UserPrivilegeResult {
        entity: MoRef = "entity",
        privileges: Vec<String> = "privileges",
    }
}
