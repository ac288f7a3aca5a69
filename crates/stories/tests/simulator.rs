//! The stories of `vsphere.rs` once more, on our own simulator instead of vcsim: the kit starts `rookery sim vcenter`
//! where the name of the test program begins with `simulator`.
//!
//! A story that is about vcsim's own ways returns at once ([`rookery_stories::only_on_vcsim`]); each is listed here
//! with the reason.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a story fails by panicking, in its helper functions, too"
)]

mod vsphere {
    mod cli;
    mod clones;
    mod cuts;
    mod faults;
    mod history;
    mod inventory;
    mod machines;
    mod places;
    mod transport;
    mod trust;
}

const DELAY: &str = "needs a method that is answered late, which is a flag of vcsim (-method-delay)";
const QUIET: &str =
    "asserts that nothing but the power state changes: vcsim's guests show nothing of themselves";

/// What is left out, and why.
const LEFT_OUT: [(&str, &str); 9] = [
    (
        "machines::a_guest_without_tools_is_not_asked_to_reboot",
        "needs VMs that run without tools, as all of vcsim's do; ours have them",
    ),
    ("faults::slow_answers_are_waited_for_and_too_slow_ones_are_an_error", DELAY),
    ("cli::sessions::an_interrupt_during_a_slow_load_ends_the_session", DELAY),
    ("cli::sessions::an_interrupt_during_the_login_ends_the_session_that_comes_of_it", DELAY),
    ("cli::sessions::a_second_interrupt_does_not_wait_for_anybody", DELAY),
    ("cli::trouble::a_vcenter_that_is_too_slow_is_told_with_the_setting_that_gives_it_more_time", DELAY),
    ("cli::up::in_a_pipe_the_changes_follow_the_summary", QUIET),
    ("cli::watching::every_change_is_a_line_with_old_and_new_values", QUIET),
    ("cli::watching::a_pattern_fits_the_name_before_or_after_the_change", QUIET),
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
