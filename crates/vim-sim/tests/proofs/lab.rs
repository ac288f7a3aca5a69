//! A world on a bench: requests go in as bytes, answers come out, and after each step the world is checked.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use rookery_vim::{Limits, Node, envelope, node};
use rookery_vim_sim::{
    BlobRef, Body, Counts, Input, Model, Output, Reply, Request, RequestId, Settings, Upload, World,
};

pub(super) struct Lab {
    pub(super) world: World,
    now: Timestamp,
    wake_at: Option<Timestamp>,
    last: u64,
    answers: BTreeMap<u64, Reply>,
    /// Everything that ever came out, byte for byte.
    pub(super) transcript: String,
}

/// A fault, as its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(pub(super) String);

impl Lab {
    pub(super) fn new(settings: Settings, counts: Counts) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let world = Model::uniform(counts).build(settings, now).expect("the model makes a world");
        world.check().expect("a new world is right");
        let answers = BTreeMap::new();
        Self { world, now, wake_at: None, last: 0, answers, transcript: String::new() }
    }

    /// One step, after which everything must be right.
    pub(super) fn step(&mut self, input: Input) {
        let output: Output = self.world.step(self.now, input);
        writeln!(self.transcript, "{output:?}").expect("a string takes everything");
        self.wake_at = output.wake_at;
        for (RequestId(id), reply) in output.replies {
            assert!(self.answers.insert(id, reply).is_none(), "request {id} was answered twice");
        }
        if let Err(wrong) = self.world.check() {
            panic!("the world no longer agrees with itself: {wrong}");
        }
    }

    pub(super) fn request(&mut self, request: Request) -> u64 {
        self.last += 1;
        self.step(Input::Request(RequestId(self.last), request));
        self.last
    }

    fn send(&mut self, request: Request, upload: Upload) -> u64 {
        self.last += 1;
        self.step(Input::Upload(RequestId(self.last), request, upload));
        self.last
    }

    /// Sends a call; its answer may come later.
    pub(super) fn post(&mut self, cookie: &str, body: &[u8]) -> u64 {
        let headers = vec![("cookie".to_owned(), cookie.to_owned())];
        let (method, path) = ("POST".to_owned(), "/sdk".to_owned());
        self.request(Request { method, path, headers, body: body.to_vec().into(), ..Request::default() })
    }

    pub(super) fn upload(&mut self, cookie: &str, path: &str, datastore: &str, stored: BlobRef) -> u16 {
        let id =
            self.send(put(cookie, path, datastore, stored.size), Upload { content: stored, coming: false });
        self.take(id).expect("uploads are answered at once").status
    }

    /// Begins to send a file of that size; it is answered at once only if it is refused.
    pub(super) fn begin_upload(
        &mut self,
        cookie: &str,
        path: &str,
        datastore: &str,
        (blob, size): (u64, u64),
    ) -> u64 {
        let upload = Upload { content: BlobRef { blob, size: 0 }, coming: true };
        self.send(put(cookie, path, datastore, size), upload)
    }

    /// Takes note of how much of an upload has arrived.
    pub(super) fn sent(&mut self, id: u64, size: u64, whole: bool) {
        self.step(Input::Content { request: RequestId(id), size, whole });
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Reply> {
        self.answers.remove(&id)
    }

    /// Forgets that anybody waits for that answer.
    pub(super) fn gone(&mut self, id: u64) {
        self.step(Input::Gone(RequestId(id)));
        self.answers.remove(&id);
    }

    /// Calls a method on an object; its answer must come at once.
    pub(super) fn call(
        &mut self,
        cookie: &str,
        method: &str,
        this: &str,
        parameters: &str,
    ) -> Result<Node, Fault> {
        let id = self.post(cookie, envelope(method, this, parameters).as_bytes());
        let reply = self.take(id).unwrap_or_else(|| panic!("{method} was not answered"));
        read(&reply)
    }

    /// Logs in; the cookie.
    pub(super) fn log_in(&mut self, user: &str, password: &str) -> Result<String, Fault> {
        let parameters = format!("<userName>{user}</userName><password>{password}</password>");
        let this = r#"<_this type="SessionManager">SessionManager</_this>"#;
        let id = self.post("", envelope("Login", this, &parameters).as_bytes());
        let reply = self.take(id).expect("logins are answered at once");
        read(&reply)?;
        let cookie = reply.headers.iter().find(|(name, _)| *name == "set-cookie").expect("a cookie");
        Ok(cookie.1.split(';').next().unwrap_or_default().to_owned())
    }

    /// Lets time pass; what was planned happens when it is due.
    pub(super) fn advance(&mut self, by: SignedDuration) {
        let until = self.now.checked_add(by).expect("a time");
        while let Some(at) = self.wake_at.filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.step(Input::Timer);
        }
        self.now = until;
        self.step(Input::Timer);
    }
}

fn put(cookie: &str, path: &str, datastore: &str, size: u64) -> Request {
    let headers =
        vec![("cookie".to_owned(), cookie.to_owned()), ("content-length".to_owned(), size.to_string())];
    let (method, path) = ("PUT".to_owned(), format!("/folder/{path}"));
    let query = format!("dcPath=DC0&dsName={datastore}");
    Request { method, path, query, headers, ..Request::default() }
}

/// An envelope around a call.
pub(super) fn envelope(method: &str, this: &str, parameters: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><soapenv:Envelope \
         xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\"><soapenv:Body>\
         <{method} xmlns=\"urn:vim25\">{this}{parameters}</{method}></soapenv:Body></soapenv:Envelope>"
    )
}

/// The content of an answer, or the class of its fault.
pub(super) fn read(reply: &Reply) -> Result<Node, Fault> {
    let Body::Text(text) = &reply.body else { panic!("{reply:?} is no SOAP") };
    let root = node::parse(text.as_bytes(), &Limits::default()).unwrap_or_else(|e| panic!("{e} in {text}"));
    let content = envelope::body(root).expect("an envelope");
    if &*content.name != "Fault" {
        assert_eq!(reply.status, 200, "{text}");
        return Ok(content);
    }
    assert_eq!(reply.status, 500, "{text}");
    let detail = content.child("detail").and_then(|detail| detail.children.first()).expect("a detail");
    Err(Fault(detail.xsi_type.as_deref().expect("a fault states its class").to_owned()))
}

/// `<name type="Class">id</name>`.
pub(super) fn reference(name: &str, (class, id): (&str, &str)) -> String {
    format!("<{name} type=\"{class}\">{id}</{name}>")
}
