//! A client that writes its calls by hand and holds the clock.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::{Limits, Node, node};
use rookery_vim_sim::{
    Action, Body, Control, Counts, Effect, Input, Model, Reply, Request, RequestId, Rule, Settings, World,
};
use serde_json::Value;

pub(super) struct Sim {
    pub(super) world: World,
    pub(super) now: Timestamp,
    pub(super) effects: Vec<Effect>,
    pub(super) wake_at: Option<Timestamp>,
    pub(super) cookie: String,
    last: u64,
    replies: BTreeMap<u64, Reply>,
}

/// A class and an identifier.
pub(super) type Object = (String, String);

pub(super) fn start() -> Timestamp {
    "2031-02-03T04:05:06Z".parse().unwrap()
}

/// One cluster of two hosts, and in it two VMs that are off.
pub(super) fn model() -> Model {
    Model::uniform(Counts { cluster_hosts: 2, standalone_hosts: 0, on: false, ..Counts::default() })
}

pub(super) fn slow() -> Settings {
    let mut settings = Settings::default();
    settings.durations.power = "8s".parse().unwrap();
    settings.durations.clone = "8s".parse().unwrap();
    settings
}

impl Sim {
    pub(super) fn new(settings: Settings) -> Self {
        let world = model().build(settings, start()).unwrap();
        let mut sim = Self {
            world,
            now: start(),
            effects: Vec::new(),
            wake_at: None,
            cookie: String::new(),
            last: 0,
            replies: BTreeMap::new(),
        };
        sim.log_in().unwrap();
        sim
    }

    pub(super) fn log_in(&mut self) -> Result<Node, String> {
        self.cookie.clear();
        let manager = ("SessionManager".to_owned(), "SessionManager".to_owned());
        let id = self.ask("Login", &manager, "<userName>u</userName><password>p</password>");
        let reply = self.reply(id).expect("an answer");
        if let Some((_, cookie)) = reply.headers.iter().find(|(name, _)| *name == "set-cookie") {
            cookie.split(';').next().unwrap().clone_into(&mut self.cookie);
        }
        read(&reply)
    }

    pub(super) fn step(&mut self, input: Input) {
        let output = self.world.step(self.now, input);
        for (id, reply) in output.replies {
            assert!(self.replies.insert(id.0, reply).is_none(), "an answer came twice");
        }
        self.effects.extend(output.effects);
        self.wake_at = output.wake_at;
    }

    /// Lets time pass without anybody looking.
    pub(super) fn pass(&mut self, seconds: i64) {
        self.now = self.now.saturating_add(SignedDuration::from_secs(seconds)).unwrap();
        self.step(Input::Timer);
    }

    pub(super) fn send(&mut self, request: Request) -> u64 {
        self.last += 1;
        self.step(Input::Request(RequestId(self.last), request));
        self.last
    }

    pub(super) fn ask(&mut self, method: &str, (class, id): &Object, parameters: &str) -> u64 {
        let body = format!(
            "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>\
             <{method} xmlns=\"urn:vim25\"><_this type=\"{class}\">{id}</_this>{parameters}</{method}>\
             </soapenv:Body></soapenv:Envelope>"
        );
        let request = Request {
            method: "POST".to_owned(),
            path: "/sdk".to_owned(),
            headers: vec![("cookie".to_owned(), self.cookie.clone())],
            body: body.into(),
            peer: Some(([127, 0, 0, 1], 5000).into()),
            ..Request::default()
        };
        self.send(request)
    }

    /// The answer to a request, if it has come.
    pub(super) fn reply(&mut self, id: u64) -> Option<Reply> {
        self.replies.remove(&id)
    }

    /// What a call that is answered at once returns, or why it is refused.
    pub(super) fn call(&mut self, method: &str, on: &Object, parameters: &str) -> Result<Node, String> {
        let id = self.ask(method, on, parameters);
        read(&self.reply(id).expect("an answer at once"))
    }

    pub(super) fn find(&mut self, path: &str) -> Object {
        self.look_for(path).unwrap_or_else(|| panic!("there is no {path}"))
    }

    pub(super) fn look_for(&mut self, path: &str) -> Option<Object> {
        let index = ("SearchIndex".to_owned(), "SearchIndex".to_owned());
        let path = format!("<inventoryPath>{path}</inventoryPath>");
        let found = self.call("FindByInventoryPath", &index, &path).unwrap();
        found.child("returnval").map(object)
    }

    pub(super) fn vm(&mut self, nth: usize) -> Object {
        self.find(&format!("DC0/vm/DC0_C0_RP0_VM{nth}"))
    }

    /// A property as text; empty if it is not set.
    pub(super) fn get(&mut self, of: &Object, path: &str) -> String {
        let value = self.value(of, path);
        value.map(|value| value.text).unwrap_or_default()
    }

    pub(super) fn value(&mut self, of: &Object, path: &str) -> Option<Node> {
        let answer = self.call("Fetch", of, &format!("<prop>{path}</prop>")).unwrap();
        answer.child("returnval").cloned()
    }

    pub(super) fn order(&mut self, method: &str, on: &Object, parameters: &str) -> Object {
        let answer = self.call(method, on, parameters).unwrap_or_else(|why| panic!("{method}: {why}"));
        object(answer.child("returnval").unwrap())
    }

    pub(super) fn power_on(&mut self, vm: &Object) -> Object {
        self.order("PowerOnVM_Task", vm, "")
    }

    /// A full clone of a VM.
    pub(super) fn clone(&mut self, source: &Object, name: &str, power_on: bool) -> Object {
        let folder = self.find("DC0/vm").1;
        let spec = format!(
            "<folder type=\"Folder\">{folder}</folder><name>{name}</name><spec><location></location>\
             <template>false</template><powerOn>{power_on}</powerOn></spec>"
        );
        self.order("CloneVM_Task", source, &spec)
    }

    /// The state of a task, and the class of its error.
    pub(super) fn task(&mut self, task: &Object) -> (String, Option<String>) {
        let state = self.get(task, "info.state");
        let error = self.value(task, "info.error");
        let class = error.and_then(|error| error.child("fault")?.xsi_type.as_deref().map(str::to_owned));
        (state, class)
    }

    pub(super) fn state(&mut self, task: &Object) -> String {
        self.task(task).0
    }

    /// A collector with one filter on a property of an object; what it is called.
    pub(super) fn watch(&mut self, of: &Object, path: &str) -> Object {
        let collector = ("PropertyCollector".to_owned(), "propertyCollector".to_owned());
        let made = self.call("CreatePropertyCollector", &collector, "").unwrap();
        let made = object(made.child("returnval").unwrap());
        let (class, id) = of;
        let spec = format!(
            "<spec><propSet><type>{class}</type><pathSet>{path}</pathSet></propSet>\
             <objectSet><obj type=\"{class}\">{id}</obj></objectSet></spec><partialUpdates>false</partialUpdates>"
        );
        self.call("CreateFilter", &made, &spec).unwrap();
        made
    }

    pub(super) fn wait(&mut self, collector: &Object, version: &str, seconds: u32) -> u64 {
        let parameters = format!(
            "<version>{version}</version><options><maxWaitSeconds>{seconds}</maxWaitSeconds></options>"
        );
        self.ask("WaitForUpdatesEx", collector, &parameters)
    }

    pub(super) fn control(&mut self, control: Control) -> Result<Value, String> {
        self.last += 1;
        self.step(Input::Control(RequestId(self.last), control));
        let reply = self.reply(self.last).expect("an answer at once");
        let value: Value = serde_json::from_str(&text(&reply)).unwrap();
        if reply.status == 200 { Ok(value) } else { Err(value["error"].as_str().unwrap().to_owned()) }
    }

    pub(super) fn rule(&mut self, rule: Rule) -> u64 {
        self.control(Control::AddRule(rule)).unwrap()["id"].as_u64().unwrap()
    }

    pub(super) fn on(&mut self, method: &str, action: Action) -> u64 {
        self.rule(Rule { method: method.to_owned(), ..Rule::new(action) })
    }

    /// What became of the requests of a method.
    pub(super) fn count(&mut self, method: &str, outcome: &str) -> u64 {
        self.control(Control::Inspect).unwrap()["requests"][method][outcome].as_u64().unwrap_or(0)
    }
}

pub(super) fn text(reply: &Reply) -> String {
    match &reply.body {
        Body::Text(text) | Body::Slow(text, _) => text.clone(),
        Body::Bytes(_) | Body::Head(_) | Body::Blob(_) | Body::Cut => String::new(),
    }
}

/// What an answer returns; else the class of its fault, its status, or `cut`.
pub(super) fn read(reply: &Reply) -> Result<Node, String> {
    if reply.body == Body::Cut {
        return Err("cut".to_owned());
    }
    let root =
        node::parse(text(reply).as_bytes(), &Limits::default()).map_err(|_| reply.status.to_string())?;
    let content = root.child("Body").and_then(|body| body.children.first()).expect("a body").clone();
    if &*content.name != "Fault" {
        return Ok(content);
    }
    let detail = content.child("detail").and_then(|detail| detail.children.first()).expect("a detail");
    Err(detail.xsi_type.as_deref().expect("a class").to_owned())
}

fn object(node: &Node) -> Object {
    (node.ref_type.as_deref().expect("a reference").to_owned(), node.text.clone())
}
