//! What of the client is shown on vcsim, and what cannot be.

use super::{Row, Shown::CannotBe, Shown::In};

/// One row for each operation, or for each part of one that is shown, or cannot be, by itself. `calls` are public
/// asynchronous functions of `rookery-vim-client` and `rookery-fleet-vsphere`, by module; all of them have to be in here.
/// Stories are named by module and function; what cannot be shown is named by its row in `docs/vcsim.md`.
pub(super) const TABLE: &[Row] = &[
    // Finding.
    Row {
        operation: "find places by name and path",
        calls: &["places::load"],
        shown: In(&["places::places_have_the_paths_that_govc_gives_them"]),
    },
    Row {
        operation: "find VMs by UUID and path",
        calls: &["search::vm_by_uuid", "search::vm_by_path"],
        shown: In(&["places::a_vm_is_found_by_uuid_and_by_path"]),
    },
    Row {
        operation: "list VMs by name",
        calls: &["search::vm_names"],
        shown: In(&["cli::doctor::a_name_means_what_it_means_in_its_datacenter"]),
    },
    Row {
        operation: "read properties, whole or not at all",
        calls: &["properties::retrieve", "properties::properties_of", "properties::read_object"],
        shown: In(&[
            "cuts::an_answer_cut_at_any_byte_is_an_error_or_whole",
            "cuts::a_tls_connection_cut_anywhere_is_an_error_or_whole",
            "readiness::an_inventory_that_lags_behind_a_start_or_a_clone_fails_no_wait",
            "extra_config::entries_are_seen_set_changed_and_unset",
        ]),
    },
    Row { operation: "write members in their order", calls: &[], shown: CannotBe("order of members") },
    // The inventory.
    Row {
        operation: "see all VMs",
        calls: &["inventory::complete", "inventory::until"],
        shown: In(&[
            "inventory::the_inventory_shows_what_govc_shows",
            "inventory::five_hundred_vms_are_loaded_in_pages_and_followed",
        ]),
    },
    Row {
        operation: "follow changes",
        calls: &["inventory::newer_than", "inventory::appears", "inventory::wait_for"],
        shown: In(&[
            "inventory::vms_that_appear_and_go_are_seen_without_listing_again",
            "inventory::a_change_of_one_vm_moves_bytes_for_that_vm_only",
            "faults::an_update_lost_with_its_connection_is_made_up_for",
        ]),
    },
    Row {
        operation: "follow extra configuration by key",
        calls: &[],
        shown: In(&[
            "extra_config::entries_are_seen_set_changed_and_unset",
            "extra_config::keys_that_are_added_later_are_loaded_and_the_last_snapshot_stays_meanwhile",
        ]),
    },
    Row { operation: "ask for a lost update again", calls: &[], shown: CannotBe("replay of updates") },
    // The session and its calls.
    Row {
        operation: "show the certificate of a server",
        calls: &["dial::presented_certificate"],
        shown: In(&[
            "cli::doctor::blind_trust_is_a_warning_with_the_pin_that_ends_it",
            "cli::doctor::the_way_to_vcenter_is_examined_even_if_it_leads_nowhere",
        ]),
    },
    Row {
        operation: "log in, renew, log in as somebody else, log out",
        calls: &["client::connect", "client::change_login", "client::logs_in_again", "client::close"],
        shown: In(&[
            "faults::another_login_takes_over_and_one_that_is_refused_changes_nothing",
            "faults::a_session_ended_by_another_client_during_the_long_poll_is_renewed_and_nothing_is_missed",
            "faults::concurrent_calls_share_one_new_login",
            "faults::a_wrong_password_is_one_clear_error_and_one_attempt",
        ]),
    },
    Row {
        operation: "share sessions and inventories between fronts",
        calls: &["vcenter::connect", "client::join", "vcenter::change_login", "vcenter::close"],
        shown: In(&[
            "vcenter::two_users_share_a_session_and_an_inventory_that_go_with_the_last_of_them",
            "vcenter::another_user_has_another_session_and_the_same_governor_and_reservations",
            "vcenter::a_session_of_ones_own_is_shared_with_nobody",
            "vcenter::each_datacenter_has_an_inventory",
            "vcenter::a_server_is_known_again_at_another_address_unless_it_does_not_say_who_it_is",
            "vcenter::a_login_that_is_refused_leaves_nothing_and_changes_nothing",
            "vcenter::a_password_that_could_not_be_tried_is_not_used_for_those_who_were_there",
            "vcenter::other_credentials_keep_the_session_and_what_was_made_with_it",
        ]),
    },
    Row {
        operation: "call, with retries and deadlines",
        calls: &["client::call", "client::call_within", "client::call_once"],
        shown: In(&[
            "transport::a_read_is_repeated_until_vcenter_is_back_and_a_change_is_not",
            "faults::slow_answers_are_waited_for_and_too_slow_ones_are_an_error",
        ]),
    },
    Row {
        operation: "keep to a number of calls a second",
        calls: &[],
        shown: In(&[
            "transport::calls_wait_for_their_turn_and_long_polls_do_not",
            "cli::settings::a_limit_of_calls_per_second_is_kept",
        ]),
    },
    // Tasks.
    Row {
        operation: "wait for tasks",
        calls: &["tasks::finish", "tasks::finish_showing"],
        shown: In(&[
            "machines::many_slow_tasks_are_waited_for_together",
            "machines::a_task_that_fails_says_why",
            "machines::a_task_that_outlives_its_deadline_is_not_called_failed",
            "faults::a_task_lost_in_a_restart_is_unknown_not_failed",
        ]),
    },
    Row { operation: "show the progress of a task", calls: &[], shown: CannotBe("progress of tasks") },
    Row {
        operation: "order tasks through the governor",
        calls: &["governor::admit"],
        shown: In(&["governor::a_vcenter_is_not_asked_for_more_tasks_at_once_than_allowed"]),
    },
    Row {
        operation: "wait for a turn before something is read",
        calls: &["machine::in_turn"],
        shown: In(&["hands::copies::what_was_changed_while_a_deletion_waited_for_its_turn_is_not_deleted"]),
    },
    // Clones.
    Row {
        operation: "clone: name, folder, pool, hardware, notes, settings, power",
        calls: &["clone::run::clone_vm"],
        shown: In(&["clones::a_clone_is_what_was_ordered"]),
    },
    Row {
        operation: "clone: network",
        calls: &["network::network_backing"],
        shown: In(&["clones::a_clone_is_what_was_ordered"]),
    },
    Row {
        operation: "clone: guest with a fixed address",
        calls: &[],
        shown: In(&["clones::a_clone_is_what_was_ordered"]),
    },
    Row {
        operation: "clone: host and datastore",
        calls: &[],
        shown: In(&["clones::a_clone_is_put_on_the_host_and_datastore_that_were_named"]),
    },
    Row {
        operation: "clone: cards of the source that change meanwhile",
        calls: &[],
        shown: In(&[
            "clones::a_source_that_gets_a_card_while_it_is_cloned_has_a_clone_with_all_cards_set_up",
            "clones::a_clone_that_was_refused_for_its_cards_is_ordered_again",
        ]),
    },
    Row { operation: "clone: host that vCenter chooses", calls: &[], shown: CannotBe("choice of a host") },
    Row { operation: "clone: linked disks", calls: &[], shown: CannotBe("linked disks") },
    Row { operation: "clone: a MAC address of its own", calls: &[], shown: CannotBe("address of a card") },
    // New VMs.
    Row {
        operation: "create: hardware, disks, cards, CD-ROM, boot order, notes, settings",
        calls: &["create::run::create_vm"],
        shown: In(&["creates::a_new_vm_is_what_was_ordered"]),
    },
    Row {
        operation: "create and clone into a datastore cluster",
        calls: &[],
        shown: In(&[
            "placement::in_a_datastore_cluster_a_new_vm_goes_where_vcenter_recommends_or_else_to_the_most_room",
            "placement::in_a_datastore_cluster_a_clone_goes_to_the_most_room_unless_it_can_stay_with_its_parent",
        ]),
    },
    // Machines.
    Row {
        operation: "power on, off, reset, suspend; ask the guest to shut down or reboot",
        calls: &["machine::power"],
        shown: In(&["machines::power_changes_are_done_when_the_call_returns"]),
    },
    Row { operation: "see that a guest rebooted", calls: &[], shown: CannotBe("trace of a reboot") },
    Row {
        operation: "be refused a shutdown without tools",
        calls: &[],
        shown: CannotBe("refusal of a shutdown"),
    },
    Row {
        operation: "reconfigure, take a snapshot, make a template, destroy",
        calls: &[
            "machine::reconfigure",
            "snapshots::snapshot",
            "machine::mark_as_template",
            "machine::destroy",
        ],
        shown: In(&["machines::a_vm_is_reconfigured_made_a_template_and_destroyed"]),
    },
    Row {
        operation: "list snapshots, take one, go back to it, remove them",
        calls: &[
            "snapshots::snapshots",
            "snapshots::take_snapshot",
            "snapshots::revert_to_snapshot",
            "snapshots::remove_snapshot",
        ],
        shown: In(&["cli::snapshots::snapshots_are_taken_listed_gone_back_to_and_removed"]),
    },
    Row {
        operation: "get the configuration of a snapshot back",
        calls: &[],
        shown: CannotBe("what a snapshot brings back"),
    },
    Row {
        operation: "read the datastores, disks and snapshots of a VM",
        calls: &["details::details"],
        shown: In(&["cli::looking::a_vm_is_found_by_its_name_and_by_its_id"]),
    },
    Row {
        operation: "check an order for a clone or a new VM without carrying it out",
        calls: &["clone::run::check_clone", "create::run::check_create"],
        shown: In(&["cli::planning::a_dry_run_tells_what_would_be_done_and_does_nothing"]),
    },
    Row {
        operation: "rename",
        calls: &["machine::rename"],
        shown: In(&["inventory::names_are_read_and_written_as_people_write_them"]),
    },
    Row {
        operation: "do nothing twice after a lost answer",
        calls: &[],
        shown: In(&[
            "clones::an_operation_whose_answer_was_lost_is_not_done_twice",
            "clones::a_guest_is_set_up_once_although_the_answer_to_that_was_lost",
            "creates::an_order_that_is_repeated_makes_one_vm_and_a_taken_name_none",
            "creates::without_a_uuid_a_lost_answer_still_makes_one_vm",
            "files::lost_answers_are_made_good_by_looking",
            "guests::a_start_whose_answer_is_lost_is_not_repeated_and_is_said_to_be_open",
            "tags::what_was_made_although_the_answer_was_lost_is_found_and_not_made_twice",
        ]),
    },
    // History.
    Row {
        operation: "read events",
        calls: &["events::events", "events::latest_events"],
        shown: In(&["history::history_is_read_to_its_end_newest_first"]),
    },
    Row { operation: "read that a VM was renamed", calls: &[], shown: CannotBe("rename in history") },
    // Guests.
    Row {
        operation: "run, watch and end programs inside a guest",
        calls: &["guest::start", "guest::processes", "guest::ended", "guest::terminate"],
        shown: In(&[
            "guests::a_program_gets_its_arguments_environment_and_directory_and_its_exit_code_is_told",
            "guests::a_program_that_goes_on_is_waited_for_and_can_be_ended",
        ]),
    },
    Row {
        operation: "be refused a program in a VM without a guest",
        calls: &[],
        shown: CannotBe("guest without a container"),
    },
    Row {
        operation: "move files into a guest and out of it, and remove them",
        calls: &["guest::upload", "guest::download", "guest::delete_file", "guest::temporary_file"],
        shown: In(&[
            "guests::files_of_any_size_arrive_whole_in_both_directions",
            "guests::a_temporary_file_is_new_and_can_be_removed",
            "guests::a_file_goes_to_the_host_if_vcenter_says_so_and_to_nobody_who_merely_claims_to_be_it",
        ]),
    },
    Row {
        operation: "check a password of a guest",
        calls: &["guest::validate"],
        shown: CannotBe("guest credentials"),
    },
    // Readiness.
    Row {
        operation: "wait until a VM is ready, stage by stage",
        calls: &["readiness::wait", "readiness::operations", "readiness::address", "readiness::command"],
        shown: In(&[
            "readiness::the_stages_are_waited_for_on_the_inventory_without_a_call",
            "readiness::the_address_of_a_customization_is_found",
            "readiness::a_command_in_the_guest_is_the_last_proof",
            "readiness::a_vm_is_ready_after_all_stages_and_not_before",
        ]),
    },
    Row { operation: "see a guest get ready by itself", calls: &[], shown: CannotBe("readiness of a guest") },
    // Hands.
    Row {
        operation: "find where VMs go, and how much room there is",
        calls: &["site::find", "hands::pool_room"],
        shown: In(&[
            "hands::seeing::a_site_is_what_the_settings_name_or_else_the_only_one",
            "hands::seeing::all_that_is_unclear_about_a_site_is_told_at_once_with_its_settings",
        ]),
    },
    Row {
        operation: "make a VM with its mark",
        calls: &["hands::clone::clone_vm"],
        shown: In(&["hands::changing::a_clone_has_its_mark_size_and_address_whether_or_not_the_answer_came"]),
    },
    Row {
        operation: "give a clone up that takes too long, and list the clones of anything",
        calls: &[
            "clone::given_up::clone_or_give_up",
            "hands::clone::clone_vm_by",
            "hands::clone_tasks::clone_tasks",
        ],
        shown: In(&[
            "hands::templates::a_clone_that_is_not_made_in_time_is_cancelled",
            "hands::templates::clones_are_listed_whatever_they_are_made_from",
        ]),
    },
    Row {
        operation: "claim a warm VM, and take it back",
        calls: &["hands::claim::claim", "hands::claim::unclaim"],
        shown: In(&[
            "hands::changing::a_claim_marks_sizes_and_renames_and_can_be_taken_back",
            "hands::changing::a_claim_whose_name_is_taken_says_that_the_vm_is_marked",
            "hands::changing::what_was_changed_by_hand_is_not_claimed",
        ]),
    },
    Row {
        operation: "mark and rename what is the owner's",
        calls: &["hands::own::mark_anew", "hands::own::rename"],
        shown: In(&[
            "hands::changing::marks_and_names_of_others_stay_as_they_are",
            "hands::changing::a_vm_that_is_kept_says_so_and_keeps_the_rest_of_its_mark",
        ]),
    },
    Row {
        operation: "start, stop, wait for the end, read when it was",
        calls: &[
            "hands::power::start",
            "hands::power::stop",
            "hands::power::is_off",
            "hands::power::wait_off",
            "hands::history::histories",
            "hands::server_time",
        ],
        shown: In(&[
            "hands::changing::a_vm_is_started_and_stopped_and_its_end_is_waited_for",
            "hands::changing::a_start_waits_until_vcenter_is_back",
        ]),
    },
    Row {
        operation: "delete with a proof",
        calls: &["hands::delete::delete", "hands::power::is_gone", "hands::read_back"],
        shown: In(&[
            "hands::deleting::a_vm_is_deleted_with_its_proof_even_if_no_answer_comes",
            "hands::deleting::what_is_not_ours_not_named_so_or_a_template_is_not_deleted_nor_stopped",
            "hands::deleting::a_vm_that_becomes_another_while_it_is_stopped_is_not_deleted",
        ]),
    },
    Row {
        operation: "adopt and unmark copies of VMs",
        calls: &["hands::adopt::adopt_copy", "hands::adopt::unmark"],
        shown: In(&["hands::copies::a_copy_that_somebody_makes_of_our_vm_is_nobodys_and_the_vm_stays_ours"]),
    },
    Row {
        operation: "make and remove templates, see who clones them and which linked clones they have",
        calls: &[
            "hands::template::make_template",
            "hands::adopt::adopt_template",
            "hands::delete::delete_template",
            "hands::template::linked_clones",
            "hands::template::running_clones",
        ],
        shown: In(&[
            "hands::templates::a_template_is_made_once_and_goes_when_nothing_stands_on_its_disks",
            "hands::templates::a_clone_that_has_not_ended_is_seen_on_its_template",
        ]),
    },
    Row {
        operation: "wait for a guest, and run programs in it once",
        calls: &[
            "hands::guest::ready",
            "hands::guest::addressed",
            "hands::guest::launch",
            "hands::disks::disk_sizes",
        ],
        shown: In(&["hands::guests::a_vm_is_made_ready_and_a_program_is_launched_once"]),
    },
    Row {
        operation: "see other daemons of the same name, and end their sessions",
        calls: &["sessions::others", "sessions::list", "sessions::end"],
        shown: In(&[
            "hands::sessions::a_second_daemon_of_the_same_name_is_seen_until_it_goes",
            "hands::sessions::the_session_of_a_silent_daemon_is_ended",
        ]),
    },
    // Files of datastores.
    Row {
        operation: "send, fetch and look at files of a datastore",
        calls: &[
            "datastore::exists",
            "datastore::download",
            "datastore::upload::upload",
            "datastore::web::stat",
        ],
        shown: In(&[
            "files::files_with_odd_names_go_both_ways",
            "files::a_file_that_is_there_is_kept_reused_or_replaced_as_told",
            "files::a_gibibyte_goes_both_ways_in_little_memory",
        ]),
    },
    Row {
        operation: "list, move and remove files, and make folders",
        calls: &["datastore::list", "datastore::make_directory", "datastore::delete", "datastore::move_to"],
        shown: In(&["files::folders_and_files_are_made_moved_and_removed_twice_without_harm"]),
    },
    Row {
        operation: "remove what broken uploads left",
        calls: &["datastore::leftovers::remove_leftovers"],
        shown: In(&["files::what_nobody_could_remove_is_removed_after_a_day"]),
    },
    // Tags.
    Row {
        operation: "find, make, attach and detach tags",
        calls: &[
            "tags::category",
            "tags::ensure_category",
            "tags::tag",
            "tags::tag_by_id",
            "tags::ensure_tag",
            "tags::attach",
            "tags::detach",
            "tags::attached",
        ],
        shown: In(&[
            "tags::tags_are_made_found_attached_and_taken_off_as_govc_sees_it",
            "tags::many_objects_are_tagged_in_few_requests",
        ]),
    },
    Row {
        operation: "renew and end the REST session",
        calls: &[],
        shown: In(&[
            "tags::one_rest_session_is_shared_renewed_and_ended",
            "tags::a_rest_login_that_nobody_waits_for_any_more_is_ended_all_the_same",
            "tags::a_client_that_never_asked_for_tags_has_no_rest_session_to_end",
        ]),
    },
    Row { operation: "list REST sessions", calls: &[], shown: CannotBe("list of REST sessions") },
    Row { operation: "be refused a second tag of a category", calls: &[], shown: CannotBe("rules of tags") },
    Row { operation: "tag only some of many objects", calls: &[], shown: CannotBe("outcome of a batch") },
    // Capacity.
    Row {
        operation: "read how much room there is",
        calls: &["capacity::capacity"],
        shown: In(&["capacity::the_room_that_there_is_is_read_in_one_call_and_is_what_govc_shows"]),
    },
    Row { operation: "see room being used up", calls: &[], shown: CannotBe("admission control") },
    Row { operation: "read the demand on a cluster", calls: &[], shown: CannotBe("demand on a cluster") },
    Row { operation: "read effective memory in megabytes", calls: &[], shown: CannotBe("effective memory") },
];
