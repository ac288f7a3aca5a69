//! Connections break anywhere.

use rookery_vim::{Limits, ParseError, node};

use crate::documents;

/// A document is whole only from the last character of its root element on.
#[test]
fn a_document_cut_at_any_byte_is_an_error_and_never_a_smaller_tree() {
    let limits = Limits::default();
    let mut cuts = 0;
    for (name, bytes) in documents::all() {
        let whole = node::parse(&bytes, &limits).expect(&name);
        let end = root_end(&bytes);
        for cut in 0..bytes.len() {
            match node::parse(&bytes[..cut], &limits) {
                Ok(tree) => assert!(cut >= end && tree == whole, "{name} cut at {cut}"),
                Err(error) => assert!(cut < end || error_in_trailer(&error), "{name} cut at {cut}: {error}"),
            }
            cuts += 1;
        }
    }
    println!("{cuts} cuts");
    assert!(cuts > 70_000);
}

fn root_end(bytes: &[u8]) -> usize {
    let text = std::str::from_utf8(bytes).expect("captures are text");
    let close = text.rfind("</").expect("a root has an end");
    close + text[close..].find('>').expect("an end tag ends") + 1
}

/// Comments may follow the root.
fn error_in_trailer(error: &ParseError) -> bool {
    matches!(error, ParseError::Malformed { .. })
}
