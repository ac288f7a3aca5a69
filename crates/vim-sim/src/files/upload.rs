//! Uploads in progress. What has arrived is visible to everybody, and stays if the sender goes.

use rookery_sim::{Request, RequestId};

use super::{Place, StoredFile, at, is_folder, remove, size};
use crate::io::{self, BlobRef, Reply};
use crate::world::World;

/// A file of which more is to come.
#[derive(Debug)]
pub(crate) struct Upload {
    place: Place,
    blob: u64,
    replaces: bool,
}

/// Makes the file, as large as it is so far. The answer comes once it is whole, unless it is refused.
pub(super) fn begin(
    world: &mut World,
    id: RequestId,
    request: &Request,
    upload: Option<io::Upload>,
    place: Place,
    replaces: bool,
) -> Option<Reply> {
    let refused = |status, why| Some(Reply::plain(status, why));
    let Some(announced) = request.header("content-length") else {
        return refused(411, "the length of the content must be known");
    };
    let Some(io::Upload { content, coming }) = upload else { return refused(400, "there is no content") };
    let parent = place.path.rsplit_once('/').map(|(parent, _)| parent.to_owned());
    if let Some(path) = parent
        && !is_folder(world, &Place { datastore: place.datastore, path })
    {
        return refused(404, "the folder does not exist");
    }
    if place.path.is_empty() || is_folder(world, &place) {
        return refused(409, "there is a folder in its place");
    }
    let announced = announced.parse::<i64>().unwrap_or(i64::MAX);
    let file = StoredFile { content, modified: world.now };
    let more = file.bytes().max(announced) - size(&at(world, &place));
    if world.store.datastores.get(&place.datastore).is_none_or(|datastore| more > datastore.free()) {
        return Some(no_space());
    }
    remove(world, &place);
    if let Some(datastore) = world.store.datastores.get_mut(&place.datastore) {
        datastore.used += file.bytes();
        datastore.files.insert(place.path.clone(), Some(file));
    }
    world.store.touch_free_space(place.datastore);
    let upload = Upload { place, blob: content.blob, replaces };
    if coming {
        world.uploads.insert(id, upload);
        None
    } else {
        Some(upload.done())
    }
}

impl Upload {
    fn done(&self) -> Reply {
        Reply::plain(if self.replaces { 200 } else { 201 }, "")
    }
}

fn no_space() -> Reply {
    Reply::plain(507, "there is no space left on the datastore")
}

/// Takes note of how much of an upload has arrived.
pub(crate) fn received(world: &mut World, id: RequestId, size: u64, whole: bool) {
    let Some(upload) = world.uploads.remove(&id) else { return };
    let refusal = grow(world, &upload, size);
    if refusal.is_none() && !whole {
        world.uploads.insert(id, upload);
        return;
    }
    world.reply(id, refusal.unwrap_or_else(|| upload.done()));
}

/// Grows the file; a refusal if that is not possible.
fn grow(world: &mut World, Upload { place, blob, .. }: &Upload, size: u64) -> Option<Reply> {
    let now = world.now;
    let datastore = world.store.datastores.get_mut(&place.datastore).filter(|datastore| datastore.accessible);
    let Some(datastore) = datastore else {
        return Some(Reply::plain(503, "the datastore cannot be reached"));
    };
    let free = datastore.free();
    let file = datastore.files.get_mut(&place.path).and_then(Option::as_mut);
    // A moved file keeps what had arrived until then.
    let Some(file) = file.filter(|file| file.content.blob == *blob) else {
        return Some(Reply::plain(409, "the file was removed, moved or replaced while it was sent"));
    };
    let grown =
        StoredFile { content: BlobRef { blob: *blob, size: size.max(file.content.size) }, modified: now };
    let more = grown.bytes() - file.bytes();
    if more > free {
        return Some(no_space());
    }
    *file = grown;
    datastore.used += more;
    world.store.touch_free_space(place.datastore);
    None
}

/// Nothing more is taken of any file.
pub(crate) fn cut_uploads(world: &mut World) {
    for id in std::mem::take(&mut world.uploads).into_keys() {
        world.reply(id, io::cut());
    }
}
