//! Which calls change something outside of the session that makes them. Those need a lease.

use rookery_vim::methods::{
    CancelRetrievePropertiesEx, CancelWaitForUpdates, ContinueRetrievePropertiesEx, CreateCollectorForEvents,
    CreateCollectorForTasks, CreateContainerView, CreateFilter, CreateListView, CreatePropertyCollector,
    CurrentTime, DestroyCollector, DestroyPropertyCollector, DestroyPropertyFilter, DestroyView,
    FindAllByUuid, FindByInventoryPath, FindChild, HasPrivilegeOnEntities, InitiateFileTransferFromGuest,
    ListProcessesInGuest, Login, Logout, Method, ModifyListView, QueryEvents, ReadNextEvents, ReadNextTasks,
    ReadPreviousEvents, ReadPreviousTasks, RecommendDatastores, RetrievePropertiesEx, RetrieveServiceContent,
    RewindCollector, SearchDatastoreTask, SetCollectorPageSize, TerminateSession, ValidateCredentialsInGuest,
    WaitForUpdatesEx,
};

/// What reads, or changes only what belongs to its own session. Ending another session is how a lease is won, so it
/// cannot need one. Any other method changes something: one that is new is guarded until it stands here.
const CHANGES_NOTHING: [&str; 37] = [
    RetrieveServiceContent::NAME,
    CurrentTime::NAME,
    Login::NAME,
    Logout::NAME,
    TerminateSession::NAME,
    HasPrivilegeOnEntities::NAME,
    FindAllByUuid::NAME,
    FindChild::NAME,
    FindByInventoryPath::NAME,
    CreateContainerView::NAME,
    CreateListView::NAME,
    ModifyListView::NAME,
    DestroyView::NAME,
    RetrievePropertiesEx::NAME,
    ContinueRetrievePropertiesEx::NAME,
    CancelRetrievePropertiesEx::NAME,
    CreatePropertyCollector::NAME,
    DestroyPropertyCollector::NAME,
    CreateFilter::NAME,
    DestroyPropertyFilter::NAME,
    WaitForUpdatesEx::NAME,
    CancelWaitForUpdates::NAME,
    CreateCollectorForEvents::NAME,
    CreateCollectorForTasks::NAME,
    ReadNextEvents::NAME,
    ReadPreviousEvents::NAME,
    ReadNextTasks::NAME,
    ReadPreviousTasks::NAME,
    SetCollectorPageSize::NAME,
    RewindCollector::NAME,
    QueryEvents::NAME,
    DestroyCollector::NAME,
    ValidateCredentialsInGuest::NAME,
    ListProcessesInGuest::NAME,
    InitiateFileTransferFromGuest::NAME,
    RecommendDatastores::NAME,
    SearchDatastoreTask::NAME,
];

/// Whether a method needs a lease.
pub(crate) fn changes_something<M: Method>() -> bool {
    !CHANGES_NOTHING.contains(&M::NAME)
}

#[cfg(test)]
mod tests {
    use rookery_vim::methods::{
        CancelTask, CloneVmTask, CreateFolder, CreateSnapshotTask, CreateVmTask, DeleteFileInGuest,
        DestroyTask, InitiateFileTransferToGuest, MakeDirectory, MarkAsTemplate, PowerOffVmTask,
        PowerOnVmTask, ReconfigVmTask, RenameTask, ShutdownGuest, StartProgramInGuest,
        TerminateProcessInGuest,
    };

    use super::*;

    #[test]
    fn whatever_changes_machines_guests_or_files_needs_a_lease() {
        let guarded = [
            changes_something::<CloneVmTask>(),
            changes_something::<CreateVmTask>(),
            changes_something::<ReconfigVmTask>(),
            changes_something::<RenameTask>(),
            changes_something::<PowerOnVmTask>(),
            changes_something::<PowerOffVmTask>(),
            changes_something::<ShutdownGuest>(),
            changes_something::<DestroyTask>(),
            changes_something::<CreateSnapshotTask>(),
            changes_something::<MarkAsTemplate>(),
            changes_something::<CancelTask>(),
            changes_something::<StartProgramInGuest>(),
            changes_something::<TerminateProcessInGuest>(),
            changes_something::<InitiateFileTransferToGuest>(),
            changes_something::<DeleteFileInGuest>(),
            changes_something::<MakeDirectory>(),
            changes_something::<CreateFolder>(),
        ];
        assert_eq!(guarded, [true; 17]);
        let free = [
            changes_something::<RetrievePropertiesEx>(),
            changes_something::<WaitForUpdatesEx>(),
            changes_something::<SearchDatastoreTask>(),
            changes_something::<TerminateSession>(),
            changes_something::<Logout>(),
        ];
        assert_eq!(free, [false; 5]);
    }
}
