//! All that is looked for.

use std::pin::Pin;

use super::subject::{Subject, World};
use super::{
    capacity, clients, clones, collector, events, files, guests, life, places, power, sessions, tasks,
    updates,
};

/// Something that a vCenter does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Feature {
    pub(super) area: &'static str,
    pub(super) name: &'static str,
    /// The function that looks for it.
    pub(super) assertion: &'static str,
    pub(super) world: World,
    pub(super) check: fn(Subject) -> Checking,
}

pub(super) type Checking = Pin<Box<dyn Future<Output = anyhow::Result<()>>>>;

macro_rules! features {
    ($( $area:literal: $module:ident { $( $name:literal $( ($world:expr) )? => $assertion:ident, )* } )*) => {
        /// In the order of the table.
        pub(super) fn all() -> Vec<Feature> {
            vec![ $( $( Feature {
                area: $area,
                name: $name,
                assertion: concat!(stringify!($module), "::", stringify!($assertion)),
                world: features!(@world $( $world )?),
                check: |subject| Box::pin($module::$assertion(subject)),
            }, )* )* ]
        }
    };
    (@world $world:expr) => { $world };
    (@world) => { World::default() };
}

const SLOW_CLONES: World = World { rookery: &["--clone-time", "2s"], vcsim: &["-task-delay=CloneVm:2000"] };
const SLOW_GUESTS: World = World { rookery: &["--boot-time", "2s"], vcsim: &[] };
const GUESTS_THAT_NEVER_START: World = World { rookery: &["--boot-time", "1h"], vcsim: &[] };
const ONE_GUEST_USER: World =
    World { rookery: &["--guest-user", "root", "--guest-password", "secret"], vcsim: &[] };
const DATASTORE_CLUSTER: World = World { rookery: &["--datastore-clusters", "1"], vcsim: &["-pod=1"] };

features! {
    "Sessions": sessions {
        "a wrong password is `InvalidLogin`" => a_wrong_password_is_refused,
        "a login on a session is `InvalidLogin`" => nobody_logs_in_twice,
        "a call without a login is `NotAuthenticated`" => nothing_is_done_without_a_login,
        "`sessionList` and `currentSession`" => sessions_are_listed,
        "`TerminateSession` ends another session" => a_terminated_session_is_over,
        "`vimServiceVersions.xml` without a login" => versions_are_told_to_anybody,
    }
    "Reading": collector {
        "`RetrieveProperties`, nested paths, unset properties" => properties_are_retrieved,
        "`RetrievePropertiesEx` in pages of a given size" => pages_hold_what_was_asked_for,
        "`Fetch` of a property that is set, and of one that is not" => fetch_reads_one_property,
        "a path with a key: `config.hardware.device[4000]`" => a_device_is_read_by_its_key,
        "a wrong path is `InvalidProperty`" => a_wrong_path_is_a_fault,
        "members out of the schema's order are `InvalidRequest`" => the_order_of_members_is_checked,
        "a missing required member is `InvalidRequest`" => a_missing_member_is_noticed,
        "an unknown member is `InvalidRequest`" => an_unknown_member_is_refused,
        "an unknown method is a fault" => an_unknown_method_is_a_fault,
        "an object that is gone fails the call, or is left out on request" => one_that_is_gone_fails_the_call,
        "`ContainerView` follows the inventory" => a_container_view_follows_the_inventory,
        "`ListView` returns what it does not know" => a_list_view_says_what_it_does_not_know,
    }
    "Updates": updates {
        "only what is new enters" => only_the_new_one_enters,
        "`modify` with what changed, and nothing else" => a_change_tells_what_changed,
        "`leave` when a VM is destroyed" => whoever_goes_leaves,
        "an answer that was lost is told again" => a_lost_answer_is_told_again,
        "an unknown version is `InvalidCollectorVersion`" => a_made_up_version_is_refused,
        "`maxObjectUpdates` and `truncated`" => large_news_comes_in_pieces,
        "`maxWaitSeconds`" => a_quiet_wait_ends_in_time,
        "a filter that is added during a wait ends the wait" => a_filter_is_seen_while_one_waits,
        "`CancelWaitForUpdates`" => a_wait_can_be_cancelled,
        "`MarkAsTemplate` is announced" => a_new_template_is_announced,
        "a new annotation is announced" => new_notes_are_announced,
        "new CPUs and memory are announced" => new_hardware_is_announced,
    }
    "Clones": clones {
        "`powerOn`" => a_clone_is_powered_on,
        "customization with a fixed address and a host name" => a_clone_gets_its_fixed_address,
        "more addresses than cards is `NicSettingMismatch`" => too_many_addresses_are_refused,
        "CPUs and memory" => a_clone_gets_its_hardware,
        "`extraConfig`" => a_clone_gets_its_extra_settings,
        "annotation" => a_clone_gets_its_notes,
        "a MAC address of its own" => a_clone_has_an_address_of_its_own,
        "UUIDs of its own" => a_clone_has_uuids_of_its_own,
        "a card on another network" => a_clone_comes_to_its_network,
        "a linked clone's disk is a child of the snapshot's" => a_linked_clone_is_a_child_of_the_snapshot,
        "a linked clone without a snapshot is refused" => a_linked_clone_needs_a_snapshot,
        "a clone of a template without a pool is `InvalidArgument`" => a_clone_of_a_template_needs_a_pool,
        "`DuplicateName` names the one that has it" => a_taken_name_tells_who_has_it,
        "a clone into another cluster's pool runs on a host of that cluster" => a_clone_runs_where_its_pool_is,
    }
    "Life of a VM": life {
        "created from nothing: EFI, PVSCSI, vmxnet3, ISO" => a_vm_is_made_from_nothing,
        "created with a UUID of one's own" => a_vm_gets_the_uuid_that_was_chosen,
        "a taken name is `DuplicateName`" => a_taken_name_is_refused,
        "a stale `changeVersion` is `ConcurrentAccess`" => a_change_of_something_older_is_refused,
        "CPUs do not change while it is on" => cpus_do_not_change_while_on,
        "devices are added and removed" => a_device_is_added_and_removed,
        "`MarkAsTemplate` and back" => a_template_has_no_pool,
        "destroying a running VM is `InvalidPowerState`" => a_running_vm_is_not_destroyed,
        "destroying the parent of a linked clone is refused" => a_parent_of_a_linked_clone_stays,
        "destroying takes the files along" => a_destroyed_vm_leaves_no_files,
        "`UnregisterVM` leaves the files" => an_unregistered_vm_leaves_its_files,
        "a tree of snapshots" => snapshots_are_a_tree,
        "a snapshot brings back the configuration" => a_snapshot_brings_back_what_was,
    }
    "Power": power {
        "on, off, reset, suspend" => power_changes,
        "`InvalidPowerState` with both states" => the_wrong_state_is_told,
        "`PowerOnMultiVM_Task`" => many_are_powered_on_at_once,
        "`ShutdownGuest`" => a_guest_shuts_down,
        "`ShutdownGuest` without running tools is `ToolsUnavailable`"
            (GUESTS_THAT_NEVER_START) => a_guest_without_tools_does_not_shut_down,
    }
    "Events": events {
        "power events in order" => power_is_told_in_order,
        "clone events" => a_clone_is_told_in_order,
        "`VmMacAssignedEvent`" => a_new_address_is_told,
        "`VmDeployedEvent`" => a_deployed_template_is_told,
        "`VmRenamedEvent` with both names" => a_new_name_is_told,
        "texts for people" => events_are_told_in_words,
        "`QueryEvents` tells more than ten" => more_than_ten_events_are_told,
        "a collector reads all, page by page, from the oldest" => a_collector_reads_page_by_page,
        "a filter by class" => events_are_picked_by_their_class,
    }
    "Tasks": tasks {
        "a slow task is queued, runs and ends" (SLOW_CLONES) => a_slow_task_runs_and_ends,
        "`progress`" (SLOW_CLONES) => a_slow_task_tells_how_far_it_is,
        "`CancelTask`" (SLOW_CLONES) => a_task_can_be_cancelled,
        "recent tasks" => recent_tasks_are_listed,
        "a collector reads all, page by page, from the oldest" => a_collector_reads_tasks_page_by_page,
        "a filter by state, and by place with all inside it" => tasks_are_picked_from_history,
        "errors in words for people" => a_task_says_why_it_failed,
    }
    "Capacity": capacity {
        "power on is refused by a pool's memory limit" => a_full_pool_starts_nothing,
        "a disk larger than its datastore is refused" => a_full_datastore_takes_no_disk,
        "free space follows the disks" => a_disk_takes_space_while_it_is_there,
        "a pool's usage follows the VMs that run" => a_pool_tells_what_runs_in_it,
    }
    "Guests": guests {
        "power on, then tools, then an address" (SLOW_GUESTS) => a_guest_comes_up_step_by_step,
        "`guestOperationsReady` by itself" => a_guest_is_ready_by_itself,
        "power off takes tools and address away" => a_guest_that_is_off_tells_no_address,
        "a program on a plain VM ends with its exit code" => a_program_ends_with_its_code,
        "`govc guest.run`" => govc_runs_a_program,
        "a wrong password is `InvalidGuestLogin`" (ONE_GUEST_USER) => a_wrong_guest_password_is_refused,
        "a program on a VM that is off is refused" => a_guest_that_is_off_runs_nothing,
        "`govc guest.upload` and `guest.download`" => a_file_goes_into_a_guest_and_comes_back,
    }
    "Files": files {
        "PUT, GET, HEAD" => a_file_goes_up_and_comes_down,
        "an upload without a login is refused" => an_upload_needs_a_login,
        "an upload into a folder that is missing is refused" => an_upload_needs_its_folder,
        "`MakeDirectory`, with parents or without" => a_folder_is_made_once,
        "`SearchDatastore_Task`" => files_are_searched,
        "move and delete" => a_file_is_moved_and_deleted,
    }
    "Places": places {
        "`DisconnectHost_Task`: VMs run on out of reach; `ReconnectHost_Task`" => a_host_is_disconnected_and_reconnected,
        "`FindByUuid`, of BIOS and instance" => a_vm_is_found_by_its_uuid,
        "`FindByIp`, `FindByDnsName`" => a_vm_is_found_by_its_address,
        "what is not found is no fault" => nothing_is_found_in_peace,
        "folders" => folders_hold_folders_and_vms,
        "distributed port groups" => a_card_is_on_a_distributed_port,
        "recommendations of a datastore cluster" (DATASTORE_CLUSTER) => a_datastore_cluster_says_where,
        "tags over REST" => tags_are_attached,
        "privileges are enforced" => a_role_that_may_not_does_not,
    }
    "Clients": clients {
        "`govc object.collect`" => govc_collects_an_object,
        "`govc vm.info -json`: all properties" => govc_shows_all_of_a_vm,
        "`pyvmomi`: `vm.runtime`, `vm.summary`" => pyvmomi_reads_all_of_a_vm,
        "`pyvmomi`: `WaitForUpdatesEx`" => pyvmomi_waits_for_updates,
    }
}
