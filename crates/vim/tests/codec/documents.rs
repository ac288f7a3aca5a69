//! The documents that the tests read: `captures/` come from vcsim and govc 0.56.0 (session keys replaced), `made/`
//! shows what only other servers and clients write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Every document under its directory and name, such as `captures/login.xml`.
pub(crate) fn all() -> BTreeMap<String, Vec<u8>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut documents = BTreeMap::new();
    for directory in ["captures", "made"] {
        for entry in fs::read_dir(tests.join(directory)).expect("the directory is part of the source") {
            let path = entry.expect("its entries are readable").path();
            let name = path.strip_prefix(&tests).expect("it was listed there").display().to_string();
            documents.insert(name, fs::read(path).expect("it is a file"));
        }
    }
    documents
}
