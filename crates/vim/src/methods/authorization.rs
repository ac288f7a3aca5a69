//! Methods about who may do what. Rookery's client asks only for its own privileges; the rest is for others.

use super::methods;
use crate::authorization::{Permission, UserPrivilegeResult};
use crate::objects::EntityPrivilege;
use crate::{Hidden, MoRef};

methods! {
    /// Which of some privileges a session has on one object, in their order.
    HasPrivilegeOnEntity = "HasPrivilegeOnEntity", repeatable: true, returns Vec<bool> {
        entity: MoRef = "entity",
        session_id: Hidden = "sessionId",
        priv_id: Vec<String> = "privId",
    }
    /// Which of some privileges a user has on some objects.
    HasUserPrivilegeOnEntities = "HasUserPrivilegeOnEntities", repeatable: true, returns Vec<EntityPrivilege> {
        entities: Vec<MoRef> = "entities",
        user_name: String = "userName",
        priv_id: Vec<String> = "privId",
    }
    /// All privileges that a user has on some objects.
    FetchUserPrivilegeOnEntities = "FetchUserPrivilegeOnEntities", repeatable: true, returns Vec<UserPrivilegeResult> {
        entities: Vec<MoRef> = "entities",
        user_name: String = "userName",
    }
    /// The permissions on one object.
    RetrieveEntityPermissions = "RetrieveEntityPermissions", repeatable: true, returns Vec<Permission> {
        entity: MoRef = "entity",
        inherited: bool = "inherited",
    }
    /// All permissions on anything.
    RetrieveAllPermissions = "RetrieveAllPermissions", repeatable: true, returns Vec<Permission> {}
    /// All permissions with that role.
    RetrieveRolePermissions = "RetrieveRolePermissions", repeatable: true, returns Vec<Permission> {
        role_id: i32 = "roleId",
    }
    /// Makes a role; what identifies it.
    AddAuthorizationRole = "AddAuthorizationRole", repeatable: false, returns i32 {
        name: String = "name",
        priv_ids: Vec<String> = "privIds",
    }
    /// Renames a role and gives it other privileges.
    UpdateAuthorizationRole = "UpdateAuthorizationRole", repeatable: true, returns () {
        role_id: i32 = "roleId",
        new_name: String = "newName",
        priv_ids: Vec<String> = "privIds",
    }
    /// Removes a role, and the permissions with it unless that is to fail.
    RemoveAuthorizationRole = "RemoveAuthorizationRole", repeatable: false, returns () {
        role_id: i32 = "roleId",
        fail_if_used: bool = "failIfUsed",
    }
    /// Adds permissions to an object, or changes them.
    SetEntityPermissions = "SetEntityPermissions", repeatable: true, returns () {
        entity: MoRef = "entity",
        permission: Vec<Permission> = "permission",
    }
    /// Gives an object these permissions and no others.
    ResetEntityPermissions = "ResetEntityPermissions", repeatable: true, returns () {
        entity: MoRef = "entity",
        permission: Vec<Permission> = "permission",
    }
    /// Removes a permission from an object.
    RemoveEntityPermission = "RemoveEntityPermission", repeatable: false, returns () {
        entity: MoRef = "entity",
        user: String = "user",
        is_group: bool = "isGroup",
    }
}
