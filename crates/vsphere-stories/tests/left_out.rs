//! The stories that are left out on our simulator: they are about vcsim's own ways, and return at once
//! ([`rookery_kit::only_on_vcsim`]). Each stands here with its reason.

const QUIET: &str =
    "asserts that nothing but the power state changes: vcsim's guests show nothing of themselves";
const BEHIND: &str = "counts on vcsim to ignore the snapshot that is cloned, or to leave a VM behind after `NicSettingMismatch`; ours does neither, like a vCenter";

/// What is left out, and why.
const LEFT_OUT: [(&str, &str); 10] = [
    (
        "guests::a_server_that_cannot_check_a_password_is_told_from_a_wrong_password",
        "is about vcsim's lack of a GuestAuthManager; ours has one",
    ),
    (
        "guests::a_file_goes_to_the_host_if_vcenter_says_so_and_to_nobody_who_merely_claims_to_be_it",
        "lets a second vcsim play the host, over the folder of the same guests; guests of ours are of one simulator alone",
    ),
    ("cli::top::a_terminal_that_takes_no_pages_gets_lines", QUIET),
    ("cli::up::in_a_pipe_the_changes_follow_the_summary", QUIET),
    ("cli::watching::every_change_is_a_line_with_old_and_new_values", QUIET),
    ("cli::watching::a_pattern_fits_the_name_before_or_after_the_change", QUIET),
    ("clones::a_clone_that_was_refused_for_its_cards_is_ordered_again", BEHIND),
    ("clones::a_source_that_gets_a_card_while_it_is_cloned_has_a_clone_with_all_cards_set_up", BEHIND),
    ("clones::cards_that_never_agree_are_told_with_their_numbers", BEHIND),
    ("clones::a_guest_is_set_up_once_although_the_answer_to_that_was_lost", BEHIND),
];

/// Every story that leaves itself out, as the sources have it.
fn leaving_themselves_out(folder: &std::path::Path, module: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        if path.is_dir() {
            found.extend(leaving_themselves_out(&path, &format!("{module}{name}::")));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let mut parts = text.split("if only_on_vcsim()").collect::<Vec<_>>();
        parts.pop();
        found.extend(parts.into_iter().map(|before| {
            let story =
                before.rsplit_once("fn ").and_then(|(_, rest)| rest.split_once('(')).expect("a story").0;
            format!("{module}{name}::{story}")
        }));
    }
    found
}

#[test]
fn every_story_that_is_left_out_is_listed_with_its_reason() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vsphere");
    let mut found = leaving_themselves_out(&folder, "");
    found.sort();
    let mut listed: Vec<&str> = LEFT_OUT.iter().map(|(story, _)| *story).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
    for (story, reason) in LEFT_OUT {
        println!("left out: {story}: {reason}");
    }
}
