//! Disks that stand on others.

use rookery_vim_sim::Settings;

use super::kit::{Object, Sim};

const GIB: i64 = 1 << 20;

fn growth(kb: i64) -> String {
    format!(
        "<deviceChange><operation>edit</operation><device xsi:type=\"VirtualDisk\"><key>2000</key>\
         <capacityInKB>{kb}</capacityInKB></device></deviceChange>"
    )
}

/// How a change of the first disk's size ends: well, or with a fault of this class.
fn grow(sim: &mut Sim, vm: &Object, kb: i64) -> Option<String> {
    let task = sim.order("ReconfigVM_Task", vm, &format!("<spec>{}</spec>", growth(kb)));
    sim.task(&task).1
}

fn clone(sim: &mut Sim, source: &Object, disk_move: &str, snapshot: &str, kb: i64) -> Option<String> {
    let folder = sim.find("DC0/vm").1;
    let spec = format!(
        "<folder type=\"Folder\">{folder}</folder><name>clone</name><spec>\
         <location><diskMoveType>{disk_move}</diskMoveType></location><template>false</template>\
         <config>{}</config><powerOn>false</powerOn>{snapshot}</spec>",
        growth(kb)
    );
    let task = sim.order("CloneVM_Task", source, &spec);
    sim.task(&task).1
}

#[test]
fn a_disk_that_stands_on_another_one_cannot_grow() {
    let mut sim = Sim::new(Settings::default());
    let (vm, refused) = (sim.vm(0), Some("InvalidDeviceOperation".to_owned()));
    assert_eq!(grow(&mut sim, &vm, 20 * GIB), None);
    assert_eq!(
        grow(&mut sim, &vm, 10 * GIB).as_deref(),
        Some("InvalidDeviceSpec"),
        "nor does any disk shrink"
    );
    let taken = "<name>base</name><memory>false</memory><quiesce>false</quiesce>";
    let task = sim.order("CreateSnapshot_Task", &vm, taken);
    assert_eq!(sim.state(&task), "success");
    assert_eq!(grow(&mut sim, &vm, 30 * GIB), refused, "it stands on the disk of the snapshot");
    assert_eq!(grow(&mut sim, &vm, 20 * GIB), None, "as large as it is");

    let snapshot = sim.value(&vm, "snapshot").and_then(|s| Some(s.child("currentSnapshot")?.text.clone()));
    let snapshot =
        format!("<snapshot type=\"VirtualMachineSnapshot\">{}</snapshot>", snapshot.expect("a snapshot"));
    for (disk_move, snapshot, expected) in [
        ("createNewChildDiskBacking", snapshot.as_str(), refused.clone()),
        ("moveChildMostDiskBacking", "", refused),
        ("moveAllDiskBackingsAndDisallowSharing", "", None),
    ] {
        assert_eq!(clone(&mut sim, &vm, disk_move, snapshot, 30 * GIB), expected, "{disk_move}");
        assert_eq!(sim.look_for("DC0/vm/clone").is_some(), expected.is_none(), "{disk_move}");
    }
}
