//! Files on datastores.

use rookery_vim::methods as vim;
use rookery_vim::storage::HostDatastoreBrowserSearchSpec;

use super::{Methods, this_of};
use crate::files::{self, FileWork, Place};
use crate::id::{Id, Kind};
use crate::machine::Work;
use crate::refusal::Refusal;
use crate::soap::Call;
use crate::world::World;

const MANAGER: Id = Id::single(Kind::FileManager);

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, _, m: vim::MakeDirectory| {
        let place = Place::parse(world, &m.name)?;
        files::make_directory(world, &place, m.create_parent_directories == Some(true))
    });
    all.order(|world, _, m: vim::DeleteDatastoreFileTask| {
        Ok((MANAGER, FileWork::Delete(Place::parse(world, &m.name)?).into()))
    });
    all.order(|world, _, m: vim::MoveDatastoreFileTask| {
        let (from, to) = (Place::parse(world, &m.source_name)?, Place::parse(world, &m.destination_name)?);
        Ok((MANAGER, FileWork::Move { from, to, force: m.force == Some(true) }.into()))
    });
    all.order(|world, _, m: vim::CopyDatastoreFileTask| {
        let (from, to) = (Place::parse(world, &m.source_name)?, Place::parse(world, &m.destination_name)?);
        Ok((MANAGER, FileWork::Copy { from, to, force: m.force == Some(true) }.into()))
    });
    all.order(|world, call, m: vim::SearchDatastoreTask| {
        search(world, call, &m.datastore_path, m.search_spec, false)
    });
    all.order(|world, call, m: vim::SearchDatastoreSubFoldersTask| {
        search(world, call, &m.datastore_path, m.search_spec, true)
    });
}

fn search(
    world: &World,
    call: &Call,
    path: &str,
    spec: Option<HostDatastoreBrowserSearchSpec>,
    recursive: bool,
) -> Result<(Id, Work), Refusal> {
    let browser = this_of(world, call, Kind::HostDatastoreBrowser)?;
    let place = Place::parse(world, path)?;
    let patterns = spec.map(|spec| spec.match_pattern).unwrap_or_default();
    Ok((browser, FileWork::Search { browser, place, patterns, recursive }.into()))
}
