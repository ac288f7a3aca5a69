//! Files on datastores.

mod upload;

use jiff::Timestamp;
use rookery_sim::{Request, RequestId, http_date, percent_decode};

use crate::id::Id;
use crate::io::{self, BlobRef, Body, Effect, Reply};
use crate::machine;
use crate::properties::search_results;
use crate::refusal::Refusal;
use crate::task::Done;
use crate::world::World;
pub(crate) use upload::{Upload, cut_uploads, received};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) content: BlobRef,
    pub(crate) modified: Timestamp,
}

impl StoredFile {
    /// What it takes on a datastore.
    pub(crate) fn bytes(&self) -> i64 {
        i64::try_from(self.content.size).unwrap_or(i64::MAX)
    }
}

/// An operation on files.
#[derive(Debug)]
pub(crate) enum FileWork {
    Delete(Place),
    Move { from: Place, to: Place, force: bool },
    Copy { from: Place, to: Place, force: bool },
    Search { browser: Id, place: Place, patterns: Vec<String>, recursive: bool },
}

impl FileWork {
    pub(crate) fn datastores(&self) -> Vec<Id> {
        match self {
            Self::Delete(place) | Self::Search { place, .. } => vec![place.datastore],
            Self::Move { from, to, .. } | Self::Copy { from, to, .. } => vec![from.datastore, to.datastore],
        }
    }

    pub(crate) fn description(&self) -> &'static str {
        match self {
            Self::Delete(_) => "FileManager.deleteFile",
            Self::Move { .. } => "FileManager.moveFile",
            Self::Copy { .. } => "FileManager.copyFile",
            Self::Search { .. } => "HostDatastoreBrowser.search",
        }
    }
}

/// A path on a datastore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) datastore: Id,
    pub(crate) path: String,
}

impl Place {
    /// Reads `[fast] a/b`.
    pub(crate) fn parse(world: &World, text: &str) -> Result<Self, Refusal> {
        let invalid = || {
            Refusal::new("InvalidDatastorePath", format!("Invalid datastore path '{text}'."))
                .with("datastorePath", text)
        };
        Self::find(world, text).ok_or_else(invalid)
    }

    pub(crate) fn find(world: &World, text: &str) -> Option<Self> {
        let (name, path) = text.strip_prefix('[')?.split_once(']')?;
        let datastore = world.store.datastores.keys().copied().find(|id| world.store.name(*id) == name)?;
        Some(Self { datastore, path: clean(path) })
    }

    pub(crate) fn text(&self, world: &World) -> String {
        format!("[{}] {}", world.store.name(self.datastore), self.path)
    }
}

fn clean(path: &str) -> String {
    let parts = path.trim().split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

pub(crate) fn check(world: &World, work: &FileWork) -> Result<(), Refusal> {
    let (place, right) = match work {
        FileWork::Delete(place) | FileWork::Move { from: place, .. } | FileWork::Copy { from: place, .. } => {
            (place, is_there(world, place))
        }
        FileWork::Search { place, .. } => (place, place.path.is_empty() || is_folder(world, place)),
    };
    if right { Ok(()) } else { Err(Refusal::file_not_found(place.text(world))) }
}

fn is_there(world: &World, place: &Place) -> bool {
    is_folder(world, place)
        || left_behind(world, place.datastore).any(|(path, _)| path == place.path)
        || world.store.datastores.get(&place.datastore).is_some_and(|d| d.files.contains_key(&place.path))
}

/// Folders exist because they were made, or because they contain something, such as the files of a VM.
fn is_folder(world: &World, place: &Place) -> bool {
    let Some(datastore) = world.store.datastores.get(&place.datastore) else { return false };
    if matches!(datastore.files.get(&place.path), Some(None)) {
        return true;
    }
    let inside = format!("{}/", place.path);
    let mut vms = datastore.vms.iter().filter_map(|vm| world.store.vms.get(vm));
    datastore.files.range(inside.clone()..).next().is_some_and(|(path, _)| path.starts_with(&inside))
        || vms.any(|vm| vm.path.starts_with(&inside))
        || left_behind(world, place.datastore).any(|(path, _)| path.starts_with(&inside))
}

/// The files of a datastore that VMs have left there, and the bytes of each.
pub(crate) fn left_behind(world: &World, datastore: Id) -> impl Iterator<Item = (&str, i64)> {
    let files = world.store.left_behind.iter().filter(move |(of, _)| *of == datastore);
    let layers = files.flat_map(|(_, layers)| layers);
    layers.filter_map(|layer| layer.file.split_once("] ").map(|(_, path)| (path, layer.bytes)))
}

/// Removes what VMs have left at a place.
fn remove_left_behind(world: &mut World, place: &Place) {
    let inside = format!("{}/", place.path);
    let is_here = |file: &str| {
        file.split_once("] ").is_some_and(|(_, path)| path == place.path || path.starts_with(&inside))
    };
    let mut removed = Vec::new();
    for (datastore, layers) in &mut world.store.left_behind {
        if *datastore == place.datastore {
            removed.extend(layers.extract_if(.., |layer| is_here(&layer.file)));
        }
    }
    world.store.left_behind.retain(|(_, layers)| !layers.is_empty());
    machine::release_layers(world, place.datastore, &removed);
    if !is_folder(world, place) {
        world.store.homes.remove(&(place.datastore, place.path.clone()));
    }
}

pub(crate) fn run(world: &mut World, work: FileWork) -> Result<Done, Refusal> {
    check(world, &work)?;
    match work {
        FileWork::Delete(place) => remove(world, &place),
        FileWork::Move { from, to, force } => {
            put(world, &from, &to, force)?;
            take_out(world, &from);
        }
        FileWork::Copy { from, to, force } => put(world, &from, &to, force)?,
        FileWork::Search { browser, place, patterns, recursive } => {
            let found = search_results(world, browser, &place, &patterns, recursive);
            return Ok(Done::Value(found));
        }
    }
    Ok(Done::Nothing)
}

/// What is at a place: a file, or a folder with all that is in it.
fn at(world: &World, place: &Place) -> Vec<(String, Option<StoredFile>)> {
    let Some(datastore) = world.store.datastores.get(&place.datastore) else { return Vec::new() };
    let inside = format!("{}/", place.path);
    let found = datastore.files.iter().filter(|(path, _)| **path == place.path || path.starts_with(&inside));
    found.map(|(path, file)| (path.clone(), file.clone())).collect()
}

/// Copies what is at one path to another. Copies share content.
fn put(world: &mut World, from: &Place, to: &Place, force: bool) -> Result<(), Refusal> {
    let inside = |outer: &Place, inner: &Place| {
        let below = inner.path.strip_prefix(&outer.path).is_some_and(|rest| rest.starts_with('/'));
        outer.datastore == inner.datastore && (outer.path == inner.path || below)
    };
    // A folder is never in the way of a file, nor a thing in its own way.
    let stays = is_folder(world, to) || inside(from, to) || inside(to, from);
    if is_there(world, to) && (!force || stays) || inside(from, to) {
        return Err(Refusal::file_exists(to.text(world)));
    }
    let copied = at(world, from);
    let bytes = size(&copied) - size(&at(world, to));
    if world.store.datastores.get(&to.datastore).is_none_or(|datastore| bytes > datastore.free()) {
        let name = world.store.name(to.datastore);
        return Err(Refusal::no_disk_space(name, to.text(world)));
    }
    remove(world, to);
    let Some(datastore) = world.store.datastores.get_mut(&to.datastore) else { return Ok(()) };
    datastore.used += size(&copied);
    for (path, file) in copied {
        let rest = path.strip_prefix(&from.path).unwrap_or_default();
        datastore.files.insert(format!("{}{rest}", to.path), file);
    }
    world.store.touch_free_space(to.datastore);
    Ok(())
}

fn size(files: &[(String, Option<StoredFile>)]) -> i64 {
    files.iter().filter_map(|(_, file)| file.as_ref()).map(StoredFile::bytes).sum()
}

/// Takes out what is at a place; its content may still be somewhere else.
fn take_out(world: &mut World, place: &Place) -> Vec<(String, Option<StoredFile>)> {
    let taken = at(world, place);
    if let Some(datastore) = world.store.datastores.get_mut(&place.datastore) {
        for (path, _) in &taken {
            datastore.files.remove(path);
        }
        datastore.used -= size(&taken);
    }
    world.store.touch_free_space(place.datastore);
    taken
}

/// Removes what is at a path, and content that no other file shares.
fn remove(world: &mut World, place: &Place) {
    remove_left_behind(world, place);
    for (_, file) in take_out(world, place) {
        discard(world, file);
    }
}

/// Forgets a file, and its content if no other file shares it.
fn discard(world: &mut World, file: Option<StoredFile>) {
    let Some(file) = file else { return };
    let blob = file.content.blob;
    let mut files = world.store.datastores.values().flat_map(|d| d.files.values()).flatten();
    if !files.any(|other| other.content.blob == blob) {
        world.effect(Effect::Discard(blob));
    }
}

pub(crate) fn make_directory(world: &mut World, place: &Place, parents: bool) -> Result<(), Refusal> {
    if is_there(world, place) {
        return Err(Refusal::file_exists(place.text(world)));
    }
    if let Some((parent, _)) = place.path.rsplit_once('/') {
        let parent = Place { datastore: place.datastore, path: parent.to_owned() };
        if !is_there(world, &parent) {
            if !parents {
                return Err(Refusal::file_not_found(parent.text(world)));
            }
            make_directory(world, &parent, true)?;
        }
    }
    if let Some(datastore) = world.store.datastores.get_mut(&place.datastore) {
        datastore.files.insert(place.path.clone(), None);
    }
    Ok(())
}

/// `/folder/PATH?dcPath=…&dsName=…`. A file that is still coming is answered once it is whole.
pub(crate) fn serve(
    world: &mut World,
    id: RequestId,
    request: &Request,
    upload: Option<io::Upload>,
) -> Option<Reply> {
    let session = world.sessions.of_cookie(request.header("cookie").unwrap_or_default(), world.now);
    let Some(session) = session else { return Some(Reply::plain(401, "log in first")) };
    let name = request.parameter("dsName").unwrap_or_default();
    let datacenter = request.parameter("dcPath").map(|path| world.at_path(&path));
    let datastore = world.store.datastores.keys().copied().find(|id| {
        world.store.name(*id) == name && datacenter.is_none_or(|dc| dc == world.store.datacenter_of(*id))
    });
    let Some(datastore) = datastore else { return Some(Reply::plain(404, "there is no such datastore")) };
    if world.store.datastores.get(&datastore).is_some_and(|datastore| !datastore.accessible) {
        return Some(Reply::plain(503, "the datastore cannot be reached"));
    }
    let user = world.sessions.user(session).unwrap_or_default();
    let reads = matches!(request.method.as_str(), "GET" | "HEAD");
    let privilege = if reads { "Datastore.Browse" } else { "Datastore.FileManagement" };
    if !crate::privileges::holds(world, &user, datastore, privilege) {
        return Some(Reply::plain(403, &format!("{privilege} is needed on the datastore")));
    }
    let path = clean(&percent_decode(request.path.strip_prefix("/folder").unwrap_or_default()));
    let place = Place { datastore, path };
    let file =
        world.store.datastores.get(&datastore).and_then(|d| d.files.get(&place.path)).cloned().flatten();
    Some(match (request.method.as_str(), file) {
        ("PUT" | "POST", before) => {
            return upload::begin(world, id, request, upload, place, before.is_some());
        }
        ("GET", Some(file)) => content(&file, Body::Blob(file.content)),
        ("HEAD", Some(file)) => content(&file, Body::Head(file.content.size)),
        ("GET" | "HEAD", None) if !request.path.ends_with('/') && is_folder(world, &place) => {
            let headers = vec![("location", format!("{}/?{}", request.path, request.query))];
            Reply { status: 301, headers, body: Body::Text(String::new()) }
        }
        ("GET" | "HEAD", None) => Reply::plain(404, "there is no such file"),
        _ => Reply::plain(405, "GET, HEAD and PUT are possible"),
    })
}

fn content(file: &StoredFile, body: Body) -> Reply {
    Reply::new(200, "application/octet-stream", body).with("last-modified", http_date(file.modified))
}
