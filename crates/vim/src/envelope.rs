//! One call and its answer as the bytes that travel.

use crate::fault::{Fault, FaultKind};
use crate::methods::Method;
use crate::node::{self, Limits, Node, ParseError, Space, VIM};
use crate::reader::Reader;
use crate::wire::{DecodeError, Member, Wire, fill_members};
use crate::{Element, MoRef, Unwritable, Writer};

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
const ENVELOPE_OPEN: &str = "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
     xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">";
pub(crate) const ANY_OPEN: &str = "<any xmlns=\"urn:vim25\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
     xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">";

/// Why an answer is not a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// The server understood and refused.
    #[error(transparent)]
    Fault(Fault),
    /// What came is not XML, or is beyond the limits.
    #[error("the answer to {method} cannot be read")]
    Unreadable { method: &'static str, source: ParseError },
    /// It is XML, but no answer to this call.
    #[error("the answer to {method} is not a SOAP answer to it (root element {root})")]
    NotAnAnswer { method: &'static str, root: Box<str> },
    /// It answers this call with something that is not in the vocabulary.
    #[error("the answer to {method} does not have the expected shape")]
    Unexpected { method: &'static str, source: DecodeError },
}

/// The bytes of a call. `operation` appears in vCenter's own log beside whatever the call causes there.
pub fn call<M: Method>(method: &M, operation: Option<&str>) -> Result<String, Unwritable> {
    let mut out = Writer::new();
    out.raw(DECLARATION);
    out.raw(ENVELOPE_OPEN);
    if let Some(operation) = operation {
        out.open("soapenv:Header", None);
        out.leaf("operationID", None, operation);
        out.close("soapenv:Header");
    }
    out.open("soapenv:Body", None);
    out.open_in(M::NAME, VIM);
    method.this().write(&mut out, "_this", false);
    method.write_parameters(&mut out);
    out.close(M::NAME);
    out.close("soapenv:Body");
    out.close("soapenv:Envelope");
    out.finish()
}

/// Reads the answer to a call: its result, or the fault that the server answered with.
pub fn answer<M: Method>(bytes: &[u8], limits: &Limits) -> Result<M::Output, AnswerError> {
    let unreadable = |source| AnswerError::Unreadable { method: M::NAME, source };
    let mut reader = Reader::new(bytes, limits).map_err(unreadable)?;
    let answer = read_answer::<M>(&mut reader);
    // Whatever was found counts only if the document is whole.
    reader.finish().map_err(unreadable)?;
    if reader.not_authenticated() {
        // Rare enough to read it once more, as a tree.
        let content = body(node::parse(bytes, limits).map_err(unreadable)?);
        let response = content.filter(|c| is_response::<M>(c.space, &c.name));
        if let Some(fault) = response.and_then(|response| lost_session(&response, 4)) {
            return Err(AnswerError::Fault(fault));
        }
    }
    answer
}

fn read_answer<M: Method>(reader: &mut Reader<'_>) -> Result<M::Output, AnswerError> {
    let method = M::NAME;
    let not_an_answer = |root: &str| AnswerError::NotAnAnswer { method, root: root.into() };
    let Some(mut root) = Element::root(reader) else { return Err(not_an_answer("")) };
    let is = |element: &Element<'_, '_>, name| element.space() == Space::Soap && element.name() == name;
    let name: Box<str> = root.name().into();
    let mut body = if is(&root, "Envelope") { root.child() } else { None };
    while body.as_ref().is_some_and(|body| !is(body, "Body")) {
        body = root.child();
    }
    match body.as_mut().and_then(Element::child) {
        Some(mut fault) if is(&fault, "Fault") => {
            Err(AnswerError::Fault(Fault::from_soap(fault.take_node())))
        }
        Some(response) if is_response::<M>(response.space(), response.name()) => {
            returned::<M::Output>(response).map_err(|source| AnswerError::Unexpected { method, source })
        }
        Some(_) | None => Err(not_an_answer(&name)),
    }
}

fn is_response<M: Method>(space: Space, name: &str) -> bool {
    space == Space::Vim && name.strip_suffix("Response") == Some(M::NAME)
}

fn returned<T: Member>(mut response: Element<'_, '_>) -> Result<T, DecodeError> {
    fill_members!(response, returnval: T = "returnval");
    T::finish(returnval, &response, "returnval")
}

/// A property collector without a session does not fault: it answers, and calls every property unreadable for want
/// of a login. That is no result. Such a mark stands at `returnval/objects` or `returnval/filterSet/objectSet`.
fn lost_session(node: &Node, depth: usize) -> Option<Fault> {
    node.children.iter().find_map(|child| match &*child.name {
        "missingSet" => {
            let detail = child.child("fault")?.child("fault")?;
            let fault = Fault::new(Some(detail.clone()), String::new());
            (fault.kind() == FaultKind::NotAuthenticated).then_some(fault)
        }
        "returnval" | "objects" | "filterSet" | "objectSet" if depth > 0 => lost_session(child, depth - 1),
        _ => None,
    })
}

/// Reads the first element inside the body of an envelope, on either side of the wire.
pub fn body(mut root: Node) -> Option<Node> {
    if root.space != Space::Soap || &*root.name != "Envelope" {
        return None;
    }
    let body = root.children.iter().position(|c| c.space == Space::Soap && &*c.name == "Body")?;
    let content = root.children.swap_remove(body).children.into_iter().next()?;
    Some(content)
}

/// The bytes of a successful answer, on the server's side.
pub fn result<M: Method>(output: &M::Output) -> String {
    let name = format!("{}Response", M::NAME);
    let mut out = Writer::new();
    out.raw(DECLARATION);
    out.raw(ENVELOPE_OPEN);
    out.open("soapenv:Body", None);
    out.open_in(&name, VIM);
    output.write_member(&mut out, "returnval");
    out.close(&name);
    out.close("soapenv:Body");
    out.close("soapenv:Envelope");
    out.into_string()
}

/// The versions file of a server: which API versions it speaks, newest first.
pub fn versions(bytes: &[u8]) -> Result<Vec<String>, ParseError> {
    let limits = Limits { bytes: 1 << 20, elements: 10_000, depth: 16 };
    let mut root = node::parse(bytes, &limits)?;
    let mut found = Vec::new();
    for mut namespace in root.take_all("namespace") {
        if namespace.child_text("name").map(str::trim) != Some(VIM) {
            continue;
        }
        found.extend(namespace.take("version").map(|v| v.text));
        for mut prior in namespace.take_all("priorVersions") {
            found.extend(prior.take_all("version").into_iter().map(|v| v.text));
        }
    }
    Ok(found.into_iter().map(|v| v.trim().to_owned()).filter(|v| !v.is_empty()).collect())
}

/// Well-known, and the only reference that a client may make up.
pub fn service_instance() -> MoRef {
    MoRef::new("ServiceInstance", "ServiceInstance")
}
