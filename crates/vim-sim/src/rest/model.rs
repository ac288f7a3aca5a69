//! Categories and tags as people write them.

use serde::Deserialize;
use serde_json::json;

use super::{RestError, association, category, tag};
use crate::world::World;

/// A category of tags.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryModel {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Whether an object may have more than one tag of it.
    #[serde(default)]
    pub multiple: bool,
    /// The classes of objects that its tags fit, such as `VirtualMachine`; all if none is named.
    #[serde(default)]
    pub types: Vec<String>,
    #[serde(default, rename = "tag")]
    pub tags: Vec<TagModel>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagModel {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// The paths of the objects that have it, such as `DC0/vm/web`.
    #[serde(default)]
    pub on: Vec<String>,
}

/// Makes a category with its tags; what it is that cannot be made, and why not.
pub(crate) fn apply_model(world: &mut World, model: &CategoryModel) -> Result<(), (String, String)> {
    let spec = json!({
        "name": model.name,
        "description": model.description,
        "cardinality": if model.multiple { "MULTIPLE" } else { "SINGLE" },
        "associable_types": model.types,
    });
    let in_category = |no: RestError| (format!("category {:?}", model.name), no.message);
    let category = category::create(world, &spec).map_err(in_category)?;
    for own in &model.tags {
        let in_tag = |why: String| (format!("tag {:?}", own.name), why);
        let spec = json!({ "name": own.name, "description": own.description, "category_id": category });
        let made = tag::create(world, &spec).map_err(|no| in_tag(no.message))?;
        let id = made.as_str().unwrap_or_default();
        for path in &own.on {
            let object = world.at_path(path).ok_or_else(|| in_tag(format!("there is nothing at {path}")))?;
            association::attach(world, id, object).map_err(|no| in_tag(no.message))?;
        }
    }
    Ok(())
}
