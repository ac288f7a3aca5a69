//! What readers of any history can be asked for.

use rookery_vim::MoRef;
use rookery_vim::methods as vim;

use super::Methods;
use crate::history::{History, Reader, Readers};
use crate::id::Id;
use crate::refusal::Refusal;
use crate::soap::Call;
use crate::world::World;

/// The most that a vCenter returns at once.
pub(super) const MOST: usize = 1000;
/// How many readers of one kind of history a session may have.
const READERS: usize = 32;
/// How much `latestPage` shows unless told otherwise.
const PAGE: usize = 10;

pub(super) fn add(all: &mut Methods) {
    all.answer(|world, call, m: vim::SetCollectorPageSize| {
        let (id, reader) = reader(world, call)?;
        reader.page = usize::try_from(m.max_count).unwrap_or(0).clamp(1, MOST);
        world.store.log.touch(id, "latestPage");
        Ok(())
    });
    all.answer(|world, call, _: vim::RewindCollector| {
        reader(world, call)?.1.position = Some(0);
        Ok(())
    });
    all.answer(|world, call, _: vim::ResetCollector| {
        reader(world, call)?.1.position = None;
        Ok(())
    });
    all.answer(|world, call, _: vim::DestroyCollector| {
        let (id, _) = reader(world, call)?;
        world.events.collectors.remove(&id);
        world.tasks.collectors.remove(&id);
        Ok(())
    });
}

/// Takes on a reader, unless its session has enough of them.
pub(super) fn create<F>(call: &Call, id: Id, filter: F, readers: &mut Readers<F>) -> Result<MoRef, Refusal> {
    let session = call.session.unwrap_or_default();
    if readers.values().filter(|history| history.reader.session == session).count() >= READERS {
        return Err(Refusal::new("InvalidState", "There are too many collectors in this session."));
    }
    let reader = Reader { session, page: PAGE, position: None };
    readers.insert(id, History { filter, reader });
    Ok(id.reference())
}

/// The reader that a call was made on, if it is the caller's.
fn reader<'w>(world: &'w mut World, call: &Call) -> Result<(Id, &'w mut Reader), Refusal> {
    let found = Id::of(&call.this).and_then(|id| {
        let events = world.events.collectors.get_mut(&id).map(|history| &mut history.reader);
        let tasks = world.tasks.collectors.get_mut(&id).map(|history| &mut history.reader);
        Some((id, events.or(tasks)?))
    });
    let own = found.filter(|(_, reader)| Some(reader.session) == call.session);
    own.ok_or_else(|| Refusal::gone(&call.this))
}

/// The reader that a call was made on, where it is, and how much it wants next.
pub(super) fn reading(
    world: &mut World,
    call: &Call,
    most: i32,
) -> Result<(Id, Option<i64>, usize), Refusal> {
    let most = usize::try_from(most).ok().filter(|most| (1..=MOST).contains(most));
    let most = most.ok_or_else(|| Refusal::invalid_argument("maxCount"))?;
    let (id, reader) = reader(world, call)?;
    Ok((id, reader.position, most))
}

/// The reader has come that far.
pub(super) fn has_read(world: &mut World, call: &Call, last: Option<i64>) -> Result<(), Refusal> {
    let (_, reader) = reader(world, call)?;
    reader.position = last.or(reader.position);
    Ok(())
}
