//! Files on datastores.

use rookery_vim::methods::{
    CopyDatastoreFileTask, DeleteDatastoreFileTask, MakeDirectory, Method, MoveDatastoreFileTask,
    SearchDatastoreSubFoldersTask, SearchDatastoreTask,
};
use rookery_vim::{MoRef, Node};

use super::{Dispatch, order, this_of};
use crate::files::{self, FileWork, Place};
use crate::id::{Id, Kind};
use crate::refusal::Refusal;
use crate::soap::{Call, answer};
use crate::world::World;

pub(super) fn handle(world: &mut World, call: &Call, node: Node) -> Dispatch {
    let manager = Id::single(Kind::FileManager);
    Dispatch::Handled(match call.method.as_str() {
        MakeDirectory::NAME => answer::<MakeDirectory>(node, |m| {
            let place = Place::parse(world, &m.name)?;
            files::make_directory(world, &place, m.create_parent_directories == Some(true))
        }),
        DeleteDatastoreFileTask::NAME => answer::<DeleteDatastoreFileTask>(node, |m| {
            let work = FileWork::Delete(Place::parse(world, &m.name)?);
            Ok(order::<DeleteDatastoreFileTask>(world, call, manager, work.into()))
        }),
        MoveDatastoreFileTask::NAME => answer::<MoveDatastoreFileTask>(node, |m| {
            let (from, to) =
                (Place::parse(world, &m.source_name)?, Place::parse(world, &m.destination_name)?);
            let work = FileWork::Move { from, to, force: m.force == Some(true) };
            Ok(order::<MoveDatastoreFileTask>(world, call, manager, work.into()))
        }),
        CopyDatastoreFileTask::NAME => answer::<CopyDatastoreFileTask>(node, |m| {
            let (from, to) =
                (Place::parse(world, &m.source_name)?, Place::parse(world, &m.destination_name)?);
            let work = FileWork::Copy { from, to, force: m.force == Some(true) };
            Ok(order::<CopyDatastoreFileTask>(world, call, manager, work.into()))
        }),
        SearchDatastoreTask::NAME => answer::<SearchDatastoreTask>(node, |m| {
            let patterns = m.search_spec.map(|spec| spec.match_pattern).unwrap_or_default();
            search::<SearchDatastoreTask>(world, call, &m.datastore_path, patterns, false)
        }),
        SearchDatastoreSubFoldersTask::NAME => answer::<SearchDatastoreSubFoldersTask>(node, |m| {
            let patterns = m.search_spec.map(|spec| spec.match_pattern).unwrap_or_default();
            search::<SearchDatastoreSubFoldersTask>(world, call, &m.datastore_path, patterns, true)
        }),
        _ => return Dispatch::Unknown(node),
    })
}

fn search<M: Method>(
    world: &mut World,
    call: &Call,
    path: &str,
    patterns: Vec<String>,
    recursive: bool,
) -> Result<MoRef, Refusal> {
    let browser = this_of(world, call, Kind::HostDatastoreBrowser)?;
    let place = Place::parse(world, path)?;
    let work = FileWork::Search { browser, place, patterns, recursive };
    Ok(order::<M>(world, call, browser, work.into()))
}
