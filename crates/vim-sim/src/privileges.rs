//! Who may do what: users have roles on entities, a role is a set of privileges, and every call needs some of them.
//!
//! A permission on an entity holds for what is below it, too, if it propagates, until a nearer one takes its place. A VM
//! is below its folder and below its pool, and its users may do what either of the two allows.
//!
//! Whoever is not among the users of the settings is an administrator wherever no permission says otherwise, so that a
//! simulator without such settings lets everybody in.

mod calls;
mod config;
mod known;
mod reading;
mod settings;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use rookery_vim::MoRef;
use rookery_vim::authorization::Permission as WirePermission;

use crate::id::Id;
use crate::refusal::Refusal;
use crate::world::World;
pub(crate) use calls::check;
pub(crate) use known::PRIVILEGES;
pub(crate) use reading::{readable, seen, sees, user_sees, write_all, write_missing};
pub(crate) use settings::apply;
pub use settings::{Access, Permission, Role, User};

pub(crate) const ADMIN: i32 = -1;
const READ_ONLY: i32 = -2;
const NO_ACCESS: i32 = -5;
/// What every role has that was made by a call.
const ALWAYS: [&str; 3] = ["System.Anonymous", "System.View", "System.Read"];

#[derive(Debug)]
pub(crate) struct Authority {
    pub(crate) roles: BTreeMap<i32, StoredRole>,
    /// By user, in small letters, and by entity.
    grants: BTreeMap<String, BTreeMap<Id, Grant>>,
    /// Users who are administrators of nothing unless told so.
    listed: BTreeSet<String>,
    last_role: i32,
}

#[derive(Debug, Clone)]
pub(crate) struct StoredRole {
    pub(crate) name: String,
    pub(crate) privileges: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// As it was written.
    principal: String,
    role: i32,
    propagate: bool,
}

impl Authority {
    /// The roles that always are there.
    pub(crate) fn new() -> Self {
        let kept = |name: &str, privileges: &[&str]| StoredRole {
            name: name.to_owned(),
            privileges: privileges.iter().map(|&id| id.to_owned()).collect(),
        };
        let roles = [
            (ADMIN, kept("Admin", PRIVILEGES)),
            (READ_ONLY, kept("ReadOnly", &ALWAYS)),
            (-3, kept("View", &["System.Anonymous", "System.View"])),
            (-4, kept("Anonymous", &["System.Anonymous"])),
            (NO_ACCESS, kept("NoAccess", &[])),
        ];
        Self { roles: roles.into(), grants: BTreeMap::new(), listed: BTreeSet::new(), last_role: 0 }
    }

    fn is_open(&self) -> bool {
        self.grants.is_empty() && self.listed.is_empty()
    }

    pub(crate) fn role_named(&self, name: &str) -> Option<i32> {
        self.roles.iter().find(|(_, role)| role.name == name).map(|(id, _)| *id)
    }

    pub(crate) fn add_role(&mut self, name: &str, privileges: BTreeSet<String>) -> i32 {
        self.last_role += 1;
        self.roles.insert(self.last_role, StoredRole { name: name.to_owned(), privileges });
        self.last_role
    }

    fn role_has(&self, role: i32, privilege: &str) -> bool {
        self.roles.get(&role).is_some_and(|role| role.privileges.contains(privilege))
    }
}

/// `DOMAIN\user` and `user@domain` are the same user, in whatever case.
fn canonical(user: &str) -> String {
    let user = user.to_lowercase();
    match user.split_once('\\') {
        Some((domain, name)) => format!("{name}@{domain}"),
        None => user,
    }
}

/// Whether these credentials are right.
pub(crate) fn may_log_in(world: &World, user: &str, password: &str) -> bool {
    let settings = &world.settings;
    let listed = settings.access.users.iter().find(|known| canonical(&known.name) == canonical(user));
    match (listed, &settings.login) {
        (Some(known), _) => known.password == password,
        (None, Some((name, secret))) => name == user && secret == password,
        (None, None) => !user.is_empty() && settings.access.users.is_empty(),
    }
}

/// Whether a user has been given anything, and so may come in.
pub(crate) fn has_any(world: &World, user: &str) -> bool {
    let user = canonical(user);
    let authority = &world.authority;
    !authority.listed.contains(&user) || authority.grants.get(&user).is_some_and(|own| !own.is_empty())
}

/// Whether a user may do something to an object.
pub(crate) fn holds(world: &World, user: &str, on: Id, privilege: &str) -> bool {
    roles_on(world, user, on).iter().any(|role| world.authority.role_has(*role, privilege))
}

/// The roles of a user on an object.
pub(crate) fn roles_on(world: &World, user: &str, on: Id) -> Vec<i32> {
    if world.authority.is_open() {
        return vec![ADMIN];
    }
    let user = canonical(user);
    let on = entity_of(world, on);
    let mut roles: Vec<i32> = role_on_path(world, &user, on, world.store.ancestors(on)).into_iter().collect();
    if let Some(vm) = world.store.vms.get(&on)
        && let Some(place) = vm.pool.or(vm.host)
    {
        let through = std::iter::once(place).chain(world.store.ancestors(place));
        roles.extend(role_on_path(world, &user, on, through));
    }
    roles.dedup();
    roles
}

fn role_on_path(world: &World, user: &str, on: Id, above: impl Iterator<Item = Id>) -> Option<i32> {
    let authority = &world.authority;
    let own = authority.grants.get(user);
    let granted = own.and_then(|own| {
        let here = own.get(&on).or_else(|| above.filter_map(|id| own.get(&id)).find(|grant| grant.propagate));
        here.map(|grant| grant.role)
    });
    granted.or_else(|| (!authority.listed.contains(user)).then_some(ADMIN))
}

/// The entity whose permissions count for an object.
fn entity_of(world: &World, id: Id) -> Id {
    let of_task = world.tasks.get(id).map(|task| task.entity);
    let entity = of_task.or_else(|| world.snapshots.get(&id).copied()).unwrap_or(id);
    if world.store.exists(entity) { entity } else { world.root }
}

/// The caller; none if the world acts by itself.
fn asker(world: &World) -> Option<&str> {
    world.caller.and_then(|session| world.sessions.get(session)).map(|session| session.user.as_str())
}

/// The roles of whoever asks.
pub(crate) fn own_roles(world: &World, on: Id) -> Vec<i32> {
    asker(world).map_or_else(|| vec![ADMIN], |user| roles_on(world, user, on))
}

/// The permissions on an entity; inherited ones, too, if wanted.
pub(crate) fn permissions_on(world: &World, entity: Id, inherited: bool) -> Vec<WirePermission> {
    let above: Vec<Id> = if inherited { world.store.ancestors(entity).collect() } else { Vec::new() };
    let mut found = Vec::new();
    for own in world.authority.grants.values() {
        let here = own.get_key_value(&entity);
        let nearest = above.iter().filter_map(|id| own.get_key_value(id)).find(|(_, grant)| grant.propagate);
        found.extend(here.or(nearest).map(|(id, grant)| grant.shown(*id)));
    }
    found
}

/// All permissions that there are.
pub(crate) fn all_permissions(world: &World) -> Vec<WirePermission> {
    let grants = world.authority.grants.values().flatten();
    grants
        .filter(|(id, _)| world.store.exists(**id) && sees(world, **id))
        .map(|(id, grant)| grant.shown(*id))
        .collect()
}

impl Grant {
    fn shown(&self, entity: Id) -> WirePermission {
        WirePermission {
            entity: Some(entity.reference()),
            principal: self.principal.clone(),
            group: false,
            role_id: self.role,
            propagate: self.propagate,
        }
    }
}

/// Gives a user a role on an entity. Watchers see the difference after [`visibility_changed`].
pub(crate) fn grant(world: &mut World, entity: Id, principal: &str, role: i32, propagate: bool) {
    let grant = Grant { principal: principal.to_owned(), role, propagate };
    world.authority.grants.entry(canonical(principal)).or_default().insert(entity, grant);
}

/// Takes a permission away; whether there was one. Watchers see the difference after [`visibility_changed`].
pub(crate) fn revoke(world: &mut World, entity: Id, principal: &str) -> bool {
    let principal = canonical(principal);
    let Some(own) = world.authority.grants.get_mut(&principal) else { return false };
    own.remove(&entity).is_some()
}

/// Takes all permissions on an entity away.
pub(crate) fn revoke_all(world: &mut World, entity: Id) {
    for own in world.authority.grants.values_mut() {
        own.remove(&entity);
    }
}

/// Makes watchers read all objects again, since what users may see has changed.
pub(crate) fn visibility_changed(world: &mut World) {
    let everything: BTreeSet<Id> = world.store.entities().map(|(id, _)| id).collect();
    for id in everything {
        world.store.log.listed(id);
    }
}

/// A role that was asked for.
pub(crate) fn role(world: &World, id: i32) -> Result<&StoredRole, Refusal> {
    world.authority.roles.get(&id).ok_or_else(|| Refusal::new("NotFound", "The role was not found."))
}

/// The privileges that a role made by a call gets.
pub(crate) fn checked(privileges: &[String]) -> Result<BTreeSet<String>, Refusal> {
    if privileges.iter().any(|id| !PRIVILEGES.contains(&id.as_str())) {
        return Err(Refusal::invalid_argument("privIds"));
    }
    Ok(privileges.iter().cloned().chain(ALWAYS.map(str::to_owned)).collect())
}

/// The entity of a reference.
pub(crate) fn entity(world: &World, reference: &MoRef) -> Result<Id, Refusal> {
    Id::of(reference).filter(|id| world.store.exists(*id)).ok_or_else(|| Refusal::gone(reference))
}

#[cfg(test)]
mod tests;
