//! Tags.

use serde_json::{Value, json};

use super::{Answer, RestCall, RestError, Style, category, check_name, need, text};
use crate::world::{World, uuid_text};

#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) category: String,
    pub(super) name: String,
    description: String,
}

pub(super) fn answer(world: &mut World, call: &RestCall<'_>, style: Style) -> Answer {
    let root = world.root;
    let may = |world: &World, privilege| need(world, &call.user, root, privilege);
    match (call.method, call.action.as_deref(), &call.id) {
        ("GET", None, None) => Ok(world.tags.all.keys().cloned().collect()),
        ("GET", None, Some(id)) => found(world, id).map(|tag| shown(id, tag)),
        ("POST", None, None) => {
            may(world, "InventoryService.Tagging.CreateTag")?;
            create(world, call.spec(style, "create_spec")?)
        }
        // The category stands where tags do elsewhere, or in the body.
        ("POST", Some("list-tags-for-category"), Some(category)) => in_category(world, category),
        ("POST", Some("list-tags-for-category"), None) => {
            in_category(world, text(&call.body, "category_id")?)
        }
        ("PATCH", None, Some(id)) => {
            may(world, "InventoryService.Tagging.EditTag")?;
            update(world, id, call.spec(style, "update_spec")?)
        }
        ("DELETE", None, Some(id)) => {
            may(world, "InventoryService.Tagging.DeleteTag")?;
            found(world, id)?;
            world.tags.all.remove(id);
            world.tags.attached.retain(|(tag, _)| tag != id);
            Ok(Value::Null)
        }
        _ => Err(RestError::unknown()),
    }
}

pub(super) fn found<'w>(world: &'w World, id: &str) -> Result<&'w Tag, RestError> {
    world.tags.all.get(id).ok_or_else(|| RestError::not_found("tag", id))
}

fn shown(id: &str, tag: &Tag) -> Value {
    json!({
        "id": id,
        "category_id": tag.category,
        "name": tag.name,
        "description": tag.description,
        "used_by": [],
    })
}

fn in_category(world: &World, id: &str) -> Answer {
    category::found(world, id)?;
    Ok(world.tags.all.iter().filter(|(_, tag)| tag.category == id).map(|(id, _)| id.clone()).collect())
}

pub(super) fn create(world: &mut World, spec: &Value) -> Answer {
    let tag = Tag {
        category: text(spec, "category_id")?.to_owned(),
        name: text(spec, "name")?.to_owned(),
        description: text(spec, "description")?.to_owned(),
    };
    check_name(&tag.name)?;
    category::found(world, &tag.category)?;
    check_free(world, &tag.category, &tag.name, "")?;
    let id = format!("urn:vmomi:InventoryServiceTag:{}:GLOBAL", uuid_text(world.uuid()));
    world.tags.all.insert(id.clone(), tag);
    Ok(Value::String(id))
}

/// Names are compared without regard to the case of letters, and only within a category.
fn check_free(world: &World, category: &str, name: &str, own: &str) -> Result<(), RestError> {
    let lower = name.to_lowercase();
    let mut others = world.tags.all.iter().filter(|(id, tag)| *id != own && tag.category == category);
    if others.any(|(_, other)| other.name.to_lowercase() == lower) {
        return Err(RestError::exists("tag", name));
    }
    Ok(())
}

fn update(world: &mut World, id: &str, spec: &Value) -> Answer {
    let mut tag = found(world, id)?.clone();
    if let Some(name) = spec["name"].as_str() {
        check_name(name)?;
        check_free(world, &tag.category, name, id)?;
        name.clone_into(&mut tag.name);
    }
    if let Some(description) = spec["description"].as_str() {
        description.clone_into(&mut tag.description);
    }
    world.tags.all.insert(id.to_owned(), tag);
    Ok(Value::Null)
}
