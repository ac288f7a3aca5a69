//! Which objects have which tags.

use rookery_vim::MoRef;
use serde_json::{Value, json};

use super::{Answer, RestCall, RestError, category, need, tag, texts};
use crate::id::Id;
use crate::privileges;
use crate::world::World;

const ATTACH: &str = "InventoryService.Tagging.AttachTag";

pub(super) fn answer(world: &mut World, call: &RestCall<'_>) -> Answer {
    if call.method != "POST" {
        return Err(RestError::unknown());
    }
    match call.action.as_deref() {
        Some("attach") => {
            let (tag, object) = (call.id()?, object(world, call, &call.body["object_id"])?);
            attach(world, tag, object).map(|()| Value::Null)
        }
        Some("detach") => {
            let (tag, object) = (call.id()?, object(world, call, &call.body["object_id"])?);
            detach(world, tag, object).map(|()| Value::Null)
        }
        Some("attach-tag-to-multiple-objects") => to_objects(world, call, attach),
        Some("detach-tag-from-multiple-objects") => to_objects(world, call, detach),
        Some("attach-multiple-tags-to-object") => of_tags(world, call, attach),
        Some("detach-multiple-tags-from-object") => of_tags(world, call, detach),
        Some("list-attached-tags") => {
            Ok(tags_of(world, seen(world, call, &call.body["object_id"])?).collect())
        }
        Some("list-attachable-tags") => {
            let object = seen(world, call, &call.body["object_id"])?;
            let ids = world.tags.all.keys();
            Ok(ids.filter(|id| check(world, id, object).is_ok()).map(String::as_str).collect())
        }
        Some("list-attached-objects") => objects_of(world, call, call.id()?),
        Some("list-attached-tags-on-objects") => {
            let lists = objects(call)?.iter().filter_map(|given| match seen(world, call, given) {
                Ok(object) => {
                    let tags: Value = tags_of(world, object).collect();
                    Some(Ok(json!({ "object_id": named(object), "tag_ids": tags })))
                }
                // Of many objects those that have gone are passed over.
                Err(no) if no.status == 403 => None,
                Err(no) => Some(Err(no)),
            });
            lists.collect()
        }
        Some("list-attached-objects-on-tags") => {
            let tags = texts(&call.body, "tag_ids")?.into_iter();
            let lists =
                tags.map(|tag| Ok(json!({ "tag_id": tag, "object_ids": objects_of(world, call, tag)? })));
            lists.collect()
        }
        _ => Err(RestError::unknown()),
    }
}

type Change = fn(&mut World, &str, Id) -> Result<(), RestError>;

/// One tag and many objects: each for itself.
fn to_objects(world: &mut World, call: &RestCall<'_>, change: Change) -> Answer {
    let id = call.id()?;
    tag::found(world, id)?;
    let mut reasons = Vec::new();
    for given in objects(call)? {
        let done = object(world, call, given).and_then(|object| change(world, id, object));
        reasons.extend(done.err());
    }
    Ok(batch(&reasons))
}

/// Many tags and one object. A tag that is not there stops all of it.
fn of_tags(world: &mut World, call: &RestCall<'_>, change: Change) -> Answer {
    let tags = texts(&call.body, "tag_ids")?;
    for id in &tags {
        tag::found(world, id)?;
    }
    let object = object(world, call, &call.body["object_id"])?;
    let reasons: Vec<RestError> = tags.into_iter().filter_map(|id| change(world, id, object).err()).collect();
    Ok(batch(&reasons))
}

fn batch(reasons: &[RestError]) -> Value {
    let messages: Vec<Value> = reasons.iter().map(RestError::words).collect();
    json!({ "success": messages.is_empty(), "error_messages": messages })
}

fn objects<'a>(call: &'a RestCall<'_>) -> Result<&'a Vec<Value>, RestError> {
    call.body["object_ids"].as_array().ok_or_else(|| RestError::invalid("object_ids is missing"))
}

/// An object that the user may stick tags on.
fn object(world: &World, call: &RestCall<'_>, given: &Value) -> Result<Id, RestError> {
    let object = seen(world, call, given)?;
    need(world, &call.user, object, ATTACH)?;
    Ok(object)
}

/// An object that the user may see. One that is not there is refused like one that may not be seen.
fn seen(world: &World, call: &RestCall<'_>, given: &Value) -> Result<Id, RestError> {
    let (Some(class), Some(id)) = (given["type"].as_str(), given["id"].as_str()) else {
        return Err(RestError::invalid("an object has a type and an id"));
    };
    let object = Id::of(&MoRef::new(class, id)).filter(|id| world.store.exists(*id));
    let object = object.filter(|id| privileges::user_sees(world, &call.user, *id));
    object.ok_or_else(|| RestError::unauthorized("System.View"))
}

fn named(object: Id) -> Value {
    json!({ "type": object.kind.class(), "id": object.text() })
}

/// Whether a tag fits an object.
fn check(world: &World, id: &str, object: Id) -> Result<(), RestError> {
    let own = tag::found(world, id)?;
    let category = category::found(world, &own.category)?;
    if !category.types.is_empty() && !category.types.iter().any(|class| object.kind.is_a(class)) {
        let class = object.kind.class();
        return Err(RestError::invalid(format!("The category {} is not for a {class}.", category.name)));
    }
    let rival =
        |other: &&str| *other != id && world.tags.all.get(*other).is_some_and(|t| t.category == own.category);
    match tags_of(world, object).find(rival).filter(|_| category.single) {
        Some(_) => Err(RestError::invalid(format!(
            "The object {} has a tag of the category {} already, and may have only one.",
            object.text(),
            category.name
        ))),
        None => Ok(()),
    }
}

pub(super) fn attach(world: &mut World, id: &str, object: Id) -> Result<(), RestError> {
    check(world, id, object)?;
    tidy(world);
    world.tags.attached.insert((id.to_owned(), object));
    Ok(())
}

fn detach(world: &mut World, id: &str, object: Id) -> Result<(), RestError> {
    tag::found(world, id)?;
    world.tags.attached.remove(&(id.to_owned(), object));
    Ok(())
}

/// Forgets objects that have gone, once there may be more of them than of others.
fn tidy(world: &mut World) {
    let (tags, store) = (&mut world.tags, &world.store);
    if tags.attached.len() > 2 * tags.tidied + 1000 {
        tags.attached.retain(|(_, object)| store.exists(*object));
        tags.tidied = tags.attached.len();
    }
}

/// What is attached, each tag looked up on its own: there are few tags and many objects.
fn tags_of(world: &World, object: Id) -> impl Iterator<Item = &str> {
    let tags = world.tags.all.keys();
    tags.filter(move |tag| world.tags.attached.contains(&((*tag).clone(), object))).map(String::as_str)
}

fn objects_of(world: &World, call: &RestCall<'_>, id: &str) -> Answer {
    tag::found(world, id)?;
    let lowest = Id { kind: crate::id::Kind::Folder, number: 0 };
    let attached = world.tags.attached.range((id.to_owned(), lowest)..).take_while(|(tag, _)| tag == id);
    let objects = attached.map(|(_, object)| *object).filter(|object| world.store.exists(*object));
    Ok(objects.filter(|object| privileges::user_sees(world, &call.user, *object)).map(named).collect())
}
