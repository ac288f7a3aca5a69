//! Calls and answers as SOAP.

mod schema;

use rookery_sim::{Request, RequestId};
use rookery_vim::envelope::{self, service_instance};
use rookery_vim::methods::Method;
use rookery_vim::{Limits, MoRef, Node, Wire as _, Writer, node};

use crate::io::{self, Reply};
use crate::refusal::Refusal;
use crate::world::World;
use crate::{methods, rules};

const OPEN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<soapenv:Envelope \
    xmlns:soapenc=\"http://schemas.xmlsoap.org/soap/encoding/\" xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
    xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>";
const CLOSE: &str = "</soapenv:Body></soapenv:Envelope>";

const LIMITS: Limits = Limits { bytes: 8 << 20, elements: 200_000, depth: 64 };

/// The caller and the object of a call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) request: RequestId,
    /// None before the login.
    pub(crate) session: Option<u32>,
    pub(crate) user: String,
    /// What the call was made on.
    pub(crate) this: MoRef,
    pub(crate) method: String,
}

/// What became of a call that was not refused.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An answer, with its envelope.
    Answer(String),
    /// An answer and the cookie of a new session.
    Welcome(String, String),
    /// The answer comes later.
    Parked,
}

pub(crate) type Handled = Result<Outcome, Refusal>;

/// Answers a request, unless its answer comes later.
pub(crate) fn serve(world: &mut World, id: RequestId, request: &Request) -> Option<Reply> {
    let content = match node::parse(&request.body, &LIMITS) {
        Ok(root) => envelope::body(root),
        Err(error) => return Some(refuse(&Refusal::invalid_request(error.to_string()))),
    };
    let Some(content) = content else {
        return Some(refuse(&Refusal::invalid_request("the request is not a SOAP envelope")));
    };
    let this = content.child("_this").and_then(|this| MoRef::from_node(this.clone()).ok());
    let session = world.sessions.of_cookie(request.header("cookie").unwrap_or_default(), world.now);
    world.caller = session;
    let mut call = Call {
        request: id,
        session,
        user: session.and_then(|key| world.sessions.user(key)).unwrap_or_default(),
        this: this.unwrap_or_else(service_instance),
        method: content.name.to_string(),
    };
    world.traffic.named(id, &call.method);
    if let Some(reply) = rules::apply(world, &call, &content) {
        return Some(reply);
    }
    // A rule may have ended the session.
    call.session = session.filter(|session| world.sessions.get(*session).is_some());
    world.caller = call.session;
    let handled = methods::handle(world, &call, content, request);
    world.rules.planned_failure = None;
    reply(handled)
}

/// The answer to a call, unless it comes later.
pub(crate) fn reply(handled: Handled) -> Option<Reply> {
    match handled {
        Ok(Outcome::Answer(text)) => Some(io::xml(200, text)),
        Ok(Outcome::Welcome(text, cookie)) => {
            let mut reply = io::xml(200, text);
            reply.headers.push(("set-cookie", cookie));
            Some(reply)
        }
        Ok(Outcome::Parked) => None,
        Err(refusal) => Some(refuse(&refusal)),
    }
}

/// Reads a call as strictly as a vCenter does: members that the schema has, in its order, and required ones there.
pub(crate) fn read<M: Method>(content: Node) -> Result<M, Refusal> {
    let refused = |why: String| Refusal::invalid_request(format!("{why}\n\nwhile parsing call {}", M::NAME));
    schema::check(&content, M::NAME).map_err(|wrong| refused(wrong.to_string()))?;
    M::read(content).map_err(|error| refused(error.to_string()))
}

/// An answer whose content is written by hand.
pub(crate) fn written(method: &str, write: impl FnOnce(&mut Writer)) -> Outcome {
    Outcome::Answer(envelope_of(method, write))
}

/// The answer to a call that was parked.
pub(crate) fn late(method: &str, write: impl FnOnce(&mut Writer)) -> Reply {
    io::xml(200, envelope_of(method, write))
}

fn envelope_of(method: &str, write: impl FnOnce(&mut Writer)) -> String {
    let mut out = Writer::new();
    out.raw(OPEN);
    let name = format!("{method}Response");
    out.open_in(&name, node::VIM);
    write(&mut out);
    out.close(&name);
    out.raw(CLOSE);
    out.into_string()
}

/// The reply that carries a fault.
pub(crate) fn refuse(refusal: &Refusal) -> Reply {
    let mut out = Writer::new();
    out.raw(OPEN);
    out.open("soapenv:Fault", None);
    out.leaf("faultcode", None, "ServerFaultCode");
    out.leaf("faultstring", None, &refusal.message);
    out.open("detail", None);
    // The name of the element is the class with a suffix, in the vocabulary's own namespace.
    let mut detail = Writer::new();
    let name = format!("{}Fault", refusal.class);
    refusal.write(&mut detail, &name);
    let detail = detail.into_string();
    out.raw(&detail.replacen(&format!("<{name}"), &format!("<{name} xmlns=\"{}\"", node::VIM), 1));
    out.close("detail");
    out.close("soapenv:Fault");
    out.raw(CLOSE);
    io::xml(500, out.into_string())
}
