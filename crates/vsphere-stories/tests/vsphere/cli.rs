//! The program itself, as a person or a script runs it.

mod changing;
mod completing;
mod doctor;
mod exit_codes;
mod guests;
mod listing;
mod looking;
mod making;
mod patterns;
mod planning;
mod removing;
mod renaming;
mod schema;
mod secrets;
mod sessions;
mod settings;
mod snapshots;
mod top;
mod trouble;
mod up;
mod watching;

use rookery_kit::{Govc, Outcome};
use serde_json::Value;

/// What a command printed that has done its work and has nothing to complain about.
fn printed(outcome: Outcome) -> String {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
    outcome.stdout
}

/// The same as JSON.
fn json(outcome: Outcome) -> Value {
    let text = printed(outcome);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The one message of a command that did nothing: it must say all this.
fn refused(outcome: Outcome, code: i32, words: &[&str]) -> String {
    let Outcome { code: ended, stdout, stderr } = outcome;
    assert_eq!((ended, stdout.as_str()), (Some(code), ""), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "{word:?} is not in {stderr}");
    }
    stderr
}

/// The id that govc knows for a name; the name as it is stored.
async fn id_of(govc: &Govc, name: &str) -> String {
    let vms = govc.vms(&["name"]).await;
    let mut found = vms.iter().filter(|(_, vm)| vm["name"] == name).map(|(id, _)| id.clone());
    let id = found.next().unwrap_or_else(|| panic!("govc knows no VM {name}: {vms:?}"));
    assert_eq!(found.next(), None, "govc knows several VMs {name}");
    id
}

/// `poweredOn`, `poweredOff` or `suspended`, as govc sees it.
async fn power_of(govc: &Govc, id: &str) -> String {
    govc.property(&format!("VirtualMachine:{id}"), "runtime.powerState").await
}
