//! Results as short text, so that a test shows all of what was read.

use std::fmt::Write;

use rookery_vim::Node;
use rookery_vim::objects::{RetrieveResult, UpdateSet};

/// A page of a retrieve: a line for each object and property.
pub(crate) fn page(result: &RetrieveResult) -> String {
    let mut text = String::new();
    for object in &result.objects {
        writeln!(text, "{}", object.obj).expect("strings take all");
        for property in &object.prop_set {
            writeln!(text, "  {} = {}", property.name, value(&property.val)).expect("strings take all");
        }
        for missing in &object.missing_set {
            let fault = missing.fault.clone().into_fault();
            writeln!(text, "  {} is missing: {fault}", missing.path).expect("strings take all");
        }
    }
    let token = result.token.as_ref().map(|token| format!("token {token}"));
    text + token.as_deref().unwrap_or_default()
}

/// A set of updates: a line for each object and change.
pub(crate) fn updates(set: &UpdateSet) -> String {
    let mut text = format!("version {}\n", set.version);
    for update in set.filter_set.iter().flat_map(|filter| &filter.object_set) {
        writeln!(text, "{} {}", update.kind.as_str(), update.obj).expect("strings take all");
        for change in &update.change_set {
            let val = change.val.as_ref().map_or("nothing".to_owned(), value);
            writeln!(text, "  {} {} {val}", change.op.as_str(), change.name).expect("strings take all");
        }
    }
    text + if set.truncated == Some(true) { "and more" } else { "" }
}

/// A value: its type, and its text or members.
pub(crate) fn value(node: &Node) -> String {
    let class = node.xsi_type.as_deref().unwrap_or("untyped");
    let members: Vec<_> = node.children.iter().map(|c| format!("{} {}", c.name, value(c))).collect();
    match &node.ref_type {
        Some(kind) => format!("{class} {kind}:{}", node.text),
        None if node.children.is_empty() => format!("{class} {:?}", node.text),
        None => format!("{class} {{ {} }}", members.join(", ")),
    }
}
