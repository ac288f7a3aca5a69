//! What is still known of tasks when they can no longer be read.

use jiff::SignedDuration;
use rookery_vim_sim::{Counts, Settings};

use super::lab::{Fault, Lab, reference};

const MANAGER: &str = r#"<_this type="TaskManager">TaskManager</_this>"#;
const COLLECTOR: &str = r#"<_this type="PropertyCollector">propertyCollector</_this>"#;

#[test]
fn a_task_that_cannot_be_read_any_more_is_in_the_history() {
    let mut lab = Lab::new(Settings::default(), Counts { vms: 1, clusters: 0, ..Counts::default() });
    let cookie = lab.log_in("user", "pass").expect("anybody may");
    let search = r#"<_this type="SearchIndex">SearchIndex</_this>"#;
    let path = "<inventoryPath>/DC0/vm/DC0_H0_VM0</inventoryPath>";
    let vm = lab.call(&cookie, "FindByInventoryPath", search, path).expect("a search");
    let vm = vm.child_text("returnval").expect("a VM").to_owned();
    let vm = reference("_this", ("VirtualMachine", &vm));
    let ordered = lab.call(&cookie, "PowerOffVM_Task", &vm, "").expect("a task");
    let task = ordered.child_text("returnval").expect("a task").to_owned();
    let info = |lab: &mut Lab| {
        let spec = format!(
            "<specSet><propSet><type>Task</type><pathSet>info.state</pathSet></propSet><objectSet>{}</objectSet></specSet>",
            reference("obj", ("Task", &task))
        );
        lab.call(&cookie, "RetrieveProperties", COLLECTOR, &spec)
    };
    info(&mut lab).expect("it has just ended");

    lab.advance(SignedDuration::from_mins(11));
    assert_eq!(info(&mut lab), Err(Fault("ManagedObjectNotFound".to_owned())));
    let made = lab.call(&cookie, "CreateCollectorForTasks", MANAGER, "<filter/>").expect("a reader");
    let reader = made.child_text("returnval").expect("a reader").to_owned();
    let reader = reference("_this", ("TaskHistoryCollector", &reader));
    let page = lab.call(&cookie, "ReadNextTasks", &reader, "<maxCount>10</maxCount>").expect("a page");
    let keys: Vec<_> = page.children.iter().filter_map(|info| info.child_text("key")).collect();
    assert_eq!(keys, [task.as_str()]);
    assert_eq!(page.children[0].child_text("state"), Some("success"));
}
