//! Files on a datastore: sent and fetched over HTTP, listed, moved and removed by tasks.
//!
//! A file appears under its name whole or not at all: it is sent under another name beside it, checked, and then moved.
//! Whatever answer gets lost on the way, its effect is looked for.

mod error;
mod leftovers;
mod path;
mod upload;
mod web;

use std::time::Duration;

use jiff::Timestamp;
use rookery_vim::inventory_name::{escape, unescape};
use rookery_vim::methods::{
    DeleteDatastoreFileTask, MakeDirectory, MoveDatastoreFileTask, SearchDatastoreTask,
};
use rookery_vim::storage::{
    FileQueryFlags, HostDatastoreBrowserSearchResults, HostDatastoreBrowserSearchSpec,
};
use rookery_vim::{FaultKind, MoRef, Node, Wire as _};
use tokio::io::AsyncWrite;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::error::CallError;
use crate::governor::Site;
use crate::machine::{Machines, OperationError};
use crate::made::LOOK_AGAIN;
use crate::properties::{properties_of, property_of};
use crate::tasks::TaskError;
use crate::transfer::{self, Length, Watch};

pub use error::DatastoreError;
pub use path::{DatastorePlace, FilePath, InvalidFilePath};
pub use upload::{Existing, Reuse, Upload, Uploaded};

/// How long a task may take, such as a move.
const TASK: Duration = Duration::from_secs(300);
/// How long no byte of a transfer may move.
const STALL: Duration = Duration::from_secs(60);

/// The files of one datastore. Clones share the client.
#[derive(Debug, Clone)]
pub struct DatastoreFiles {
    machines: Machines,
    place: DatastorePlace,
}

/// What a file is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    pub size: u64,
    /// When it was last changed, as far as vCenter says.
    pub modified: Option<Timestamp>,
}

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name, without the folder.
    pub name: String,
    pub kind: FileKind,
    /// Its bytes, as far as vCenter says.
    pub size: Option<u64>,
    /// When it was last changed, as far as vCenter says.
    pub modified: Option<Timestamp>,
}

/// What stands in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file of any sort.
    File,
    Folder,
}

impl DatastoreFiles {
    /// The files of a datastore, with the client, the limits and the urgency of `machines`.
    pub fn new(machines: Machines, place: DatastorePlace) -> Self {
        Self { machines, place }
    }

    /// A file as vCenter writes it: `[datastore] iso/abc.iso`. Configurations of VMs name files so.
    pub fn text(&self, file: &FilePath) -> String {
        self.place.text(Some(file))
    }

    /// Whether there is a file of that name.
    pub async fn exists(&self, file: &FilePath) -> Result<bool, DatastoreError> {
        Ok(self.stat(file).await?.is_some())
    }

    /// Writes a file to `sink`; its size. `progress` gets the number of bytes written.
    pub async fn download<W: AsyncWrite + Unpin>(
        &self,
        file: &FilePath,
        sink: &mut W,
        progress: &watch::Sender<u64>,
    ) -> Result<u64, DatastoreError> {
        let watch = Watch { progress, stall: STALL };
        let response = self.fetch(file).await?;
        let got = transfer::download("GET", response, Length::Required, sink, watch).await;
        got.map_err(|source| DatastoreError::Transfer { doing: self.doing("downloading", file), source })
    }

    /// What stands in a folder; `None`: at the top of the datastore.
    pub async fn list(&self, folder: Option<&FilePath>) -> Result<Vec<FileEntry>, DatastoreError> {
        let text = self.place.text(folder);
        let doing = format!("listing {text}");
        let failed = |source| DatastoreError::Operation { doing: doing.clone(), source };
        let unclear = || DatastoreError::Unclear { doing: doing.clone() };
        let browser = property_of(&self.machines.client, &self.place.datastore, "browser").await;
        let browser = browser.map_err(|error| failed(error.into()))?;
        let this = browser.and_then(|node| MoRef::from_node(node).ok()).ok_or_else(unclear)?;
        let details =
            FileQueryFlags { file_type: true, file_size: true, modification: true, file_owner: None };
        let search_spec =
            HostDatastoreBrowserSearchSpec { details: Some(details), match_pattern: vec!["*".to_owned()] };
        let search =
            SearchDatastoreTask { this, datastore_path: text.clone(), search_spec: Some(search_spec) };
        let result = match self.machines.run(&search, Site::default(), TASK, None).await {
            Err(error) if error.is(FaultKind::FileNotFound) => {
                return Err(DatastoreError::Missing { file: text });
            }
            result => result.map_err(failed)?.1,
        };
        let found = result.and_then(|node| HostDatastoreBrowserSearchResults::from_node(node).ok());
        Ok(found.ok_or_else(unclear)?.file.iter().filter_map(entry).collect())
    }

    /// Makes a folder and those that it is in. That it is there already is a success.
    pub async fn make_directory(&self, folder: &FilePath) -> Result<(), DatastoreError> {
        let call = MakeDirectory {
            this: self.file_manager(),
            name: self.text(folder),
            datacenter: Some(self.place.datacenter.clone()),
            create_parent_directories: Some(true),
        };
        match self.machines.client.call(&call).await {
            Err(error) if error.is(FaultKind::FileAlreadyExists) => Ok(()),
            result => result.map_err(|source| self.failed("making the folder", folder, source.into())),
        }
    }

    /// Removes a file, or a folder with all that is in it. That it is not there is a success.
    pub async fn delete(&self, file: &FilePath) -> Result<(), DatastoreError> {
        let call = DeleteDatastoreFileTask {
            this: self.file_manager(),
            name: self.text(file),
            datacenter: Some(self.place.datacenter.clone()),
        };
        match self.machines.run(&call, Site::default(), TASK, None).await {
            Err(error) if error.is(FaultKind::FileNotFound) => Ok(()),
            Err(error) if may_come_true(&error) && self.is_seen(file, None).await => Ok(()),
            result => result.map(drop).map_err(|source| self.failed("removing", file, source)),
        }
    }

    /// Moves a file to another name on the same datastore.
    pub async fn move_to(
        &self,
        from: &FilePath,
        to: &FilePath,
        existing: Existing,
    ) -> Result<(), DatastoreError> {
        let missing = || DatastoreError::Missing { file: self.text(from) };
        let size = self.stat(from).await?.ok_or_else(missing)?.size;
        self.move_known(from, to, size, existing).await
    }

    async fn move_known(
        &self,
        from: &FilePath,
        to: &FilePath,
        size: u64,
        existing: Existing,
    ) -> Result<(), DatastoreError> {
        let call = MoveDatastoreFileTask {
            this: self.file_manager(),
            source_name: self.text(from),
            source_datacenter: Some(self.place.datacenter.clone()),
            destination_name: self.text(to),
            destination_datacenter: Some(self.place.datacenter.clone()),
            force: Some(existing == Existing::Replace),
        };
        match self.machines.run(&call, self.site(), TASK, None).await {
            Err(error) if error.is(FaultKind::FileAlreadyExists) => {
                Err(DatastoreError::Exists { file: self.text(to) })
            }
            Err(error) if may_come_true(&error) && self.is_seen(from, Some((to, size))).await => Ok(()),
            result => result.map(drop).map_err(|source| self.failed("moving", from, source)),
        }
    }

    /// After an order whose end nobody told: whether a file is seen to have gone, and another one to have come.
    async fn is_seen(&self, gone: &FilePath, come: Option<(&FilePath, u64)>) -> bool {
        let mut delays = LOOK_AGAIN.delays(self.machines.client.fork_random());
        loop {
            // A failed look proves nothing; neither does one that finds nothing while the order is on its way.
            let has_come = match come {
                Some((file, size)) => matches!(self.stat(file).await, Ok(Some(info)) if info.size == size),
                None => true,
            };
            if has_come && matches!(self.stat(gone).await, Ok(None)) {
                return true;
            }
            let Some(delay) = delays.next() else { return false };
            sleep(delay).await;
        }
    }

    /// Makes sure that the datastore is still where its addresses say, so that "not found" is about the file alone.
    /// An expired session is renewed by this as well.
    async fn confirm_place(&self) -> Result<(), DatastoreError> {
        let DatastorePlace { datacenter, datacenter_path, datastore, name } = &self.place;
        let failed = |source| DatastoreError::Call { doing: format!("looking for datastore {name}"), source };
        let (named, _) = self.name_and_parent(datastore).await.map_err(failed)?;
        let path = self.path_of(datacenter.clone()).await.map_err(failed)?;
        if named.as_ref() == Some(name) && path == datacenter_path.trim_start_matches('/') {
            return Ok(());
        }
        Err(DatastoreError::NoPlace { datastore: name.clone(), datacenter: datacenter_path.clone() })
    }

    /// Read from below: whoever may use a datacenter need not be able to find it from above.
    async fn path_of(&self, datacenter: MoRef) -> Result<String, CallError> {
        let root = &self.machines.client.content().root_folder;
        let (mut names, mut next) = (Vec::new(), Some(datacenter));
        while let Some(place) = next.filter(|place| place != root && names.len() < 64) {
            let (name, parent) = self.name_and_parent(&place).await?;
            names.extend(name);
            next = parent;
        }
        names.reverse();
        Ok(names.join("/"))
    }

    /// The name as vCenter stores it, and what it is in; unset if the user may not see them.
    async fn name_and_parent(&self, place: &MoRef) -> Result<(Option<String>, Option<MoRef>), CallError> {
        let (mut name, mut parent) = (None, None);
        for (path, value) in properties_of(&self.machines.client, place, &["name", "parent"]).await? {
            match path.as_str() {
                "name" => name = Some(escape(&unescape(&value.text))),
                _ => parent = MoRef::from_node(value).ok(),
            }
        }
        Ok((name, parent))
    }

    /// A server without one answers the call with a fault that says so.
    fn file_manager(&self) -> MoRef {
        let known = self.machines.client.content().file_manager.clone();
        known.unwrap_or_else(|| MoRef::new("FileManager", "FileManager"))
    }

    fn site(&self) -> Site {
        Site { host: None, datastore: Some(self.place.datastore.clone()) }
    }

    fn doing(&self, verb: &str, file: &FilePath) -> String {
        format!("{verb} {}", self.text(file))
    }

    fn failed(&self, verb: &str, file: &FilePath, source: OperationError) -> DatastoreError {
        DatastoreError::Operation { doing: self.doing(verb, file), source }
    }
}

/// Whether the effect is worth looking for: a task that failed has none.
fn may_come_true(error: &OperationError) -> bool {
    error.may_have_happened() && !matches!(error, OperationError::Task(TaskError::Failed(_)))
}

fn entry(node: &Node) -> Option<FileEntry> {
    let kind = match node.xsi_type.as_deref() {
        Some("FolderFileInfo") => FileKind::Folder,
        _ => FileKind::File,
    };
    Some(FileEntry {
        name: node.child_text("path")?.to_owned(),
        kind,
        size: node.child_text("fileSize").and_then(|size| size.parse().ok()),
        modified: node.child_text("modification").and_then(|time| time.parse().ok()),
    })
}
