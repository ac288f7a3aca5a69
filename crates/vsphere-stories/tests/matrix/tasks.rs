//! Tasks that take their time.

use anyhow::{Context as _, bail, ensure};
use std::time::Duration;

use rookery_vim::MoRef;

use super::raw_client::{CloneSpec, RawClient, is, named, reference, tag};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn a_slow_task_runs_and_ends(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let order = client.clone_order("clone", &CloneSpec::default()).await?;
    let made = client.ask("CloneVM_Task", &client.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let state = client.property(&task, "info.state").await?;
    ensure!(["queued", "running"].contains(&state.as_str()), "it is {state} at once");
    client.end(&task).await??;
    let info = client.value(&task, "info").await?.context("it tells of itself")?;
    let time = |name| info.child_text(name).with_context(|| format!("no {name}"));
    ensure!(time("queueTime")? <= time("startTime")?, "it began before it was ordered");
    ensure!(time("startTime")? < time("completeTime")?, "it took no time");
    Ok(())
}

pub(super) async fn a_slow_task_tells_how_far_it_is(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let order = client.clone_order("clone", &CloneSpec::default()).await?;
    let made = client.ask("CloneVM_Task", &client.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let mut told = Vec::new();
    while !["success", "error"].contains(&client.property(&task, "info.state").await?.as_str()) {
        told.extend(client.property(&task, "info.progress").await?.parse::<u8>().ok());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    told.dedup();
    ensure!(told.iter().any(|progress| (1..100).contains(progress)), "it told {told:?}");
    ensure!(told.is_sorted(), "it went backwards: {told:?}");
    Ok(())
}

pub(super) async fn a_task_can_be_cancelled(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let order = client.clone_order("clone", &CloneSpec::default()).await?;
    let made = client.ask("CloneVM_Task", &client.find(VM).await?, &order).await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    client.ask("CancelTask", &task, "").await?;
    match client.end(&task).await? {
        Err(refused) => is(&refused, "RequestCanceled")?,
        Ok(_) => bail!("it was done all the same"),
    }
    ensure!(client.find("DC0/vm/clone").await.is_err(), "the clone is there");
    Ok(())
}

pub(super) async fn recent_tasks_are_listed(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let made = client.ask("PowerOffVM_Task", &client.find(VM).await?, "").await?;
    let task = made.child("returnval").map(reference).context("a task")?;
    let manager = client.content.task_manager.clone().context("a task manager")?;
    let recent = client.references(&manager, "recentTask").await?;
    ensure!(recent.contains(&task), "{task:?} is none of {recent:?}");
    subject.govc(&["tasks"]).await.map(drop)
}

pub(super) async fn a_collector_reads_tasks_page_by_page(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let mut ordered = Vec::new();
    for method in ["PowerOffVM_Task", "PowerOnVM_Task", "PowerOffVM_Task"] {
        let made = client.ask(method, &vm, "").await?;
        let task = made.child("returnval").map(reference).context("a task")?;
        client.end(&task).await??;
        ordered.push(task);
    }
    let filter = format!("<entity>{}<recursion>self</recursion></entity>", tag("entity", &vm));
    let read = history(&client, &filter, 2).await?;
    ensure!(read == ordered, "read {read:?} of {ordered:?}");
    Ok(())
}

pub(super) async fn tasks_are_picked_from_history(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let made = client.ask("PowerOffVM_Task", &vm, "").await?;
    let done = made.child("returnval").map(reference).context("a task")?;
    client.end(&done).await??;
    let made = client.ask("PowerOffVM_Task", &vm, "").await?;
    let failed = made.child("returnval").map(reference).context("a task")?;
    ensure!(client.end(&failed).await?.is_err(), "it is off");
    let datacenter = tag("entity", &client.find("DC0").await?);
    let below = |rest: &str| format!("<entity>{datacenter}<recursion>all</recursion></entity>{rest}");
    let found = history(&client, &below("<state>error</state>"), 100).await?;
    ensure!(found == [failed.clone()], "failed: {found:?}");
    let found = history(&client, &below(""), 100).await?;
    ensure!(found.contains(&done) && found.contains(&failed), "in the datacenter: {found:?}");
    let pool = client.find("DC0/host/DC0_H0/Resources").await?;
    let other = format!("<entity>{}<recursion>self</recursion></entity>", tag("entity", &pool));
    let found = history(&client, &other, 100).await?;
    ensure!(found.is_empty(), "of something else: {found:?}");
    Ok(())
}

/// The history of tasks, oldest first, read in pages of that size.
async fn history(client: &RawClient, filter: &str, most: usize) -> anyhow::Result<Vec<MoRef>> {
    let manager = client.content.task_manager.clone().context("a task manager")?;
    let made = client.ask("CreateCollectorForTasks", &manager, &format!("<filter>{filter}</filter>")).await?;
    let collector = made.child("returnval").map(reference).context("a collector")?;
    client.ask("RewindCollector", &collector, "").await?;
    let mut read = Vec::new();
    loop {
        let page = client.ask("ReadNextTasks", &collector, &format!("<maxCount>{most}</maxCount>")).await?;
        let tasks: Vec<_> =
            named(&page, "returnval").filter_map(|info| info.child("task")).map(reference).collect();
        if tasks.is_empty() {
            break;
        }
        ensure!(tasks.len() <= most, "a page of {}", tasks.len());
        read.extend(tasks);
    }
    client.ask("DestroyCollector", &collector, "").await?;
    Ok(read)
}

pub(super) async fn a_task_says_why_it_failed(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let refused = client.refusal("PowerOnVM_Task", &client.find(VM).await?, "").await?;
    let words = refused.message.split_whitespace().count();
    ensure!(words > 3 && !refused.message.contains("types."), "it says {:?}", refused.message);
    Ok(())
}
