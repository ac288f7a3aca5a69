//! Roles, permissions and privileges.

use std::collections::BTreeSet;

use rookery_vim::MoRef;
use rookery_vim::authorization::{Permission, UserPrivilegeResult};
use rookery_vim::methods as vim;
use rookery_vim::objects::{EntityPrivilege, PrivilegeAvailability};

use super::Methods;
use crate::id::{Id, Kind};
use crate::privileges::{self, StoredRole, entity};
use crate::refusal::Refusal;
use crate::world::World;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, m: vim::HasPrivilegeOnEntities| {
        let user = user_of(world, &m.session_id.0)?;
        available(world, &user, &m.entity, &m.priv_id)
    });
    all.answer(|world, _, m: vim::HasPrivilegeOnEntity| {
        let user = user_of(world, &m.session_id.0)?;
        let on = entity(world, &m.entity)?;
        Ok(m.priv_id.iter().map(|id| privileges::holds(world, &user, on, id)).collect())
    });
    all.answer(|world, _, m: vim::HasUserPrivilegeOnEntities| {
        available(world, &m.user_name, &m.entities, &m.priv_id)
    });
    all.answer(|world, _, m: vim::FetchUserPrivilegeOnEntities| all_of(world, &m.user_name, &m.entities));
    all.answer(|world, _, m: vim::RetrieveEntityPermissions| {
        Ok(privileges::permissions_on(world, entity(world, &m.entity)?, m.inherited))
    });
    all.answer(|world, _, _: vim::RetrieveAllPermissions| Ok(privileges::all_permissions(world)));
    all.answer(|world, _, m: vim::RetrieveRolePermissions| {
        privileges::role(world, m.role_id)?;
        Ok(permissions_of(world, m.role_id))
    });
    all.answer(|world, _, m: vim::AddAuthorizationRole| {
        check_name(world, &m.name, None)?;
        let role = world.authority.add_role(&m.name, privileges::checked(&m.priv_ids)?);
        roles_changed(world);
        Ok(role)
    });
    all.answer(|world, _, m: vim::UpdateAuthorizationRole| {
        own_role(world, m.role_id)?;
        check_name(world, &m.new_name, Some(m.role_id))?;
        let kept = StoredRole { name: m.new_name, privileges: privileges::checked(&m.priv_ids)? };
        world.authority.roles.insert(m.role_id, kept);
        roles_changed(world);
        Ok(())
    });
    all.answer(|world, _, m: vim::RemoveAuthorizationRole| remove_role(world, m.role_id, m.fail_if_used));
    all.answer(|world, _, m: vim::SetEntityPermissions| set(world, &m.entity, &m.permission, false));
    all.answer(|world, _, m: vim::ResetEntityPermissions| set(world, &m.entity, &m.permission, true));
    all.answer(|world, _, m: vim::RemoveEntityPermission| {
        let on = entity(world, &m.entity)?;
        if m.is_group || !privileges::revoke(world, on, &m.user) {
            return Err(Refusal::new("NotFound", "The permission was not found."));
        }
        privileges::visibility_changed(world);
        Ok(())
    });
}

fn user_of(world: &World, session: &str) -> Result<String, Refusal> {
    let session = world.sessions.by_key(session).and_then(|id| world.sessions.user(id));
    session.ok_or_else(|| Refusal::invalid_argument("sessionId"))
}

fn available(
    world: &World,
    user: &str,
    entities: &[MoRef],
    privileges: &[String],
) -> Result<Vec<EntityPrivilege>, Refusal> {
    let each = entities.iter().map(|reference| {
        let on = entity(world, reference)?;
        let granted = |id: &String| PrivilegeAvailability {
            priv_id: id.clone(),
            is_granted: privileges::holds(world, user, on, id),
        };
        Ok(EntityPrivilege {
            entity: reference.clone(),
            priv_availability: privileges.iter().map(granted).collect(),
        })
    });
    each.collect()
}

fn all_of(world: &World, user: &str, entities: &[MoRef]) -> Result<Vec<UserPrivilegeResult>, Refusal> {
    let each = entities.iter().map(|reference| {
        let roles = privileges::roles_on(world, user, entity(world, reference)?);
        let roles = roles.iter().filter_map(|role| world.authority.roles.get(role));
        let held: BTreeSet<String> = roles.flat_map(|role| role.privileges.iter().cloned()).collect();
        Ok(UserPrivilegeResult { entity: reference.clone(), privileges: held.into_iter().collect() })
    });
    each.collect()
}

/// A role that can be changed: not one of those that always are there.
fn own_role(world: &World, id: i32) -> Result<(), Refusal> {
    privileges::role(world, id)?;
    if id < 0 { Err(Refusal::invalid_argument("roleId")) } else { Ok(()) }
}

fn check_name(world: &World, name: &str, own: Option<i32>) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(Refusal::invalid_name(name));
    }
    match world.authority.role_named(name).filter(|id| Some(*id) != own) {
        Some(_) => {
            Err(Refusal::new("AlreadyExists", format!("The role '{name}' already exists."))
                .with("name", name))
        }
        None => Ok(()),
    }
}

fn permissions_of(world: &World, role: i32) -> Vec<Permission> {
    let all = privileges::all_permissions(world).into_iter();
    all.filter(|permission| permission.role_id == role).collect()
}

fn remove_role(world: &mut World, role: i32, fail_if_used: bool) -> Result<(), Refusal> {
    own_role(world, role)?;
    let users = permissions_of(world, role);
    if fail_if_used && !users.is_empty() {
        return Err(Refusal::new("RemoveFailed", "The role is in use."));
    }
    for permission in users {
        if let Some(on) = permission.entity.as_ref().and_then(Id::of) {
            privileges::revoke(world, on, &permission.principal);
        }
    }
    world.authority.roles.remove(&role);
    roles_changed(world);
    Ok(())
}

fn roles_changed(world: &mut World) {
    world.store.log.touch(Id::single(Kind::AuthorizationManager), "roleList");
    privileges::visibility_changed(world);
}

fn set(world: &mut World, on: &MoRef, permissions: &[Permission], only: bool) -> Result<(), Refusal> {
    let on = entity(world, on)?;
    for permission in permissions {
        privileges::role(world, permission.role_id)?;
        // There are no groups.
        if permission.group || permission.principal.is_empty() {
            return Err(Refusal::new("UserNotFound", "The user or group could not be found.")
                .with("principal", permission.principal.as_str())
                .with("unresolved", "true"));
        }
    }
    if only {
        privileges::revoke_all(world, on);
    }
    for Permission { principal, role_id, propagate, .. } in permissions {
        privileges::grant(world, on, principal, *role_id, *propagate);
    }
    privileges::visibility_changed(world);
    Ok(())
}
