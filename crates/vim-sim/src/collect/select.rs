//! Which objects a filter is about, and which of their properties.

use std::collections::BTreeSet;

use rookery_vim::Writer;
use rookery_vim::objects::{ObjectSpec, PropertyFilterSpec, Selection, TraversalSpec};

use super::refs::refs;
use crate::id::{Id, Kind};
use crate::privileges;
use crate::properties::{self, Found};
use crate::refusal::Refusal;
use crate::world::World;

/// A filter's specification, made ready.
#[derive(Debug, Clone)]
pub(crate) struct Spec {
    props: Vec<Props>,
    roots: Vec<Root>,
}

#[derive(Debug, Clone)]
struct Props {
    class: String,
    /// None means all properties.
    paths: Option<Vec<String>>,
}

#[derive(Debug, Clone)]
enum Root {
    Object(Id),
    /// What a view shows, and nothing further.
    View(Id),
    /// Whatever the traversals lead to.
    General(ObjectSpec),
}

/// What is wanted of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Paths<'s> {
    All,
    These(Vec<&'s str>),
}

impl Spec {
    pub(crate) fn new(world: &World, spec: &PropertyFilterSpec) -> Result<Self, Refusal> {
        if spec.object_set.is_empty() {
            return Err(Refusal::invalid_argument("specSet.objectSet"));
        }
        let props = spec.prop_set.iter().map(|p| Props {
            class: p.kind.clone(),
            paths: (p.all != Some(true)).then(|| p.path_set.clone()),
        });
        let skip_missing = spec.report_missing_objects == Some(true);
        let mut roots = Vec::new();
        for object in &spec.object_set {
            match properties::find(world, &object.obj) {
                Some(id) => roots.push(Root::new(id, object)),
                None if skip_missing => {}
                None => return Err(Refusal::gone(&object.obj)),
            }
        }
        Ok(Self { props: props.collect(), roots })
    }

    /// All objects, in a fixed order, each once.
    pub(crate) fn objects(&self, world: &World) -> Vec<Id> {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        let mut take = |id: Id| {
            if seen.insert(id) {
                found.push(id);
            }
        };
        for root in &self.roots {
            match root {
                Root::Object(id) => take(*id),
                Root::View(view) => {
                    world.views.get(view).into_iter().for_each(|v| v.members(world).for_each(&mut take));
                }
                Root::General(object) => general(world, object, &mut |id| {
                    // What was asked for by name is told of, if only as something that may not be read.
                    if Id::of(&object.obj) == Some(id) || privileges::sees(world, id) {
                        take(id);
                    }
                }),
            }
        }
        found.retain(|id| self.is_about(id.kind) && properties::exists(world, *id));
        found
    }

    /// Whether the properties are there at all, as far as there are objects to tell by.
    pub(crate) fn check_paths(&self, world: &World) -> Result<(), Refusal> {
        let mut seen = BTreeSet::new();
        for id in self.objects(world) {
            if !seen.insert(id.kind) {
                continue;
            }
            let Paths::These(paths) = self.paths(id.kind) else { continue };
            for path in paths {
                if properties::property(world, id, path, &mut Writer::new(), "val") == Found::Invalid {
                    return Err(Refusal::invalid_property(path));
                }
            }
        }
        Ok(())
    }

    /// Whether membership can be told of one object without looking at all others.
    pub(crate) fn is_simple(&self) -> bool {
        !self.roots.iter().any(|root| matches!(root, Root::General(_)))
    }

    /// Whether the filter is about an object, for simple ones.
    pub(crate) fn contains(&self, world: &World, id: Id) -> bool {
        self.is_about(id.kind)
            && properties::exists(world, id)
            && self.roots.iter().any(|root| match root {
                Root::Object(object) => *object == id,
                Root::View(view) => world.views.get(view).is_some_and(|view| view.contains(world, id)),
                Root::General(_) => false,
            })
    }

    /// Whether a traversal follows that property.
    pub(crate) fn follows(&self, path: &str) -> bool {
        self.roots.iter().any(|root| match root {
            Root::Object(_) | Root::View(_) => false,
            Root::General(object) => traverses(&object.select_set, path),
        })
    }

    fn is_about(&self, kind: Kind) -> bool {
        self.props.iter().any(|props| kind.is_a(&props.class))
    }

    /// What is wanted of objects of a class.
    pub(crate) fn paths(&self, kind: Kind) -> Paths<'_> {
        let mut paths: Vec<&str> = Vec::new();
        for props in self.props.iter().filter(|props| kind.is_a(&props.class)) {
            match &props.paths {
                None => return Paths::All,
                Some(more) => {
                    for path in more {
                        if !paths.contains(&path.as_str()) {
                            paths.push(path);
                        }
                    }
                }
            }
        }
        Paths::These(paths)
    }
}

impl Root {
    fn new(id: Id, object: &ObjectSpec) -> Self {
        let skip = object.skip == Some(true);
        match object.select_set.as_slice() {
            [] if !skip => Self::Object(id),
            [Selection::TraversalSpec(step)]
                if skip
                    && step.path == "view"
                    && matches!(id.kind, Kind::ContainerView | Kind::ListView)
                    && step.select_set.is_empty()
                    && step.skip != Some(true) =>
            {
                Self::View(id)
            }
            _ => Self::General(object.clone()),
        }
    }
}

/// Follows the traversals of an object set.
fn general(world: &World, object: &ObjectSpec, take: &mut impl FnMut(Id)) {
    let Some(start) = Id::of(&object.obj) else { return };
    let mut named = Vec::new();
    collect_named(&object.select_set, &mut named);
    let mut visited = BTreeSet::new();
    let mut steps: Vec<&TraversalSpec> = Vec::new();
    if object.skip != Some(true) {
        take(start);
    }
    resolve(&object.select_set, &named, &mut steps);
    let mut open: Vec<(Id, &TraversalSpec)> = steps.iter().rev().map(|step| (start, *step)).collect();
    while let Some((id, step)) = open.pop() {
        if !id.kind.is_a(&step.kind) || !visited.insert((id, std::ptr::from_ref(step) as usize)) {
            continue;
        }
        let mut next = Vec::new();
        resolve(&step.select_set, &named, &mut next);
        let reached = refs(world, id, &step.path);
        if step.skip != Some(true) {
            reached.iter().copied().for_each(&mut *take);
        }
        for id in reached.into_iter().rev() {
            open.extend(next.iter().rev().map(|step| (id, *step)));
        }
    }
}

fn traverses(selections: &[Selection], path: &str) -> bool {
    selections.iter().any(|selection| match selection {
        Selection::TraversalSpec(step) => step.path == path || traverses(&step.select_set, path),
        Selection::SelectionSpec(_) | Selection::Other(_) => false,
    })
}

fn collect_named<'s>(selections: &'s [Selection], named: &mut Vec<&'s TraversalSpec>) {
    for selection in selections {
        if let Selection::TraversalSpec(step) = selection {
            if step.name.is_some() {
                named.push(step);
            }
            collect_named(&step.select_set, named);
        }
    }
}

/// The steps that selections stand for: themselves, or those that they name.
fn resolve<'s>(selections: &'s [Selection], named: &[&'s TraversalSpec], steps: &mut Vec<&'s TraversalSpec>) {
    for selection in selections {
        match selection {
            Selection::TraversalSpec(step) => steps.push(step),
            Selection::SelectionSpec(name) => {
                steps.extend(named.iter().find(|step| step.name == name.name).copied());
            }
            Selection::Other(_) => {}
        }
    }
}
