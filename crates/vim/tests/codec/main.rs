//! The codec over documents that servers and clients really wrote, over made-up values, and over no documents at all.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod bounds;
mod cuts;
mod devices;
mod documents;
mod faults;
mod files;
mod guest_calls;
mod guests;
mod machines;
mod reading;
mod round_trip;
mod shown;
mod sources;
mod traps;
mod writing;

use rookery_vim::envelope::{self, AnswerError};
use rookery_vim::methods::Method;
use rookery_vim::{Limits, Node, node};

/// A document by its directory and name without the ending.
fn document(name: &str) -> Vec<u8> {
    documents::all().remove(&format!("{name}.xml")).unwrap_or_else(|| panic!("there is no document {name}"))
}

/// The result that a document holds.
fn result<M: Method>(name: &str) -> M::Output {
    answer::<M>(&document(name)).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn answer<M: Method>(bytes: &[u8]) -> Result<M::Output, AnswerError> {
    envelope::answer::<M>(bytes, &Limits::default())
}

/// The element inside the body of an envelope.
fn content(bytes: &[u8]) -> Node {
    let root = node::parse(bytes, &Limits::default()).expect("it is well-formed");
    envelope::body(root).expect("it is an envelope")
}

/// An answer to a method, from the elements inside.
fn answered<M: Method>(inside: &str) -> Result<M::Output, AnswerError> {
    let name = M::NAME;
    let text = format!(
        "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><e:Body>\
         <{name}Response xmlns=\"urn:vim25\">{inside}</{name}Response></e:Body></e:Envelope>"
    );
    answer::<M>(text.as_bytes())
}
