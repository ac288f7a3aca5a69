//! Where a file is: its path on the datastore, and how that is written in an address and in a call. Pure.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rookery_vim::MoRef;
use rookery_vim::inventory_name::escape;

use crate::places::Places;

/// A file or folder of a datastore, such as `iso/cache/abc.iso`: names with slashes between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

/// A path that no file can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not a datastore path: {why}")]
pub struct InvalidFilePath {
    given: String,
    why: &'static str,
}

impl FilePath {
    /// Reads a path as people write it, relative to the top of the datastore.
    pub fn parse(given: &str) -> Result<Self, InvalidFilePath> {
        match given.split('/').find_map(objection) {
            Some(why) => Err(InvalidFilePath { given: given.to_owned(), why }),
            None => Ok(Self(given.to_owned())),
        }
    }

    /// The folder that it is in; `None`: the top of the datastore.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('/').map(|(folder, _)| Self(folder.to_owned()))
    }

    /// Another name in the same folder.
    pub(super) fn beside(&self, name: &str) -> Result<Self, InvalidFilePath> {
        Self::inside(self.parent().as_ref(), name)
    }

    /// A name in a folder; `None`: at the top of the datastore.
    pub(super) fn inside(folder: Option<&Self>, name: &str) -> Result<Self, InvalidFilePath> {
        folder.map_or_else(|| Self::parse(name), |folder| Self::parse(&format!("{folder}/{name}")))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong with one name of a path. Spaces at its ends would be lost behind the brackets of `[datastore] path`.
fn objection(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("a name in it is empty"),
        "." | ".." => Some("it leads elsewhere"),
        _ if name.trim() != name => Some("a name in it begins or ends with a space"),
        _ if name.chars().any(char::is_control) => Some("there is a control character in it"),
        _ => None,
    }
}

/// A datastore, and the datacenter through which its files are reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatastorePlace {
    pub datacenter: MoRef,
    /// Its inventory path with all folders, spelled as vCenter stores it: `/folder/DC0`.
    pub datacenter_path: String,
    pub datastore: MoRef,
    /// Its name, spelled as vCenter stores it.
    pub name: String,
}

impl DatastorePlace {
    /// The place of a datastore; `None` if it is not among the places, in no datacenter, or a cluster of datastores.
    pub fn of(places: &Places, datastore: &MoRef) -> Option<Self> {
        let place = places.get(datastore).filter(|place| place.id.kind() == "Datastore")?;
        let datacenter = places.ancestor(datastore, "Datacenter")?;
        Some(Self {
            datacenter: datacenter.id.clone(),
            datacenter_path: places.path(&datacenter.id),
            datastore: place.id.clone(),
            name: escape(&place.name),
        })
    }

    /// A file as calls name it, and people: `[datastore] iso/abc.iso`.
    pub(super) fn text(&self, path: Option<&FilePath>) -> String {
        match path {
            Some(path) => format!("[{}] {path}", self.name),
            None => format!("[{}]", self.name),
        }
    }

    /// Where a file is for HTTP.
    pub(super) fn address(&self, path: &FilePath) -> String {
        let (datacenter, datastore) = (&self.datacenter_path, &self.name);
        let path = utf8_percent_encode(&path.0, ENCODED_IN_PATH);
        let [datacenter, datastore] = [datacenter, datastore].map(|name| utf8_percent_encode(name, ENCODED));
        format!("/folder/{path}?dcPath={datacenter}&dsName={datastore}")
    }
}

/// Everything is written as `%XX` but letters, digits and these.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const ENCODED_IN_PATH: &AsciiSet = &ENCODED.remove(b'/');

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> DatastorePlace {
        DatastorePlace {
            datacenter: MoRef::new("Datacenter", "datacenter-2"),
            datacenter_path: "/a folder/DC %2f1".to_owned(),
            datastore: MoRef::new("Datastore", "datastore-9"),
            name: "fast & small".to_owned(),
        }
    }

    /// The opposite, as a server does it.
    fn decode(encoded: &str) -> String {
        let mut bytes = Vec::new();
        let mut rest = encoded.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_file_has_an_address_and_a_text() {
        let path = FilePath::parse("iso cache/ä#1?[2]+100%.iso").unwrap();
        assert_eq!(
            place().address(&path),
            "/folder/iso%20cache/%C3%A4%231%3F%5B2%5D%2B100%25.iso\
             ?dcPath=%2Fa%20folder%2FDC%20%252f1&dsName=fast%20%26%20small"
        );
        assert_eq!(place().text(Some(&path)), "[fast & small] iso cache/ä#1?[2]+100%.iso");
        assert_eq!(place().text(None), "[fast & small]");
    }

    #[test]
    fn what_cannot_be_a_path_is_refused_with_the_reason() {
        for (given, why) in [
            ("", "a name in it is empty"),
            ("/a", "a name in it is empty"),
            ("a//b", "a name in it is empty"),
            ("a/", "a name in it is empty"),
            ("a/../b", "it leads elsewhere"),
            ("./a", "it leads elsewhere"),
            (" a", "a name in it begins or ends with a space"),
            ("a /b", "a name in it begins or ends with a space"),
            ("a\nb", "there is a control character in it"),
        ] {
            assert_eq!(FilePath::parse(given).map_err(|error| error.why), Err(why), "{given:?}");
        }
    }

    #[test]
    fn a_path_knows_its_folder_and_its_neighbours() {
        let path = FilePath::parse("a/b/c").unwrap();
        assert_eq!(path.parent().unwrap().to_string(), "a/b");
        assert_eq!(path.beside("d").unwrap().to_string(), "a/b/d");
        let top = FilePath::parse("c").unwrap();
        assert_eq!(top.parent(), None);
        assert_eq!(top.beside("d").unwrap().to_string(), "d");
    }

    proptest! {
        #[test]
        fn an_encoded_text_is_plain_and_means_the_same(text in any::<String>()) {
            for (set, kept) in [(ENCODED_IN_PATH, &b"/"[..]), (ENCODED, b"")] {
                let encoded = utf8_percent_encode(&text, set).to_string();
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~%".contains(&b) || kept.contains(&b);
                prop_assert!(encoded.bytes().all(plain), "{}", encoded);
                prop_assert_eq!(decode(&encoded), text.as_str());
            }
        }
    }
}
