//! Categories of tags.

use serde_json::{Value, json};

use super::{Answer, RestCall, RestError, Style, check_name, need, text, texts};
use crate::world::{World, uuid_text};

#[derive(Debug, Clone)]
pub(super) struct Category {
    pub(super) name: String,
    description: String,
    /// Whether an object may have only one tag of it.
    pub(super) single: bool,
    /// What its tags fit; anything if empty.
    pub(super) types: Vec<String>,
}

pub(super) fn answer(world: &mut World, call: &RestCall<'_>, style: Style) -> Answer {
    let root = world.root;
    let may = |world: &World, privilege| need(world, &call.user, root, privilege);
    match (call.method, call.action.as_deref(), &call.id) {
        ("GET", None, None) => Ok(world.tags.categories.keys().cloned().collect()),
        ("GET", None, Some(id)) => found(world, id).map(|category| shown(id, category)),
        ("POST", None, None) => {
            may(world, "InventoryService.Tagging.CreateCategory")?;
            create(world, call.spec(style, "create_spec")?)
        }
        ("PATCH", None, Some(id)) => {
            may(world, "InventoryService.Tagging.EditCategory")?;
            update(world, id, call.spec(style, "update_spec")?)
        }
        ("DELETE", None, Some(id)) => {
            may(world, "InventoryService.Tagging.DeleteCategory")?;
            delete(world, id)
        }
        _ => Err(RestError::unknown()),
    }
}

pub(super) fn found<'w>(world: &'w World, id: &str) -> Result<&'w Category, RestError> {
    world.tags.categories.get(id).ok_or_else(|| RestError::not_found("category", id))
}

fn shown(id: &str, category: &Category) -> Value {
    json!({
        "id": id,
        "name": category.name,
        "description": category.description,
        "cardinality": if category.single { "SINGLE" } else { "MULTIPLE" },
        "associable_types": category.types,
        "used_by": [],
    })
}

pub(super) fn create(world: &mut World, spec: &Value) -> Answer {
    let category = Category {
        name: text(spec, "name")?.to_owned(),
        description: text(spec, "description")?.to_owned(),
        single: is_single(text(spec, "cardinality")?)?,
        types: texts(spec, "associable_types")?.into_iter().map(str::to_owned).collect(),
    };
    check_name(&category.name)?;
    check_free(world, &category.name, "")?;
    let id = format!("urn:vmomi:InventoryServiceCategory:{}:GLOBAL", uuid_text(world.uuid()));
    world.tags.categories.insert(id.clone(), category);
    Ok(Value::String(id))
}

fn is_single(cardinality: &str) -> Result<bool, RestError> {
    match cardinality {
        "SINGLE" => Ok(true),
        "MULTIPLE" => Ok(false),
        other => Err(RestError::invalid(format!("{other} is not a cardinality"))),
    }
}

/// Names are compared without regard to the case of letters.
fn check_free(world: &World, name: &str, own: &str) -> Result<(), RestError> {
    let lower = name.to_lowercase();
    let taken =
        world.tags.categories.iter().any(|(id, other)| id != own && other.name.to_lowercase() == lower);
    if taken { Err(RestError::exists("category", name)) } else { Ok(()) }
}

/// A category only ever gets wider.
fn update(world: &mut World, id: &str, spec: &Value) -> Answer {
    let mut category = found(world, id)?.clone();
    if let Some(name) = spec["name"].as_str() {
        check_name(name)?;
        check_free(world, name, id)?;
        name.clone_into(&mut category.name);
    }
    if let Some(description) = spec["description"].as_str() {
        description.clone_into(&mut category.description);
    }
    if let Some(cardinality) = spec["cardinality"].as_str() {
        let single = is_single(cardinality)?;
        if single && !category.single {
            return Err(RestError::invalid("the cardinality can only change from SINGLE to MULTIPLE"));
        }
        category.single = single;
    }
    if spec["associable_types"].is_array() {
        let types: Vec<String> = texts(spec, "associable_types")?.into_iter().map(str::to_owned).collect();
        let narrower = category.types.is_empty() || !category.types.iter().all(|own| types.contains(own));
        if !types.is_empty() && types != category.types && narrower {
            return Err(RestError::invalid("associable types can only be added"));
        }
        category.types = types;
    }
    world.tags.categories.insert(id.to_owned(), category);
    Ok(Value::Null)
}

fn delete(world: &mut World, id: &str) -> Answer {
    found(world, id)?;
    let tags = &mut world.tags;
    tags.categories.remove(id);
    tags.all.retain(|_, tag| tag.category != id);
    let left = &tags.all;
    tags.attached.retain(|(tag, _)| left.contains_key(tag));
    Ok(Value::Null)
}
