//! Waiting for changes.

use anyhow::{Context as _, bail, ensure};
use rookery_vim::MoRef;

use super::raw_client::{CloneSpec, RawClient, is};
use super::subject::Subject;

const VM: &str = "DC0/vm/DC0_H0_VM0";

pub(super) async fn only_the_new_one_enters(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let version = client.first_news(&collector).await?;
    let clone = client.clone_vm(&client.find(VM).await?, "new", &CloneSpec::default()).await?;
    let seen = client.news_until(&collector, &version, |update| update.id == clone.id()).await?;
    let others: Vec<_> = seen.iter().filter(|update| update.id != clone.id()).collect();
    ensure!(others.is_empty(), "{} others entered again", others.len());
    Ok(())
}

pub(super) async fn a_change_tells_what_changed(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name", "runtime.powerState"]).await?;
    let version = client.first_news(&collector).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let news = client.news(&collector, &version, 10, None).await?.context("the change is told")?;
    let [update] = news.objects.as_slice() else { bail!("{news:?}") };
    ensure!(update.kind == "modify" && update.id == vm.id(), "{update:?}");
    let changes: Vec<_> =
        update.changes.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
    ensure!(changes == [("runtime.powerState", "poweredOff")], "{changes:?}");
    Ok(())
}

pub(super) async fn whoever_goes_leaves(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let version = client.first_news(&collector).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    client.finish("Destroy_Task", &vm, "").await?;
    let left = |update: &super::raw_client::Update| update.kind == "leave" && update.id == vm.id();
    client.news_until(&collector, &version, left).await.map(drop)
}

pub(super) async fn a_lost_answer_is_told_again(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["runtime.powerState"]).await?;
    let version = client.first_news(&collector).await?;
    client.off(&client.find(VM).await?).await?;
    let lost = client.news(&collector, &version, 10, None).await?.context("the change is told")?;
    let again = client.news(&collector, &version, 3, None).await?.context("the same is told again")?;
    ensure!(lost.objects == again.objects, "{lost:?}, then {again:?}");
    let nothing = client.news(&collector, &again.version, 1, None).await?;
    ensure!(nothing.is_none(), "and once more: {nothing:?}");
    Ok(())
}

pub(super) async fn a_made_up_version_is_refused(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    client.first_news(&collector).await?;
    match client.news(&collector, "4711", 1, None).await {
        Err(refused) => is(&refused, "InvalidCollectorVersion"),
        Ok(news) => bail!("it is answered: {news:?}"),
    }
}

pub(super) async fn large_news_comes_in_pieces(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let (mut version, mut told) = (String::new(), Vec::new());
    loop {
        let news = client.news(&collector, &version, 5, Some(3)).await?.context("what there is")?;
        ensure!(news.objects.len() <= 3, "{} at once", news.objects.len());
        told.extend(news.objects.into_iter().map(|update| update.id));
        version = news.version;
        if !news.truncated {
            break;
        }
    }
    told.sort();
    told.dedup();
    ensure!(told.len() == 4, "{told:?}");
    Ok(())
}

pub(super) async fn a_quiet_wait_ends_in_time(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let version = client.first_news(&collector).await?;
    let news = client.news(&collector, &version, 1, None).await?;
    ensure!(news.is_none(), "{news:?}");
    Ok(())
}

pub(super) async fn a_filter_is_seen_while_one_waits(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let version = client.first_news(&collector).await?;
    let adding = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        client.add_filter(&collector, &["runtime.powerState"]).await
    };
    let (news, added) = tokio::join!(client.news(&collector, &version, 5, None), adding);
    added?;
    let news = news?.context("the wait goes on as if nothing had happened")?;
    let told = news.objects.iter().filter(|update| update.changes.contains_key("runtime.powerState")).count();
    ensure!(told == 4, "{news:?}");
    Ok(())
}

pub(super) async fn a_wait_can_be_cancelled(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let collector = client.watch(&["name"]).await?;
    let version = client.first_news(&collector).await?;
    let cancelling = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        client.ask("CancelWaitForUpdates", &collector, "").await
    };
    let (news, cancelled) = tokio::join!(client.news(&collector, &version, 20, None), cancelling);
    cancelled?;
    match news {
        Err(refused) => is(&refused, "RequestCanceled"),
        Ok(news) => bail!("the wait ended with {news:?}"),
    }
}

pub(super) async fn a_new_template_is_announced(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    let announced = announced(&client, &vm, "config.template", async {
        client.ask("MarkAsTemplate", &vm, "").await?;
        Ok(())
    });
    ensure!(announced.await? == "true", "it is no template");
    Ok(())
}

pub(super) async fn new_notes_are_announced(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    let told = announced(&client, &vm, "config.annotation", async {
        client.finish("ReconfigVM_Task", &vm, "<spec><annotation>noted</annotation></spec>").await.map(drop)
    });
    ensure!(told.await? == "noted", "other notes");
    Ok(())
}

pub(super) async fn new_hardware_is_announced(subject: Subject) -> anyhow::Result<()> {
    let client = RawClient::at(&subject).await?;
    let vm = client.find(VM).await?;
    client.off(&vm).await?;
    for (path, given, expected) in [
        ("config.hardware.numCPU", "<numCPUs>3</numCPUs>", "3"),
        ("config.hardware.memoryMB", "<memoryMB>96</memoryMB>", "96"),
    ] {
        let told = announced(&client, &vm, path, async {
            client.finish("ReconfigVM_Task", &vm, &format!("<spec>{given}</spec>")).await.map(drop)
        });
        let told = told.await?;
        ensure!(told == expected, "{path} is {told}");
    }
    Ok(())
}

/// What a watcher hears of a property when something is done.
async fn announced(
    client: &RawClient,
    vm: &MoRef,
    path: &str,
    done: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<String> {
    let collector = client.watch(&[path]).await?;
    let version = client.first_news(&collector).await?;
    done.await?;
    let told = |update: &super::raw_client::Update| update.id == vm.id() && update.changes.contains_key(path);
    let seen = client.news_until(&collector, &version, told).await?;
    Ok(seen.last().map(|update| update.changes[path].clone()).unwrap_or_default())
}
