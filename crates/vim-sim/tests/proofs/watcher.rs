//! A client that keeps a copy of what it watches: it knows the rules of the property collector, and nothing else.

use std::collections::BTreeMap;

use rookery_vim::Node;

use super::lab::{Fault, Lab, read, reference};

/// Objects by reference, each with its properties as text.
pub(super) type Copy = BTreeMap<String, BTreeMap<String, String>>;

pub(super) struct Watcher {
    pub(super) cookie: String,
    collector: String,
    /// What it watches, as the specification of a filter.
    spec: String,
    version: String,
    copy: Copy,
    /// Whether the last answer said that there is more.
    truncated: bool,
    waiting: Option<u64>,
    /// Once it is rebuilt, what it had does not count.
    pub(super) rebuilt: usize,
}

/// What became of a poll.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Polled {
    Nothing,
    Update,
    Waiting,
}

impl Watcher {
    pub(super) fn new(lab: &mut Lab, spec: impl Fn(&str) -> String) -> Self {
        let cookie = lab.log_in("watcher", "pass").expect("a login");
        let container = reference("container", ("Folder", "group-d1"));
        let parameters = format!("{container}<recursive>true</recursive>");
        let this = r#"<_this type="ViewManager">ViewManager</_this>"#;
        let answer = lab.call(&cookie, "CreateContainerView", this, &parameters).expect("a view");
        let spec = spec(answer.child_text("returnval").expect("a view"));
        let mut watcher = Self {
            cookie,
            collector: String::new(),
            spec,
            version: String::new(),
            copy: Copy::new(),
            truncated: false,
            waiting: None,
            rebuilt: 0,
        };
        watcher.build(lab);
        watcher
    }

    fn build(&mut self, lab: &mut Lab) {
        let this = r#"<_this type="PropertyCollector">propertyCollector</_this>"#;
        let answer = lab.call(&self.cookie, "CreatePropertyCollector", this, "").expect("a collector");
        answer.child_text("returnval").expect("a collector").clone_into(&mut self.collector);
        let parameters = format!("<spec>{}</spec><partialUpdates>false</partialUpdates>", self.spec);
        lab.call(&self.cookie, "CreateFilter", &self.this(), &parameters).expect("a filter");
        self.version.clear();
    }

    fn this(&self) -> String {
        reference("_this", ("PropertyCollector", &self.collector))
    }

    /// Asks for updates; an earlier poll that still waits is given up.
    pub(super) fn poll(&mut self, lab: &mut Lab, seconds: u32, page: u32, lose: bool) -> Polled {
        if let Some(before) = self.waiting.take() {
            lab.gone(before);
        }
        let page =
            if page == 0 { String::new() } else { format!("<maxObjectUpdates>{page}</maxObjectUpdates>") };
        let parameters = format!(
            "<version>{}</version><options><maxWaitSeconds>{seconds}</maxWaitSeconds>{page}</options>",
            self.version
        );
        let body = super::lab::envelope("WaitForUpdatesEx", &self.this(), &parameters);
        self.waiting = Some(lab.post(&self.cookie, body.as_bytes()));
        self.take(lab, lose)
    }

    /// Takes the answer to a poll, if it has come. One that is lost changes nothing here.
    pub(super) fn take(&mut self, lab: &mut Lab, lose: bool) -> Polled {
        let Some(reply) = self.waiting.and_then(|id| lab.take(id)) else { return Polled::Waiting };
        self.waiting = None;
        if lose {
            return Polled::Update;
        }
        match read(&reply) {
            Ok(answer) => match answer.child("returnval") {
                None => Polled::Nothing,
                Some(set) => {
                    self.apply(set);
                    Polled::Update
                }
            },
            Err(Fault(class)) if class == "RequestCanceled" => Polled::Nothing,
            Err(fault) => panic!("a watcher that does all right got {fault:?}"),
        }
    }

    /// A version that nobody gave out is refused, and changes nothing.
    pub(super) fn ask_with_stale_version(&mut self, lab: &mut Lab) {
        if let Some(before) = self.waiting.take() {
            lab.gone(before);
        }
        for version in ["999999", "-1", "x", "0"] {
            let parameters =
                format!("<version>{version}</version><options><maxWaitSeconds>0</maxWaitSeconds></options>");
            let answer = lab.call(&self.cookie, "WaitForUpdatesEx", &self.this(), &parameters);
            assert_eq!(answer.map(|node| node.children), Err(Fault("InvalidCollectorVersion".to_owned())));
        }
    }

    /// Starts over with a new collector; the copy is worthless from here on.
    pub(super) fn rebuild(&mut self, lab: &mut Lab) {
        if let Some(before) = self.waiting.take() {
            lab.gone(before);
        }
        lab.call(&self.cookie, "DestroyPropertyCollector", &self.this(), "").expect("its own collector");
        self.copy.clear();
        // The new collector owes nothing.
        self.truncated = false;
        self.build(lab);
        self.rebuilt += 1;
    }

    fn apply(&mut self, set: &Node) {
        let version = set.child_text("version").expect("a version");
        assert_ne!(version, self.version, "a page must have a version of its own");
        if self.version.is_empty() {
            self.copy.clear();
        }
        let truncated = set.child_text("truncated") == Some("true");
        let filters: Vec<&Node> = set.children.iter().filter(|child| &*child.name == "filterSet").collect();
        assert!(!filters.is_empty() || self.truncated, "an update must tell something");
        for object in filters.iter().flat_map(|filter| &filter.children).filter(|c| &*c.name == "objectSet") {
            self.apply_object(object);
        }
        version.clone_into(&mut self.version);
        self.truncated = truncated;
    }

    fn apply_object(&mut self, object: &Node) {
        let id = object.child_text("obj").expect("an object").to_owned();
        let before = self.copy.get(&id).cloned();
        match object.child_text("kind").expect("a kind") {
            "enter" => {
                assert!(before.is_none(), "{id} entered twice");
                self.copy.insert(id.clone(), BTreeMap::new());
            }
            "modify" => assert!(before.is_some(), "{id} was modified, but never entered"),
            "leave" => {
                assert!(self.copy.remove(&id).is_some(), "{id} left, but was not there");
                assert!(object.child("changeSet").is_none(), "what has left has no properties");
                return;
            }
            other => panic!("an object cannot {other}"),
        }
        let now = self.copy.get_mut(&id).expect("it is there by now");
        for change in object.children.iter().filter(|child| &*child.name == "changeSet") {
            let name = change.child_text("name").expect("a name").to_owned();
            assert_eq!(change.child_text("op"), Some("assign"), "nobody asked for partial updates");
            match change.child("val") {
                Some(value) => now.insert(name, text_of(value)),
                None => now.remove(&name),
            };
        }
        in_order(&id, before.as_ref(), now);
    }

    /// Polls until there is nothing more; then the copy must be what is there.
    pub(super) fn catch_up(&mut self, lab: &mut Lab, page: u32) {
        for _ in 0..10_000 {
            if self.poll(lab, 0, page, false) == Polled::Nothing {
                assert!(!self.truncated, "there was to be more");
                let fresh = self.fresh(lab, page);
                assert_same(&self.copy, &fresh);
                return;
            }
        }
        panic!("the updates never end");
    }

    /// What there is, read anew and in pages.
    fn fresh(&self, lab: &mut Lab, page: u32) -> Copy {
        let this = r#"<_this type="PropertyCollector">propertyCollector</_this>"#;
        let page = if page == 0 { String::new() } else { format!("<maxObjects>{page}</maxObjects>") };
        let parameters = format!("<specSet>{}</specSet><options>{page}</options>", self.spec);
        let mut answer =
            lab.call(&self.cookie, "RetrievePropertiesEx", this, &parameters).expect("properties");
        let mut copy = Copy::new();
        loop {
            let Some(result) = answer.child("returnval") else { return copy };
            for object in result.children.iter().filter(|child| &*child.name == "objects") {
                let id = object.child_text("obj").expect("an object").to_owned();
                let properties =
                    object.children.iter().filter(|child| &*child.name == "propSet").map(|set| {
                        let name = set.child_text("name").expect("a name").to_owned();
                        (name, text_of(set.child("val").expect("a value")))
                    });
                assert!(copy.insert(id.clone(), properties.collect()).is_none(), "{id} was told twice");
            }
            let Some(token) = result.child_text("token") else { return copy };
            let parameters = format!("<token>{token}</token>");
            answer = lab.call(&self.cookie, "ContinueRetrievePropertiesEx", this, &parameters).expect("more");
        }
    }
}

/// What may only go one way goes that way: tasks do not come back to life, versions do not count down.
fn in_order(id: &str, before: Option<&BTreeMap<String, String>>, now: &BTreeMap<String, String>) {
    let Some(before) = before else { return };
    let rank = |copy: &BTreeMap<String, String>| {
        let state = copy.get("info.state")?;
        ["queued", "running", "success", "error"].iter().position(|s| state.contains(&format!("{s:?}")))
    };
    if let (Some(before), Some(now)) = (rank(before), rank(now)) {
        assert!(now.min(2) >= before.min(2), "{id} went from state {before} to {now}");
    }
    let number = |copy: &BTreeMap<String, String>| {
        let text = copy.get("config.changeVersion")?.split("text: \"").nth(1)?;
        text.split('"').next()?.parse::<u64>().ok()
    };
    if let (Some(before), Some(now)) = (number(before), number(now)) {
        assert!(now >= before, "{id} went from version {before} to {now}");
    }
}

/// A value as text, without what changes by the passing of time alone.
fn text_of(value: &Node) -> String {
    fn strip(node: &mut Node) {
        node.children.retain(|child| !["uptimeSeconds", "uptime"].contains(&&*child.name));
        node.children.iter_mut().for_each(strip);
    }
    let mut value = value.clone();
    strip(&mut value);
    format!("{value:?}")
}

fn assert_same(copy: &Copy, fresh: &Copy) {
    for (id, properties) in fresh {
        let kept = copy.get(id).unwrap_or_else(|| panic!("{id} was never told of"));
        for (name, value) in properties {
            assert_eq!(kept.get(name), Some(value), "{name} of {id} is not as it was told");
        }
        let extra = kept.keys().find(|name| !properties.contains_key(*name));
        assert_eq!(extra, None, "{id} no longer has that");
    }
    let stale: Vec<&String> = copy.keys().filter(|id| !fresh.contains_key(*id)).collect();
    assert!(stale.is_empty(), "nobody told that {stale:?} left");
}
