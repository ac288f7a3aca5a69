//! Paths that pick one of a list by its key: `config.hardware.device[4000].backing`.

use rookery_vim::{Limits, Node, Wire as _, Writer, node};

use super::Found;

/// A path with a key in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Keyed<'p> {
    /// Where the list is.
    pub(super) list: &'p str,
    key: &'p str,
    /// Where to go on in what was picked.
    rest: Vec<&'p str>,
}

impl<'p> Keyed<'p> {
    /// None for all other paths.
    pub(super) fn parse(path: &'p str) -> Option<Self> {
        let (list, rest) = path.split_once('[')?;
        let (key, rest) = rest.split_once(']')?;
        let rest = if rest.is_empty() { Vec::new() } else { rest.strip_prefix('.')?.split('.').collect() };
        let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
        Some(Self { list, key, rest })
    }

    /// Writes what is picked from a list that was written as a property.
    pub(super) fn pick(&self, list: &str, out: &mut Writer, element: &str) -> Found {
        let text = format!(
            "<l xmlns=\"urn:vim25\" xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">{list}</l>"
        );
        let Ok(root) = node::parse(text.as_bytes(), &Limits::default()) else { return Found::Invalid };
        let mut items = root.children.iter().flat_map(|list| &list.children);
        let Some(item) = items.find(|item| item.child_text("key") == Some(self.key)) else {
            return Found::Unset;
        };
        let Some(found) = self.rest.iter().try_fold(item, |node, step| node.child(step)) else {
            return Found::Unset;
        };
        // The elements of a list are called as their class is. Of a member of theirs only its own word is known.
        let class = found.xsi_type.clone().or_else(|| self.rest.is_empty().then(|| found.name.clone()));
        if class.is_none() {
            return Found::Invalid;
        }
        Node { xsi_type: class, ..found.clone() }.write(out, element, true);
        Found::Written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "<val xsi:type=\"ArrayOfOptionValue\"><OptionValue><key>a.b</key>\
        <value xsi:type=\"xsd:string\">twigs</value></OptionValue></val>";

    fn picked(path: &str) -> (Found, String) {
        let mut out = Writer::new();
        let found = Keyed::parse(path).expect("a key").pick(LIST, &mut out, "val");
        (found, out.into_string())
    }

    #[test]
    fn a_key_picks_one_of_a_list_or_a_part_of_it() {
        let (found, text) = picked("config.extraConfig[\"a.b\"]");
        assert_eq!(found, Found::Written);
        assert!(text.contains("xsi:type=\"OptionValue\"") && text.contains("twigs"), "{text}");
        let (found, text) = picked("config.extraConfig[a.b].value");
        assert_eq!(found, Found::Written);
        assert!(text.contains("twigs") && !text.contains("<key>"), "{text}");
        assert_eq!(picked("config.extraConfig[c]").0, Found::Unset);
        assert_eq!(picked("config.extraConfig[a.b].colour").0, Found::Unset);
    }

    #[test]
    fn a_path_without_a_whole_key_has_none() {
        for path in ["config.hardware.device", "device[1", "device[1]x"] {
            assert_eq!(Keyed::parse(path), None, "{path}");
        }
    }
}
