use jiff::{SignedDuration, Timestamp};
use rookery_sim::Request;

use super::*;
use crate::io::{BlobRef, Body, Input, Output, Upload};
use crate::{Counts, Model, Settings, World};

/// A client of a world whose time stands still unless it says so.
struct Client {
    world: World,
    now: Timestamp,
    cookie: String,
    last: u64,
    vm: Id,
}

impl Client {
    fn new(settings: Settings) -> Self {
        let now = Timestamp::UNIX_EPOCH;
        let model = Model::uniform(Counts { clusters: 0, ..Counts::default() });
        let world = model.build(settings, now).unwrap();
        let vm = *world.store.vms.keys().next().unwrap();
        let mut client = Self { world, now, cookie: String::new(), last: 0, vm };
        let output = client.send(
            "SessionManager",
            "SessionManager",
            "Login",
            "<userName>u</userName><password>p</password>",
        );
        let headers = &output.replies[0].1.headers;
        client.cookie = headers.iter().find(|(name, _)| *name == "set-cookie").unwrap().1.clone();
        client
    }

    fn step(&mut self, request: Request) -> Output {
        self.last += 1;
        self.world.step(self.now, Input::Request(RequestId(self.last), request))
    }

    fn send(&mut self, class: &str, object: &str, method: &str, parameters: &str) -> Output {
        let body = format!(
            "<Envelope xmlns=\"http://schemas.xmlsoap.org/soap/envelope/\"><Body><{method} xmlns=\"urn:vim25\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><_this type=\"{class}\">{object}</_this>\
             {parameters}</{method}></Body></Envelope>"
        );
        let headers = vec![("cookie".to_owned(), self.cookie.clone())];
        self.step(Request {
            method: "POST".into(),
            path: "/sdk".into(),
            headers,
            body: body.into(),
            ..Request::default()
        })
    }

    /// Calls a method on a guest; what comes back as text.
    fn call(&mut self, method: &str, parameters: &str) -> String {
        let vm = self.vm.reference();
        let parameters = format!(
            "<vm type=\"VirtualMachine\">{}</vm><auth xsi:type=\"NamePasswordAuthentication\">\
             <interactiveSession>false</interactiveSession><username>ci</username><password>secret</password></auth>\
             {parameters}",
            vm.id()
        );
        let output = self.send("GuestFileManager", "guestOperationsFileManager", method, &parameters);
        text(&output)
    }

    fn run(&mut self, program: &str, arguments: &str) -> String {
        self.call(
            "StartProgramInGuest",
            &format!(
                "<spec xsi:type=\"GuestProgramSpec\"><programPath>{program}</programPath><arguments>{arguments}</arguments></spec>"
            ),
        )
    }

    fn http(&mut self, method: &str, address: &str, body: &[u8]) -> crate::Reply {
        let (path, query) = address.split_once('*').unwrap().1.split_once('?').unwrap();
        let request = Request {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            body: body.to_vec().into(),
            ..Request::default()
        };
        self.step(request).replies.remove(0).1
    }
}

fn text(output: &Output) -> String {
    let Body::Text(text) = &output.replies[0].1.body else { panic!("no text: {output:?}") };
    text.clone()
}

fn inner(text: &str, element: &str) -> String {
    let (_, rest) =
        text.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("no {element} in {text}"));
    rest.split_once('<').unwrap().0.replace("&amp;", "&")
}

fn upload(client: &mut Client, path: &str, size: usize) -> String {
    let parameters = format!(
        "<guestFilePath>{path}</guestFilePath><fileAttributes xsi:type=\"GuestPosixFileAttributes\"/>\
         <fileSize>{size}</fileSize><overwrite>true</overwrite>"
    );
    client.call("InitiateFileTransferToGuest", &parameters)
}

#[test]
fn a_transfer_serves_once_and_only_what_was_announced() {
    let mut client = Client::new(Settings::default());
    let answer = upload(&mut client, "/tmp/a", 3);
    let address = inner(&answer, "returnval");
    assert!(address.starts_with("http://*/guestFile?id=1&token="), "{address}");
    assert_eq!(client.http("PUT", &address.replace("token=", "token=0"), b"abc").status, 404);
    assert_eq!(client.http("PUT", &address, b"abcd").status, 400);
    assert_eq!(client.http("PUT", &address, b"abc").status, 404);
    let answer = upload(&mut client, "/tmp/a", 3);
    let address = inner(&answer, "returnval");
    assert_eq!(client.http("PUT", &address, b"abc").status, 200);
    let answer = client.call("InitiateFileTransferFromGuest", "<guestFilePath>/tmp/a</guestFilePath>");
    assert_eq!(inner(&answer, "size"), "3");
    let address = inner(&answer, "url");
    assert_eq!(client.http("GET", &address, b"").body, Body::Bytes(b"abc".to_vec()));
    assert_eq!(client.http("GET", &address, b"").status, 404);
}

#[test]
fn over_tls_a_transfer_has_the_address_that_a_vcenter_gives() {
    let mut client = Client::new(Settings { https: true, ..Settings::default() });
    let answer = upload(&mut client, "/tmp/a", 3);
    assert!(inner(&answer, "returnval").starts_with("https://*:443/guestFile?id=1&token="));
}

#[test]
fn what_the_shell_keeps_is_let_go_with_the_vm() {
    let mut client = Client::new(Settings::default());
    let answer = upload(&mut client, "/tmp/a", 3);
    let (_, query) = answer.split_once("guestFile?").unwrap();
    let query = query.split_once('<').unwrap().0.replace("&amp;", "&");
    let upload = Upload { content: BlobRef { blob: 9, size: 3 }, coming: false };
    let request = Request { method: "PUT".into(), path: "/guestFile".into(), query, ..Request::default() };
    client.last += 1;
    let output = client.world.step(client.now, Input::Upload(RequestId(client.last), request, upload));
    assert_eq!(output.replies[0].1.status, 200);
    let vm = client.vm;
    forget(&mut client.world, vm);
    let output = client.world.step(client.now, Input::Timer);
    assert_eq!(output.effects, [Effect::Discard(9)]);
}

#[test]
fn a_guest_that_is_full_says_so() {
    let mut client = Client::new(Settings { guest_disk_bytes: 10_000, ..Settings::default() });
    let answer = upload(&mut client, "/tmp/a", 10_001);
    assert!(answer.contains("xsi:type=\"NoDiskSpace\""), "{answer}");
}

#[test]
fn what_cannot_be_done_in_a_guest_has_the_fault_that_says_why() {
    let mut client = Client::new(Settings::default());
    let program = client.run("relative", "");
    assert!(program.contains("\"FileNotFound\""), "{program}");
    for (method, parameters, fault) in [
        ("TerminateProcessInGuest", "<pid>1</pid>", "GuestProcessNotFound"),
        ("DeleteFileInGuest", "<filePath>/none</filePath>", "FileNotFound"),
        ("DeleteFileInGuest", "<filePath>/tmp</filePath>", "NotAFile"),
        (
            "DeleteDirectoryInGuest",
            "<directoryPath>/usr</directoryPath><recursive>false</recursive>",
            "DirectoryNotEmpty",
        ),
        (
            "MakeDirectoryInGuest",
            "<directoryPath>/tmp</directoryPath><createParentDirectories>false</createParentDirectories>",
            "FileAlreadyExists",
        ),
        ("ListFilesInGuest", "<filePath>/none</filePath>", "FileNotFound"),
    ] {
        let answer = client.call(method, parameters);
        assert!(answer.contains(&format!("xsi:type=\"{fault}\"")), "{method}: {answer}");
    }
    let vm = client.vm;
    client.world.store.vms.get_mut(&vm).unwrap().guest.operations_ready = false;
    assert!(client.run("/bin/true", "").contains("GuestOperationsUnavailable"));
    machine::power_off_now(&mut client.world, vm, "");
    assert!(client.run("/bin/true", "").contains("InvalidPowerState"));
}

#[test]
fn a_program_is_shown_for_five_minutes_after_its_end() {
    let mut client = Client::new(Settings::default());
    client.run("/bin/sleep", "60");
    let shown = |client: &mut Client| client.call("ListProcessesInGuest", "");
    assert!(!shown(&mut client).contains("endTime"));
    client.now += SignedDuration::from_secs(60);
    assert!(shown(&mut client).contains("<endTime>1970-01-01T00:01:00"));
    client.now += SignedDuration::from_secs(299);
    assert!(shown(&mut client).contains("endTime"));
    client.now += SignedDuration::from_secs(1);
    assert!(!shown(&mut client).contains("returnval"));
}

#[test]
fn what_was_planned_for_an_earlier_run_of_a_guest_does_not_happen_in_the_next() {
    let mut client = Client::new(Settings::default());
    client.run("/bin/sh", "-c 'sleep 60; poweroff'");
    let vm = client.vm;
    restart(&mut client.world, vm);
    client.now += SignedDuration::from_secs(61);
    client.world.step(client.now, Input::Timer);
    assert!(client.world.store.vms[&vm].is_on());
    client.run("/bin/sh", "-c 'sleep 60; poweroff'");
    client.now += SignedDuration::from_secs(60);
    client.world.step(client.now, Input::Timer);
    assert!(!client.world.store.vms[&vm].is_on());
}

#[test]
fn programs_that_run_for_real_are_left_to_the_shell() {
    let mut client = Client::new(Settings { allow_local_exec: true, ..Settings::default() });
    let vm = client.vm;
    client.call("ListProcessesInGuest", "");
    let pid: u64 = inner(&client.run("/bin/worker", "a b"), "returnval").parse().unwrap();
    let code = |client: &mut Client| client.call("ListProcessesInGuest", "");
    assert!(!code(&mut client).contains("exitCode"));
    client.world.step(client.now, Input::Exited { process: pid, code: 3 });
    assert!(code(&mut client).contains("<exitCode>3</exitCode>"));
    // A file operation is answered when the shell has done it, and only to who still waits.
    let parameters = format!(
        "<vm type=\"VirtualMachine\">{}</vm><auth xsi:type=\"NamePasswordAuthentication\">\
         <interactiveSession>false</interactiveSession><username>ci</username><password>secret</password></auth>\
         <filePath>/tmp/a</filePath>",
        vm.reference().id()
    );
    let output =
        client.send("GuestFileManager", "guestOperationsFileManager", "DeleteFileInGuest", &parameters);
    let op = FileOp::DeleteFile { path: "/tmp/a".into() };
    let request = RequestId(client.last);
    assert!(output.replies.is_empty());
    assert_eq!(output.effects, [Effect::File(Box::new(FileJob { request, vm, op }))]);
    let done = || Input::File { request, result: Err(FileTrouble::NotFound("/tmp/a".into())) };
    let output = client.world.step(client.now, done());
    assert!(text(&output).contains("FileNotFound"));
    assert!(client.world.step(client.now, done()).replies.is_empty());
    // A guest powers its own machine off.
    let output = client.world.step(client.now, Input::GuestPower { vm, what: GuestPower::Off });
    assert!(output.effects.contains(&Effect::StopAll(vm)));
    assert!(!client.world.store.vms[&vm].is_on());
}

#[test]
fn a_program_that_is_announced_is_ended_by_whoever_plays_it() {
    let rule =
        ProgramRule { arguments: "*worker*".into(), announced: true, exit_code: 9, ..ProgramRule::default() };
    let mut client = Client::new(Settings { programs: vec![rule], ..Settings::default() });
    let vm = client.vm;
    let notice = |effects: &[Effect]| -> Vec<Notice> {
        let told =
            |effect: &Effect| if let Effect::Notice(notice) = effect { Some(notice.clone()) } else { None };
        effects.iter().filter_map(told).collect()
    };
    let start = |client: &mut Client| {
        let arguments = "<spec xsi:type=\"GuestProgramSpec\"><programPath>/bin/echo</programPath>\
             <arguments>-n ; worker</arguments><envVariables>KEY=secret</envVariables></spec>";
        let auth = "<auth xsi:type=\"NamePasswordAuthentication\"><interactiveSession>false</interactiveSession>\
             <username>ci</username><password>secret</password></auth>";
        let of = format!("<vm type=\"VirtualMachine\">{}</vm>{auth}{arguments}", vm.reference().id());
        let output =
            client.send("GuestProcessManager", "guestOperationsProcessManager", "StartProgramInGuest", &of);
        let told = notice(&output.effects);
        let [Notice::Program(program)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((program.vm, program.path.as_str()), (vm, "/bin/echo"));
        assert_eq!(
            (program.arguments.as_str(), &program.environment[..]),
            ("-n ; worker", &["KEY=secret".to_owned()][..])
        );
        assert!(!format!("{program:?}").contains("secret"), "{program:?}");
        program.pid
    };
    let end = |client: &mut Client, pid, then| {
        let control = crate::Control::EndProgram { vm, pid, code: 3, then };
        client.last += 1;
        let output = client.world.step(client.now, Input::Control(RequestId(client.last), control));
        (output.replies[0].1.status, notice(&output.effects))
    };
    let pid = start(&mut client);
    client.now += SignedDuration::from_secs(60);
    assert!(!client.call("ListProcessesInGuest", "").contains("exitCode"), "it runs until it is ended");
    assert_eq!(end(&mut client, pid, None), (200, vec![]));
    assert!(client.call("ListProcessesInGuest", "").contains("<exitCode>3</exitCode>"));
    assert_eq!(end(&mut client, pid, None).0, 404);
    // Whoever plays it is told if somebody else ends it, and if its machine goes.
    let pid = start(&mut client);
    client.call("TerminateProcessInGuest", &format!("<pid>{pid}</pid>"));
    assert_eq!(end(&mut client, pid, None).0, 404);
    let first = start(&mut client);
    let second = start(&mut client);
    let (status, mut told) = end(&mut client, first, Some(GuestPower::Off));
    told.extend(notice(&client.world.step(client.now, Input::Timer).effects));
    assert_eq!((status, told), (200, vec![Notice::Ended { vm, pid: second }]));
    assert!(!client.world.store.vms[&vm].is_on());
}
