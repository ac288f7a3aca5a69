//! Power.

use anyhow::{Context as _, ensure};

use super::raw_client::{RawClient, is, named, reference, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn power_changes(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    for (method, state) in [
        ("ResetVM_Task", "poweredOn"),
        ("SuspendVM_Task", "suspended"),
        ("PowerOnVM_Task", "poweredOn"),
        ("PowerOffVM_Task", "poweredOff"),
        ("PowerOnVM_Task", "poweredOn"),
    ] {
        client.finish(method, &vm, "").await?;
        let seen = client.property(&vm, "runtime.powerState").await?;
        ensure!(seen == state, "after {method} it is {seen}");
    }
    Ok(())
}

pub(super) async fn the_wrong_state_is_told(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let refused = client.refusal("PowerOnVM_Task", &vm, "").await?;
    is(&refused, "InvalidPowerState")?;
    let detail = refused.detail.context("details")?;
    let states = (detail.child_text("requestedState"), detail.child_text("existingState"));
    ensure!(states == (Some("poweredOn"), Some("poweredOn")), "{states:?}");
    Ok(())
}

pub(super) async fn many_are_powered_on_at_once(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vms = [client.find(VM).await?, client.find("DC0/vm/DC0_H0_VM1").await?];
    let datacenter = client.find("DC0").await?;
    for vm in &vms {
        client.off(vm).await?;
    }
    let given: String = vms.iter().map(|vm| tag("vm", vm)).collect();
    let info = client.finish("PowerOnMultiVM_Task", &datacenter, &given).await?;
    let result = info.child("result").context("a result")?;
    let tasks: Vec<_> =
        named(result, "attempted").filter_map(|one| one.child("task")).map(reference).collect();
    ensure!(tasks.len() == 2, "{result:?}");
    for task in &tasks {
        client.end(task).await??;
    }
    for vm in &vms {
        client.until(vm, "runtime.powerState", "poweredOn").await?;
    }
    Ok(())
}

pub(super) async fn a_guest_shuts_down(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.ask("ShutdownGuest", &vm, "").await?;
    client.until(&vm, "runtime.powerState", "poweredOff").await
}

pub(super) async fn a_guest_without_tools_does_not_shut_down(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    client.finish("PowerOnVM_Task", &vm, "").await?;
    let tools = client.property(&vm, "guest.toolsRunningStatus").await?;
    ensure!(tools == "guestToolsNotRunning", "the tools are {tools:?}");
    is(&client.refusal("ShutdownGuest", &vm, "").await?, "ToolsUnavailable")
}
