//! Files while they are being sent.

use rookery_vim_sim::{Body, Counts, Request, Settings};

use super::lab::Lab;

const STORE: &str = "LocalDS_0";

struct Sender {
    lab: Lab,
    cookie: String,
}

impl Sender {
    fn new() -> Self {
        let mut lab = Lab::new(Settings::default(), Counts { vms: 0, clusters: 0, ..Counts::default() });
        let cookie = lab.log_in("user", "pass").expect("anybody may");
        Self { lab, cookie }
    }

    fn begin(&mut self, path: &str, content: (u64, u64)) -> u64 {
        self.lab.begin_upload(&self.cookie, path, STORE, content)
    }

    fn answer(&mut self, id: u64) -> Option<u16> {
        self.lab.take(id).map(|reply| reply.status)
    }

    /// How large a file is, if it is there.
    fn size(&mut self, path: &str) -> Option<u64> {
        let id = self.lab.request(Request {
            method: "HEAD".to_owned(),
            path: format!("/folder/{path}"),
            query: format!("dcPath=DC0&dsName={STORE}"),
            headers: vec![("cookie".to_owned(), self.cookie.clone())],
            ..Request::default()
        });
        let reply = self.lab.take(id).expect("an answer");
        if let Body::Head(size) = reply.body { Some(size) } else { None }
    }

    fn files(&mut self, method: &str, parameters: &str) {
        let this = r#"<_this type="FileManager">FileManager</_this>"#;
        self.lab.call(&self.cookie, method, this, parameters).expect("a task");
    }
}

#[test]
fn a_file_is_as_large_as_what_has_come_of_it() {
    let mut sender = Sender::new();
    let id = sender.begin("a.iso", (1, 100));
    assert_eq!(sender.size("a.iso"), Some(0));
    sender.lab.sent(id, 40, false);
    assert_eq!(sender.size("a.iso"), Some(40));
    assert_eq!(sender.answer(id), None, "it is not whole yet");
    sender.lab.sent(id, 100, true);
    assert_eq!((sender.answer(id), sender.size("a.iso")), (Some(201), Some(100)));
}

#[test]
fn what_has_come_of_a_file_stays_when_its_sender_goes() {
    let mut sender = Sender::new();
    let id = sender.begin("a.iso", (1, 100));
    sender.lab.sent(id, 40, false);
    sender.lab.gone(id);
    assert_eq!(sender.size("a.iso"), Some(40));
    // What comes late comes to nothing, and the next one begins anew.
    sender.lab.sent(id, 100, true);
    assert_eq!(sender.size("a.iso"), Some(40));
    let again = sender.begin("a.iso", (2, 100));
    assert_eq!(sender.size("a.iso"), Some(0));
    sender.lab.sent(again, 100, true);
    assert_eq!((sender.answer(again), sender.size("a.iso")), (Some(200), Some(100)));
}

#[test]
fn a_file_that_is_gone_or_replaced_while_it_is_sent_does_not_come_back() {
    let mut sender = Sender::new();
    let first = sender.begin("a.iso", (1, 100));
    sender.lab.sent(first, 40, false);
    let second = sender.begin("a.iso", (2, 30));
    sender.lab.sent(first, 60, false);
    assert_eq!(sender.answer(first), Some(409));
    sender.lab.sent(second, 10, false);
    assert_eq!(sender.size("a.iso"), Some(10));
    sender.files("DeleteDatastoreFile_Task", &format!("<name>[{STORE}] a.iso</name>"));
    sender.lab.sent(second, 30, true);
    assert_eq!((sender.answer(second), sender.size("a.iso")), (Some(409), None));
}

#[test]
fn a_copy_of_a_file_that_is_being_sent_stays_as_it_was() {
    let mut sender = Sender::new();
    let id = sender.begin("a.iso", (1, 100));
    sender.lab.sent(id, 40, false);
    let both =
        format!("<sourceName>[{STORE}] a.iso</sourceName><destinationName>[{STORE}] b.iso</destinationName>");
    sender.files("CopyDatastoreFile_Task", &both);
    sender.lab.sent(id, 100, true);
    assert_eq!((sender.size("a.iso"), sender.size("b.iso")), (Some(100), Some(40)));
}

#[test]
fn files_that_do_not_fit_are_refused_at_once_or_when_they_no_longer_fit() {
    let mut sender = Sender::new();
    let id = sender.begin("a.iso", (1, 1 << 60));
    assert_eq!((sender.answer(id), sender.size("a.iso")), (Some(507), None));
    // Each would fit, but not both.
    let most = (1..61).rev().map(|bits| 1 << bits).find(|size| {
        let id = sender.begin("probe", (2, *size));
        let fits = sender.answer(id).is_none();
        sender.lab.gone(id);
        fits
    });
    let most = most.expect("something fits");
    let one = sender.begin("one", (3, most));
    let other = sender.begin("other", (4, most));
    sender.lab.sent(one, most - 10, false);
    sender.lab.sent(other, 10, false);
    sender.lab.sent(other, most, true);
    assert_eq!((sender.answer(other), sender.size("other")), (Some(507), Some(10)));
}
