//! Users, roles and permissions as people write them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{PRIVILEGES, canonical, grant};
use crate::world::World;

/// Who may do what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Access {
    /// Who may log in. If it is empty everybody may, as an administrator.
    pub users: Vec<User>,
    /// Roles beside those that always are there: `Admin`, `ReadOnly`, `View`, `Anonymous` and `NoAccess`.
    pub roles: Vec<Role>,
    /// Who has which role on what.
    pub permissions: Vec<Permission>,
}

/// Somebody who may log in.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct User {
    /// As it is given at the login.
    pub name: String,
    pub password: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Privileges under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Role {
    pub name: String,
    /// Exactly these, by vSphere's identifiers.
    pub privileges: Vec<String>,
}

/// The role of a user on an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Permission {
    pub principal: String,
    /// The name of the role.
    pub role: String,
    /// The path of the entity, such as `DC0/vm`; `/` is all of vCenter.
    pub entity: String,
    /// Whether it holds for what is below, too.
    #[serde(default = "crate::model::default_true")]
    pub propagate: bool,
}

/// Puts the settings into force; what is wrong with them.
pub(crate) fn apply(world: &mut World) -> Vec<String> {
    let Access { users, roles, permissions } = world.settings.access.clone();
    let mut problems = Vec::new();
    for user in &users {
        if user.name.is_empty() {
            problems.push("users: a user has no name".to_owned());
        }
        world.authority.listed.insert(canonical(&user.name));
    }
    for role in roles {
        for id in role.privileges.iter().filter(|id| !PRIVILEGES.contains(&id.as_str())) {
            problems.push(format!("roles: {}: there is no privilege {id}", role.name));
        }
        if world.authority.role_named(&role.name).is_some() {
            problems.push(format!("roles: there are two roles {}", role.name));
            continue;
        }
        world.authority.add_role(&role.name, role.privileges.into_iter().collect());
    }
    for permission in permissions {
        let role = world.authority.role_named(&permission.role);
        let entity = world.at_path(&permission.entity);
        if role.is_none() {
            problems.push(format!("permissions: there is no role {}", permission.role));
        }
        if entity.is_none() {
            problems.push(format!("permissions: there is nothing at {}", permission.entity));
        }
        if let (Some(role), Some(entity)) = (role, entity) {
            grant(world, entity, &permission.principal, role, permission.propagate);
        }
    }
    problems
}
