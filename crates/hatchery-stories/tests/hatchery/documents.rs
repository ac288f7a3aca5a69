//! What the documents show is what a reader sees who types it: each block of a document is run as it is printed, in order.
//!
//! A section (`##`) is one sitting: its blocks share a shell, and what goes on in other terminals ends with it. Everything
//! happens in a folder of its own, in which the documents and the program are where a checkout has them, and in a network of
//! its own, so that each address is free. `console` blocks also say what is printed, which is compared.
//!
//! A comment right before a block says what cannot be seen from it:
//!
//! | `<!-- … -->` | |
//! |---|---|
//! | `not run: WHY` | it is for the reader alone |
//! | `goes on: TEXT` | it is for a terminal of its own, and is there once it has printed TEXT |
//! | `in any order` | its lines come as they come |

mod compare;
mod sitting;
mod transcript;

use std::fs;
use std::path::Path;

use rookery_kit::workspace;

use compare::difference;
use sitting::run;
use transcript::{Section, sections};

/// How many blocks no test runs: each has its reason, and one more is a decision.
const NOT_RUN: usize = 11;

fn documents() -> Vec<(String, Vec<Section>)> {
    let within = |folder: &str| {
        let entries = fs::read_dir(workspace().join(folder)).expect("a folder of the checkout");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let mut names = within("docs/");
    names.retain(|name| Path::new(name).extension().is_some_and(|ending| ending == "md"));
    names.push("README.md".to_owned());
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(workspace().join(&name)).expect("a document");
        let sections = sections(&text).unwrap_or_else(|wrong| panic!("{name}:{wrong}"));
        (name, sections)
    };
    names.into_iter().map(read).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_in_the_documents_happens() {
    let mut wrong = vec![];
    for (name, sections) in documents() {
        for section in sections.iter().filter(|section| !section.steps.is_empty()) {
            match run(section).await {
                Ok(shown) => wrong.extend(shown.iter().filter_map(|(shown, printed)| {
                    Some(format!("{name}:{}: {}", shown.line, difference(shown, printed)?))
                })),
                Err(why) => wrong.push(format!("{name}: {}: {why}", section.heading)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn blocks_that_are_not_run_are_few_and_have_reasons() {
    let mut count = 0;
    for (name, sections) in documents() {
        for (line, why) in sections.iter().flat_map(|section| &section.not_run) {
            println!("{name}:{line} is not run: {why}");
            count += 1;
        }
    }
    assert_eq!(count, NOT_RUN, "blocks are not run");
}
