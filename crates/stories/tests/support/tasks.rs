//! Tasks that take their time.

use anyhow::{Context as _, bail, ensure};
use std::time::Duration;

use super::desk::{CloneSpec, Desk, is, reference};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn a_slow_task_runs_and_ends(subject: Subject) -> anyhow::Result<()> {
    let desk = Desk::at(&subject).await?;
    let order = desk.clone_order("clone", &CloneSpec::default()).await?;
    let made = desk.ask("CloneVM_Task", &desk.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let state = desk.property(&task, "info.state").await?;
    ensure!(["queued", "running"].contains(&state.as_str()), "it is {state} at once");
    desk.end(&task).await??;
    let info = desk.value(&task, "info").await?.context("it tells of itself")?;
    let time = |name| info.child_text(name).with_context(|| format!("no {name}"));
    ensure!(time("queueTime")? <= time("startTime")?, "it began before it was ordered");
    ensure!(time("startTime")? < time("completeTime")?, "it took no time");
    Ok(())
}

pub(super) async fn a_slow_task_tells_how_far_it_is(subject: Subject) -> anyhow::Result<()> {
    let desk = Desk::at(&subject).await?;
    let order = desk.clone_order("clone", &CloneSpec::default()).await?;
    let made = desk.ask("CloneVM_Task", &desk.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let mut told = Vec::new();
    while !["success", "error"].contains(&desk.property(&task, "info.state").await?.as_str()) {
        told.extend(desk.property(&task, "info.progress").await?.parse::<u8>().ok());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    told.dedup();
    ensure!(told.iter().any(|progress| (1..100).contains(progress)), "it told {told:?}");
    ensure!(told.is_sorted(), "it went backwards: {told:?}");
    Ok(())
}

pub(super) async fn a_task_can_be_cancelled(subject: Subject) -> anyhow::Result<()> {
    let desk = Desk::at(&subject).await?;
    let order = desk.clone_order("clone", &CloneSpec::default()).await?;
    let made = desk.ask("CloneVM_Task", &desk.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    desk.ask("CancelTask", &task, "").await?;
    match desk.end(&task).await? {
        Err(refused) => is(&refused, "RequestCanceled")?,
        Ok(_) => bail!("it was done all the same"),
    }
    ensure!(desk.find("DC0/vm/clone").await.is_err(), "the clone is there");
    Ok(())
}

pub(super) async fn recent_tasks_are_listed(subject: Subject) -> anyhow::Result<()> {
    let desk = Desk::at(&subject).await?;
    let made = desk.ask("PowerOffVM_Task", &desk.find(VM).await?, "").await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let manager = desk.content.task_manager.clone().context("a task manager")?;
    let recent = desk.references(&manager, "recentTask").await?;
    ensure!(recent.contains(&task), "{task:?} is none of {recent:?}");
    subject.govc(&["tasks"]).await.map(drop)
}

pub(super) async fn a_task_says_why_it_failed(subject: Subject) -> anyhow::Result<()> {
    let desk = Desk::at(&subject).await?;
    let refused = desk.refusal("PowerOnVM_Task", &desk.find(VM).await?, "").await?;
    let words = refused.message.split_whitespace().count();
    ensure!(words > 3 && !refused.message.contains("types."), "it says {:?}", refused.message);
    Ok(())
}
