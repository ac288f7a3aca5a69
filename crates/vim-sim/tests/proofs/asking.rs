//! What a random client may ask for, in and out of its right mind.

use proptest::prelude::*;
use rookery_vim::Node;
use rookery_vim_sim::BlobRef;

use super::lab::{Lab, envelope, reference};
use super::operations::{Call, Change, Choice, Make, Place, change, make, place};

/// One thing to do. Numbers choose among what there is at that time.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    Login { right: bool },
    Logout(u8),
    Terminate,
    Make(Make),
    Change(Change),
    Place(Place),
    File { how: u8, one: u8, other: u8 },
    Broken { cut: u16 },
    Garbage(Vec<u8>),
}

pub(super) fn ask() -> impl Strategy<Value = Ask> {
    let n = any::<u8>;
    prop_oneof![
        1 => any::<bool>().prop_map(|right| Ask::Login { right }),
        1 => n().prop_map(Ask::Logout),
        1 => Just(Ask::Terminate),
        10 => make().prop_map(Ask::Make),
        22 => change().prop_map(Ask::Change),
        9 => place().prop_map(Ask::Place),
        5 => (n(), n(), n()).prop_map(|(how, one, other)| Ask::File { how, one, other }),
        1 => any::<u16>().prop_map(|cut| Ask::Broken { cut }),
        1 => proptest::collection::vec(n(), 0..80).prop_map(Ask::Garbage),
    ]
}

/// A client that asks, with the sessions that it has.
pub(super) struct Client {
    admin: String,
    others: Vec<String>,
    blobs: u64,
    /// Files that are being sent, and how much of each has come.
    uploads: Vec<(u64, u64)>,
}

impl Client {
    pub(super) fn new(lab: &mut Lab) -> Self {
        let admin = lab.log_in("admin", "pass").expect("a login");
        Self { admin, others: Vec::new(), blobs: 0, uploads: Vec::new() }
    }

    /// All references that there are: entities, snapshots and tasks.
    fn look_around(&self, lab: &mut Lab) -> Choice {
        let this = r#"<_this type="ViewManager">ViewManager</_this>"#;
        let container = reference("container", ("Folder", "group-d1"));
        let parameters = format!("{container}<recursive>true</recursive>");
        let view = lab.call(&self.admin, "CreateContainerView", this, &parameters).expect("a view");
        let view = view.child_text("returnval").expect("a view").to_owned();
        let mut found = vec![("Folder".to_owned(), "group-d1".to_owned())];
        let on_view = reference("_this", ("ContainerView", &view));
        for (this, property) in [(on_view.clone(), "view"), (task_manager(), "recentTask")] {
            let answer =
                lab.call(&self.admin, "Fetch", &this, &format!("<prop>{property}</prop>")).expect("a list");
            found.extend(
                answer.child("returnval").into_iter().flat_map(|list| &list.children).map(|child| {
                    (child.ref_type.as_deref().unwrap_or_default().to_owned(), child.text.clone())
                }),
            );
        }
        lab.call(&self.admin, "DestroyView", &on_view, "").expect("its own view");
        let vms: Vec<String> =
            found.iter().filter(|(class, _)| class == "VirtualMachine").map(|(_, id)| id.clone()).collect();
        for vm in vms {
            let this = reference("_this", ("VirtualMachine", &vm));
            let answer = lab.call(&self.admin, "Fetch", &this, "<prop>snapshot</prop>").expect("a property");
            snapshots(&answer, &mut found);
        }
        Choice(found)
    }

    /// Asks, and takes any answer: only the world is looked at.
    pub(super) fn ask(&mut self, lab: &mut Lab, ask: &Ask) {
        let choice = self.look_around(lab);
        match ask {
            Ask::Login { right } => {
                let password = if *right { "pass" } else { "wrong" };
                if let Ok(cookie) = lab.log_in("other", password) {
                    self.others.push(cookie);
                }
            }
            Ask::Logout(nth) => {
                if !self.others.is_empty() {
                    let cookie = self.others.swap_remove(usize::from(*nth) % self.others.len());
                    let this = r#"<_this type="SessionManager">SessionManager</_this>"#;
                    lab.call(&cookie, "Logout", this, "").ok();
                }
            }
            Ask::Terminate => {
                let this = r#"<_this type="SessionManager">SessionManager</_this>"#;
                lab.call(&self.admin, "TerminateSession", this, "<sessionId>no such</sessionId>").ok();
            }
            Ask::File { how, one, other } => self.file(lab, *how, *one, *other),
            Ask::Garbage(bytes) => {
                let id = lab.post(&self.admin, bytes);
                lab.take(id).expect("garbage is answered");
            }
            Ask::Broken { cut } => {
                let whole = Make::Clone { source: 0, name: 1, folder: 0, pool: 0, how: 7, size: 3 };
                let Call { method, this, parameters } = whole.form(&choice);
                let body = envelope(method, &this, &parameters);
                let id = lab.post(&self.admin, &body.as_bytes()[..usize::from(*cut) % body.len()]);
                lab.take(id).expect("half a call is answered");
            }
            Ask::Make(make) => self.send(lab, &make.form(&choice)),
            Ask::Change(change) => self.send(lab, &change.form(&choice)),
            Ask::Place(place) => self.send(lab, &place.form(&choice)),
        }
    }

    fn send(&self, lab: &mut Lab, Call { method, this, parameters }: &Call) {
        let body = envelope(method, this, parameters);
        let id = lab.post(&self.admin, body.as_bytes());
        lab.take(id).unwrap_or_else(|| panic!("{method} was not answered"));
    }

    fn file(&mut self, lab: &mut Lab, how: u8, one: u8, other: u8) {
        let path = |nth: u8| ["a.iso", "dir/b.iso", "dir", "dir/sub/c", "web/x", ""][usize::from(nth) % 6];
        let store = |nth: u8| if nth >= 128 { "LocalDS_1" } else { "LocalDS_0" };
        let text = |nth: u8| format!("[{}] {}", store(nth), path(nth));
        let this = r#"<_this type="FileManager">FileManager</_this>"#;
        let two = format!(
            "<sourceName>{}</sourceName><destinationName>{}</destinationName><force>{}</force>",
            text(one),
            text(other),
            how.is_multiple_of(2)
        );
        match how % 7 {
            5 => {
                self.blobs += 1;
                let content = (self.blobs, u64::from(other) << 30);
                self.uploads.push((lab.begin_upload(&self.admin, path(one), store(one), content), 0));
                return;
            }
            6 => return self.go_on(lab, one, other),
            0 => {
                self.blobs += 1;
                let stored = BlobRef { blob: self.blobs, size: u64::from(other) << 20 };
                lab.upload(&self.admin, path(one), store(one), stored);
                return;
            }
            1 => {
                let parameters = format!(
                    "<name>{}</name><createParentDirectories>{}</createParentDirectories>",
                    text(one),
                    other.is_multiple_of(2)
                );
                lab.call(&self.admin, "MakeDirectory", this, &parameters)
            }
            2 => lab.call(&self.admin, "MoveDatastoreFile_Task", this, &two),
            3 => lab.call(&self.admin, "CopyDatastoreFile_Task", this, &two),
            _ => {
                let parameters = format!("<name>{}</name>", text(one));
                lab.call(&self.admin, "DeleteDatastoreFile_Task", this, &parameters)
            }
        }
        .ok();
    }
}

impl Client {
    /// More comes of a file, or all that there is, or nothing any more.
    fn go_on(&mut self, lab: &mut Lab, one: u8, other: u8) {
        if self.uploads.is_empty() {
            return;
        }
        let nth = usize::from(one) % self.uploads.len();
        let (id, size) = &mut self.uploads[nth];
        *size += u64::from(other) << 30;
        match other % 4 {
            0 => lab.gone(*id),
            1 => lab.sent(*id, *size, true),
            _ => return lab.sent(*id, *size, false),
        }
        self.uploads.remove(nth);
    }
}

fn task_manager() -> String {
    r#"<_this type="TaskManager">TaskManager</_this>"#.to_owned()
}

fn snapshots(node: &Node, found: &mut Vec<(String, String)>) {
    if &*node.name == "snapshot" {
        found.push(("VirtualMachineSnapshot".to_owned(), node.text.clone()));
    }
    node.children.iter().for_each(|child| snapshots(child, found));
}
