//! The same trees, built on quick-xml. Our reader and our writer could share a mistake; this one has others.

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;
use rookery_vim::Node;
use rookery_vim::node::{SOAP, Space, VIM, XSI};

/// The tree of a document; none if it is not well-formed. Limits are not looked at.
pub(crate) fn tree(document: &[u8]) -> Option<Node> {
    let text = std::str::from_utf8(document).ok()?;
    let mut reader = NsReader::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    reader.config_mut().expand_empty_elements = true;
    let mut open: Vec<(Node, bool)> = Vec::new();
    let mut root = None;
    loop {
        let text = match reader.read_event().ok()? {
            Event::Start(_) if open.is_empty() && root.is_some() => return None,
            Event::Start(start) => {
                open.push(element(&reader, &start)?);
                continue;
            }
            Event::End(_) => {
                close(&mut open, &mut root)?;
                continue;
            }
            Event::Text(text) => text.xml10_content().into_owned(),
            Event::CData(data) => data.xml10_content().into_owned(),
            Event::GeneralRef(entity) => resolve(&entity)?,
            Event::DocType(_) => return None,
            Event::Eof => return root.filter(|_| open.is_empty()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => continue,
        };
        match open.last_mut() {
            Some((node, _)) if node.children.is_empty() => node.text.push_str(&text),
            None if !text.trim().is_empty() => return None,
            Some(_) | None => {}
        }
    }
}

fn close(open: &mut Vec<(Node, bool)>, root: &mut Option<Node>) -> Option<()> {
    let (mut node, nil) = open.pop()?;
    if !node.children.is_empty() {
        node.text.clear();
    }
    match open.last_mut() {
        Some(_) if nil => {}
        Some((parent, _)) => parent.children.push(node),
        None => *root = Some(node),
    }
    Some(())
}

/// The element, and whether it is nil.
fn element(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Option<(Node, bool)> {
    let (space, local) = reader.resolver().resolve_element(start.name());
    let mut node = Node::new(local.as_ref());
    node.space = match space {
        ResolveResult::Unbound => Space::Vim,
        ResolveResult::Bound(uri) if uri.as_ref() == VIM => Space::Vim,
        ResolveResult::Bound(uri) if uri.as_ref() == SOAP => Space::Soap,
        ResolveResult::Bound(_) | ResolveResult::Unknown(_) => Space::Foreign,
    };
    let mut nil = false;
    for attribute in start.attributes() {
        let attribute = attribute.ok()?;
        let local = attribute.key.local_name();
        if !matches!(local.as_ref(), "type" | "nil") {
            continue;
        }
        let value = attribute.normalized_value(XmlVersion::Explicit1_0).ok()?;
        match (reader.resolver().resolve_attribute(attribute.key).0, local.as_ref()) {
            (ResolveResult::Unbound, "type") => node.ref_type = Some(value.into()),
            (ResolveResult::Bound(uri), "type") if uri.as_ref() == XSI => {
                node.xsi_type = value.trim().rsplit(':').next().map(Into::into);
            }
            (ResolveResult::Bound(uri), _) if uri.as_ref() == XSI => {
                nil = matches!(value.trim(), "true" | "1");
            }
            (ResolveResult::Unbound | ResolveResult::Bound(_) | ResolveResult::Unknown(_), _) => {}
        }
    }
    Some((node, nil))
}

fn resolve(entity: &BytesRef<'_>) -> Option<String> {
    match entity.resolve_char_ref().ok()? {
        Some(character) => Some(character.to_string()),
        None => resolve_predefined_entity(&entity.xml10_content()).map(str::to_owned),
    }
}
