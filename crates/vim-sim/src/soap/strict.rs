//! Reading calls as strictly as a vCenter does: members in schema order, required ones there.
//!
//! The tables of the vocabulary read members in any order and write them in the schema's. So a call is out of order if
//! what it becomes, written again, has its members in another order.

use rookery_vim::methods::Method;
use rookery_vim::{Limits, Node, Wire as _, Writer, node};

use crate::refusal::Refusal;

pub(super) fn read<M: Method>(content: Node) -> Result<M, Refusal> {
    let given = content.clone();
    let method = M::read(content)
        .map_err(|error| Refusal::invalid_request(format!("while parsing call {}: {error}", M::NAME)))?;
    let mut out = Writer::new();
    out.raw(
        "<m xmlns=\"urn:vim25\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">",
    );
    method.this().write(&mut out, "_this", false);
    method.write_parameters(&mut out);
    out.raw("</m>");
    let ordered = node::parse(out.into_string().as_bytes(), &Limits::default())
        .map_err(|error| Refusal::invalid_request(error.to_string()))?;
    match misplaced(&given, &ordered) {
        Some(member) => Err(Refusal::invalid_request(format!(
            "while parsing call {}: element {member} is out of order",
            M::NAME
        ))),
        None => Ok(method),
    }
}

/// The first member that stands where the schema does not have it. Members that the tables do not know are passed over.
fn misplaced(given: &Node, ordered: &Node) -> Option<String> {
    let mut expected = ordered.children.iter();
    for child in &given.children {
        if !ordered.children.iter().any(|known| known.name == child.name) {
            continue;
        }
        // An empty element for something unset is left out when it is written again.
        match expected.next() {
            Some(next) if next.name == child.name => {
                if let Some(inner) = misplaced(child, next) {
                    return Some(inner);
                }
            }
            Some(_) | None => return Some(child.name.to_string()),
        }
    }
    None
}
