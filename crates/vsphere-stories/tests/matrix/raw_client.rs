//! Calls that are written by hand, and answers that are read without our client.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rookery_kit::{Raw, Refused};
use rookery_vim::{MoRef, Node};

use super::subject::Subject;

/// How often something is looked at again that takes its time, and after how long.
const LOOKS: usize = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// A session, and what is often asked for.
#[derive(Debug, Clone)]
pub(super) struct RawClient(Raw);

impl Deref for RawClient {
    type Target = Raw;
    fn deref(&self) -> &Raw {
        &self.0
    }
}

impl RawClient {
    pub(super) async fn at(subject: &Subject) -> anyhow::Result<Self> {
        subject.raw().await.map(Self)
    }

    /// What is at a path such as `DC0/vm/DC0_H0_VM0`.
    pub(super) async fn find(&self, path: &str) -> anyhow::Result<MoRef> {
        let this = self.content.search_index.clone().context("a search index")?;
        let path_given = format!("<inventoryPath>{path}</inventoryPath>");
        let answer = self.ask("FindByInventoryPath", &this, &path_given).await?;
        answer.child("returnval").map(reference).with_context(|| format!("there is no {path}"))
    }

    /// A property, if it is set.
    pub(super) async fn value(&self, of: &MoRef, path: &str) -> anyhow::Result<Option<Node>> {
        let spec = format!(
            "<specSet><propSet><type>{}</type><pathSet>{path}</pathSet></propSet><objectSet>{}</objectSet></specSet>",
            of.kind(),
            tag("obj", of)
        );
        let answer = self.ask("RetrieveProperties", &self.content.property_collector, &spec).await?;
        let object = answer.child("returnval").with_context(|| format!("{} is not told", of.id()))?;
        Ok(object.child("propSet").and_then(|property| property.child("val")).cloned())
    }

    /// A property as text, empty if it is unset.
    pub(super) async fn property(&self, of: &MoRef, path: &str) -> anyhow::Result<String> {
        Ok(self.value(of, path).await?.map(|value| value.text).unwrap_or_default())
    }

    /// References in a property that is a list.
    pub(super) async fn references(&self, of: &MoRef, path: &str) -> anyhow::Result<Vec<MoRef>> {
        let value = self.value(of, path).await?;
        Ok(value.iter().flat_map(|value| &value.children).map(reference).collect())
    }

    /// Waits until a property has a value.
    pub(super) async fn until(&self, of: &MoRef, path: &str, wanted: &str) -> anyhow::Result<()> {
        let mut seen = String::new();
        for _ in 0..LOOKS {
            seen = self.property(of, path).await?;
            if seen == wanted {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        bail!("{path} is {seen:?} and not {wanted:?}")
    }

    /// Calls a method that makes a task, and waits for its end: what the task says of itself.
    pub(super) async fn finish(&self, method: &str, this: &MoRef, given: &str) -> anyhow::Result<Node> {
        match self.end_of(method, this, given).await? {
            Ok(info) => Ok(info),
            Err(refused) => bail!("{method}: {refused}"),
        }
    }

    /// The fault that a method, or its task, must end with.
    pub(super) async fn refusal(&self, method: &str, this: &MoRef, given: &str) -> anyhow::Result<Refused> {
        match self.end_of(method, this, given).await? {
            Ok(_) => bail!("{method} was not refused"),
            Err(refused) => Ok(refused),
        }
    }

    async fn end_of(&self, method: &str, this: &MoRef, given: &str) -> anyhow::Result<Result<Node, Refused>> {
        let answer = match self.ask(method, this, given).await {
            Err(refused) if refused.fault.starts_with("no answer") => return Err(refused.into()),
            Err(refused) => return Ok(Err(refused)),
            Ok(answer) => answer,
        };
        let task = answer.child("returnval").map(reference).filter(|task| task.kind() == "Task");
        let Some(task) = task else { return Ok(Ok(answer)) };
        self.end(&task).await
    }

    /// Waits for the end of a task.
    pub(super) async fn end(&self, task: &MoRef) -> anyhow::Result<Result<Node, Refused>> {
        for _ in 0..LOOKS {
            let info = self.value(task, "info").await?.context("a task tells of itself")?;
            match info.child_text("state") {
                Some("success") => return Ok(Ok(info)),
                Some("error") => {
                    let error = info.child("error").context("a reason")?;
                    let detail = error.child("fault").cloned().map(Box::new);
                    let class = detail.as_ref().and_then(|fault| fault.xsi_type.as_deref());
                    let message = error.child_text("localizedMessage").unwrap_or_default().to_owned();
                    return Ok(Err(Refused { fault: class.unwrap_or_default().to_owned(), message, detail }));
                }
                _ => tokio::time::sleep(BETWEEN_LOOKS).await,
            }
        }
        bail!("{} does not end", task.id())
    }

    /// Powers a VM off.
    pub(super) async fn off(&self, vm: &MoRef) -> anyhow::Result<()> {
        self.finish("PowerOffVM_Task", vm, "").await.map(drop)
    }

    /// The devices of a VM that are of a class.
    pub(super) async fn devices(&self, vm: &MoRef, class: &str) -> anyhow::Result<Vec<Node>> {
        let all = self.value(vm, "config.hardware.device").await?.context("devices")?;
        Ok(all.children.into_iter().filter(|device| device.xsi_type.as_deref() == Some(class)).collect())
    }

    /// Clones a VM into the datacenter's folder.
    pub(super) async fn clone_vm(
        &self,
        source: &MoRef,
        name: &str,
        spec: &CloneSpec,
    ) -> anyhow::Result<MoRef> {
        let given = self.clone_order(name, spec).await?;
        let info = self.finish("CloneVM_Task", source, &given).await?;
        info.child("result").map(reference).context("the clone is told")
    }

    /// What a clone is ordered with.
    pub(super) async fn clone_order(&self, name: &str, spec: &CloneSpec) -> anyhow::Result<String> {
        let folder = self.find("DC0/vm").await?;
        Ok(format!("{}<name>{name}</name>{}", tag("folder", &folder), spec.text()))
    }

    /// Takes a snapshot of the disks.
    pub(super) async fn snapshot(&self, vm: &MoRef, name: &str) -> anyhow::Result<MoRef> {
        let given = format!("<name>{name}</name><memory>false</memory><quiesce>false</quiesce>");
        let info = self.finish("CreateSnapshot_Task", vm, &given).await?;
        info.child("result").map(reference).context("the snapshot is told")
    }

    /// A collector of one's own that watches some properties of all VMs.
    pub(super) async fn watch(&self, paths: &[&str]) -> anyhow::Result<MoRef> {
        let made = self.ask("CreatePropertyCollector", &self.content.property_collector, "").await?;
        let collector = made.child("returnval").map(reference).context("a collector")?;
        self.add_filter(&collector, paths).await?;
        Ok(collector)
    }

    pub(super) async fn add_filter(&self, collector: &MoRef, paths: &[&str]) -> anyhow::Result<()> {
        let spec = viewed("spec", &self.view().await, paths);
        let given = format!("{spec}<partialUpdates>false</partialUpdates>");
        self.ask("CreateFilter", collector, &given).await?;
        Ok(())
    }

    /// Waits for news; none if the time runs out.
    pub(super) async fn news(
        &self,
        collector: &MoRef,
        version: &str,
        seconds: u32,
        objects: Option<u32>,
    ) -> Result<Option<News>, Refused> {
        let most = objects.map_or_else(String::new, |n| format!("<maxObjectUpdates>{n}</maxObjectUpdates>"));
        let given = format!(
            "<version>{version}</version><options><maxWaitSeconds>{seconds}</maxWaitSeconds>{most}</options>"
        );
        let answer = self.ask("WaitForUpdatesEx", collector, &given).await?;
        Ok(answer.child("returnval").map(News::read))
    }

    /// All that there is at first, and the version after it.
    pub(super) async fn first_news(&self, collector: &MoRef) -> anyhow::Result<String> {
        let news = self.news(collector, "", 10, None).await?.context("what there is")?;
        ensure!(news.objects.len() == 4, "{} VMs are told of", news.objects.len());
        Ok(news.version)
    }

    /// Waits until some news is told that is wanted; all news since the version.
    pub(super) async fn news_until(
        &self,
        collector: &MoRef,
        version: &str,
        wanted: impl Fn(&Update) -> bool,
    ) -> anyhow::Result<Vec<Update>> {
        let (mut version, mut seen) = (version.to_owned(), Vec::<Update>::new());
        for _ in 0..LOOKS {
            if let Some(found) = seen.iter().position(&wanted) {
                seen.truncate(found + 1);
                return Ok(seen);
            }
            let news = self.news(collector, &version, 5, None).await?;
            let news = news.with_context(|| format!("nothing more is told after {seen:?}"))?;
            version = news.version;
            seen.extend(news.objects);
        }
        bail!("it is not told: {seen:?}")
    }
}

/// How a clone is to be; the members stand in the order of the schema.
#[derive(Debug, Clone, Default)]
pub(super) struct CloneSpec {
    pub(super) location: String,
    pub(super) config: String,
    pub(super) customization: String,
    pub(super) power_on: bool,
    pub(super) snapshot: String,
}

impl CloneSpec {
    fn text(&self) -> String {
        let Self { location, config, customization, power_on, snapshot } = self;
        let config = if config.is_empty() { String::new() } else { format!("<config>{config}</config>") };
        format!(
            "<spec><location>{location}</location><template>false</template>{config}{customization}\
             <powerOn>{power_on}</powerOn>{snapshot}</spec>"
        )
    }
}

/// What a wait was answered with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct News {
    pub(super) version: String,
    pub(super) truncated: bool,
    pub(super) objects: Vec<Update>,
}

/// What happened to an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Update {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) changes: BTreeMap<String, String>,
}

impl News {
    fn read(returned: &Node) -> Self {
        let text = |node: &Node, name: &str| node.child_text(name).unwrap_or_default().to_owned();
        let updates = named(returned, "filterSet").flat_map(|filter| named(filter, "objectSet"));
        let objects = updates.map(|object| Update {
            kind: text(object, "kind"),
            id: text(object, "obj"),
            changes: named(object, "changeSet")
                .map(|change| (text(change, "name"), text(change, "val")))
                .collect(),
        });
        Self {
            version: text(returned, "version"),
            truncated: returned.child_text("truncated") == Some("true"),
            objects: objects.collect(),
        }
    }
}

/// Children of a name.
pub(super) fn named<'a>(node: &'a Node, name: &'a str) -> impl Iterator<Item = &'a Node> {
    node.children.iter().filter(move |child| &*child.name == name)
}

/// An element that refers to an object.
pub(super) fn tag(name: &str, of: &MoRef) -> String {
    format!("<{name} type=\"{}\">{}</{name}>", of.kind(), of.id())
}

/// The reference in an element.
pub(super) fn reference(node: &Node) -> MoRef {
    MoRef::new(node.ref_type.as_deref().unwrap_or_default(), &node.text)
}

/// Properties of all VMs of a view.
pub(super) fn viewed(name: &str, view: &MoRef, paths: &[&str]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| format!("<pathSet>{path}</pathSet>")).collect();
    let paths = paths.concat();
    format!(
        "<{name}><propSet><type>VirtualMachine</type>{paths}</propSet><objectSet>{}<skip>true</skip>\
         <selectSet xsi:type=\"TraversalSpec\"><name>v</name><type>ContainerView</type><path>view</path>\
         <skip>false</skip></selectSet></objectSet></{name}>",
        tag("obj", view)
    )
}

/// What everybody must see: the fault that was to be expected.
pub(super) fn is(refused: &Refused, fault: &str) -> anyhow::Result<()> {
    ensure!(refused.fault == fault, "it was refused with {refused} and not with {fault}");
    Ok(())
}

/// The same where any fault will do, as long as the call itself was understood.
pub(super) fn is_well_founded(refused: &Refused) -> anyhow::Result<()> {
    ensure!(
        !["InvalidRequest", "NotSupported", "NotImplemented"].contains(&refused.fault.as_str()),
        "{refused}"
    );
    Ok(())
}
