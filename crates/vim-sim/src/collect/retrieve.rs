//! Reading properties: all at once, in pages, or one.

use rookery_vim::Writer;
use rookery_vim::objects::PropertyFilterSpec;

use super::select::{Paths, Spec};
use crate::id::Id;
use crate::privileges;
use crate::properties::{self, Found, Frame};
use crate::refusal::Refusal;
use crate::soap::{Call, Handled, written};
use crate::world::{World, uuid_text};

/// What is left of a retrieve.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub(crate) session: u32,
    /// By specification, the objects that are still to be read.
    parts: Vec<(Spec, Vec<Id>)>,
    page: usize,
}

/// `RetrievePropertiesEx`.
pub(crate) fn retrieve(
    world: &mut World,
    call: &Call,
    specs: &[PropertyFilterSpec],
    most: Option<i32>,
) -> Handled {
    let mut parts = Vec::new();
    for spec in specs {
        let spec = Spec::new(world, spec)?;
        let mut objects = spec.objects(world);
        objects.reverse();
        parts.push((spec, objects));
    }
    parts.reverse();
    let session = call.session.unwrap_or_default();
    let page = super::page_size(world, most);
    read_page(world, call, Rest { session, parts, page })
}

/// `ContinueRetrievePropertiesEx`.
pub(crate) fn next_page(world: &mut World, call: &Call, token: &str) -> Handled {
    let of = world.collectors.rests.get(token).map(|rest| rest.session);
    let rest = of.filter(|of| Some(*of) == call.session).and_then(|_| world.collectors.rests.remove(token));
    rest.map_or_else(|| Err(Refusal::invalid_property("token")), |rest| read_page(world, call, rest))
}

fn read_page(world: &mut World, call: &Call, mut rest: Rest) -> Handled {
    let mut out = Writer::new();
    let mut left = rest.page;
    let mut any = false;
    while left > 0
        && let Some((spec, objects)) = rest.parts.last_mut()
    {
        let Some(id) = objects.pop() else {
            rest.parts.pop();
            continue;
        };
        any |= write_object(world, spec, id, &mut out, "objects")?;
        left -= 1;
    }
    rest.parts.retain(|(_, objects)| !objects.is_empty());
    let token = if rest.parts.is_empty() {
        None
    } else {
        let token = uuid_text(world.uuid());
        world.collectors.rests.insert(token.clone(), rest);
        Some(token)
    };
    let objects = out.into_string();
    Ok(written(&call.method, |out| {
        if !any && token.is_none() {
            return;
        }
        out.open("returnval", None);
        if let Some(token) = &token {
            out.leaf("token", None, token);
        }
        out.raw(&objects);
        out.close("returnval");
    }))
}

/// `RetrieveProperties`, the old form without pages.
pub(crate) fn retrieve_all(world: &World, call: &Call, specs: &[PropertyFilterSpec]) -> Handled {
    let mut out = Writer::new();
    for spec in specs {
        let spec = Spec::new(world, spec)?;
        for id in spec.objects(world) {
            write_object(world, &spec, id, &mut out, "returnval")?;
        }
    }
    let objects = out.into_string();
    Ok(written(&call.method, |out| out.raw(&objects)))
}

/// One object with its properties; false if it has gone meanwhile.
fn write_object(
    world: &World,
    spec: &Spec,
    id: Id,
    out: &mut Writer,
    element: &str,
) -> Result<bool, Refusal> {
    if !properties::exists(world, id) {
        return Ok(false);
    }
    out.open(element, None);
    out.reference("obj", None, &id.reference());
    match spec.paths(id.kind) {
        Paths::All => privileges::write_all(world, id, out, Frame::PropSet),
        Paths::These(paths) => {
            let mut missing = Writer::new();
            for path in paths {
                if let Err(refusal) = privileges::readable(world, id, path) {
                    privileges::write_missing(&mut missing, path, &refusal);
                    continue;
                }
                let mut value = Writer::new();
                match properties::property(world, id, path, &mut value, "val") {
                    Found::Invalid => return Err(Refusal::invalid_property(path)),
                    Found::Unset => {}
                    Found::Written => {
                        Frame::PropSet.open(out, path);
                        out.raw(&value.into_string());
                        out.close("propSet");
                    }
                }
            }
            out.raw(&missing.into_string());
        }
    }
    out.close(element);
    Ok(true)
}

/// `Fetch`: one property of one object, as old clients read attributes.
pub(crate) fn fetch(world: &World, call: &Call, path: &str) -> Handled {
    let id = properties::find(world, &call.this).ok_or_else(|| Refusal::gone(&call.this))?;
    privileges::readable(world, id, path)?;
    let mut value = Writer::new();
    match properties::property(world, id, path, &mut value, "returnval") {
        Found::Invalid => Err(Refusal::invalid_property(path)),
        Found::Unset => Ok(written(&call.method, |_| {})),
        Found::Written => Ok(written(&call.method, |out| out.raw(&value.into_string()))),
    }
}
