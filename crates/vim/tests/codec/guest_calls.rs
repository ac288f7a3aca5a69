//! Programs and files inside a guest: what the fact sheet (vim25, section 10) says, and what govc and vcsim wrote.

use insta::assert_snapshot;
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use rookery_vim::guest::{
    FileTransferInformation, GuestAuthentication, GuestFileAttributes, GuestPosixFileAttributes,
    GuestProcessInfo, GuestProgram, GuestProgramSpec, NamePasswordAuthentication,
};
use rookery_vim::methods::{
    CreateTemporaryFileInGuest, DeleteFileInGuest, InitiateFileTransferFromGuest,
    InitiateFileTransferToGuest, ListProcessesInGuest, StartProgramInGuest, TerminateProcessInGuest,
    ValidateCredentialsInGuest,
};
use rookery_vim::{Hidden, MoRef, Node, Wire};

use crate::round_trip::{call_comes_back, result_comes_back, text, time};
use crate::writing::{has_members, inside, reread};
use crate::{answered, result};

#[test]
fn what_is_said_of_guests_keeps_the_order_of_the_schema() {
    has_members(&user(), "interactiveSession username password");
    has_members(&program(), "programPath arguments workingDirectory envVariables envVariables");
    let process = GuestProcessInfo {
        name: "sh".into(),
        pid: 31089,
        owner: "u".into(),
        cmd_line: "sh -c true".into(),
        start_time: Timestamp::UNIX_EPOCH,
        end_time: Some(Timestamp::UNIX_EPOCH),
        exit_code: Some(0),
    };
    has_members(&process, "name pid owner cmdLine startTime endTime exitCode");
    has_members(&attributes(), "ownerId groupId permissions");
    let attributes = Some(GuestFileAttributes::GuestPosixFileAttributes(attributes()));
    let information =
        FileTransferInformation { attributes, size: 6, url: Hidden("https://*/guestFile".into()) };
    has_members(&information, "attributes size url");
}

/// The places of user, program and attributes have wider types: without their class a vCenter refuses them.
#[test]
fn a_program_and_its_user_state_their_classes() {
    let start = StartProgramInGuest {
        this: manager("GuestProcessManager"),
        vm: vm(),
        auth: auth(),
        spec: GuestProgram::GuestProgramSpec(program()),
    };
    assert_snapshot!(inside(&start), @r#"<StartProgramInGuest xmlns="urn:vim25"><_this type="GuestProcessManager">GuestProcessManager</_this><vm type="VirtualMachine">vm-65</vm><auth xsi:type="NamePasswordAuthentication"><interactiveSession>false</interactiveSession><username>u</username><password>hunter2</password></auth><spec xsi:type="GuestProgramSpec"><programPath>/bin/sh</programPath><arguments>-c 'exec /opt/worker/start &gt;/var/log/worker.log 2&gt;&amp;1'</arguments><workingDirectory>/</workingDirectory><envVariables>CDS_CONFIG=abc</envVariables><envVariables>LANG=C</envVariables></spec></StartProgramInGuest>"#);
}

#[test]
fn parameters_follow_the_vm_and_the_user() {
    let user = || (vm(), auth());
    let (this, processes) = (manager("GuestFileManager"), manager("GuestProcessManager"));
    let check = |call: String, parameters: &str| {
        let (_, after) = call.split_once("</auth>").expect("a user");
        let (_, before) = call.split_once("<_this").expect("an object");
        let before = before.split_once("<auth").expect("a user").0;
        assert!(before.ends_with("</_this><vm type=\"VirtualMachine\">vm-65</vm>"), "{call}");
        assert_eq!(after.rsplit_once("</").expect("an end").0, parameters);
    };
    let (vm, auth) = user();
    check(inside(&ValidateCredentialsInGuest { this: this.clone(), vm, auth }), "");
    let (vm, auth) = user();
    let list = ListProcessesInGuest { this: processes.clone(), vm, auth, pids: vec![7, 8] };
    check(inside(&list), "<pids>7</pids><pids>8</pids>");
    let (vm, auth) = user();
    check(inside(&TerminateProcessInGuest { this: processes, vm, auth, pid: 7 }), "<pid>7</pid>");
    let (vm, auth) = user();
    let upload = InitiateFileTransferToGuest {
        this: this.clone(),
        vm,
        auth,
        guest_file_path: "/tmp/a".into(),
        file_attributes: GuestFileAttributes::GuestPosixFileAttributes(GuestPosixFileAttributes {
            permissions: Some(0o600),
            ..GuestPosixFileAttributes::default()
        }),
        file_size: 6,
        overwrite: true,
    };
    check(
        inside(&upload),
        "<guestFilePath>/tmp/a</guestFilePath><fileAttributes xsi:type=\"GuestPosixFileAttributes\">\
         <permissions>384</permissions></fileAttributes><fileSize>6</fileSize><overwrite>true</overwrite>",
    );
    let (vm, auth) = user();
    let download =
        InitiateFileTransferFromGuest { this: this.clone(), vm, auth, guest_file_path: "/tmp/a".into() };
    check(inside(&download), "<guestFilePath>/tmp/a</guestFilePath>");
    let (vm, auth) = user();
    let temporary = CreateTemporaryFileInGuest {
        this: this.clone(),
        vm,
        auth,
        prefix: "a".into(),
        suffix: ".b".into(),
        directory_path: Some("/tmp".into()),
    };
    check(inside(&temporary), "<prefix>a</prefix><suffix>.b</suffix><directoryPath>/tmp</directoryPath>");
    let (vm, auth) = user();
    check(
        inside(&DeleteFileInGuest { this, vm, auth, file_path: "/tmp/a".into() }),
        "<filePath>/tmp/a</filePath>",
    );
}

#[test]
fn the_calls_of_govc_are_read_and_written_alike() {
    let start = reread::<StartProgramInGuest>("captures/call_start_program");
    let GuestProgram::GuestProgramSpec(program) = start.spec else { panic!("{start:?}") };
    assert_eq!((&*program.program_path, &*program.arguments), ("/bin/sleep", "3"));
    assert_eq!(
        (program.working_directory.as_deref(), program.env_variables),
        (Some("/"), vec!["A=b".to_owned()])
    );
    let GuestAuthentication::NamePasswordAuthentication(user) = start.auth else { panic!("no user") };
    assert_eq!((&*user.username, user.password), ("u", Hidden("p".into())));
    assert_eq!(reread::<ListProcessesInGuest>("captures/call_list_processes").pids, [16143]);
    let upload = reread::<InitiateFileTransferToGuest>("captures/call_transfer_to_guest");
    assert_eq!((upload.file_size, upload.overwrite), (6, false));
    let temporary = reread::<CreateTemporaryFileInGuest>("captures/call_temporary_file");
    assert_eq!((&*temporary.prefix, &*temporary.suffix, temporary.directory_path), ("govmomi-", "", None));
}

/// vcsim leaves an exit code of 0 out. The end of a process tells that it has one.
#[test]
fn processes_are_read_whether_they_run_ended_well_or_failed() {
    let check = |name: &str, expected: &[(i64, bool, Option<i32>)]| {
        let processes = result::<ListProcessesInGuest>(name);
        let found: Vec<_> = processes.iter().map(|p| (p.pid, p.end_time.is_some(), p.exit_code)).collect();
        assert_eq!(found, expected, "{name}");
        assert!(processes.iter().all(|p| p.owner == "u" && p.name == "docker"));
    };
    check("captures/list_processes_running", &[(16185, false, None), (16143, true, None)]);
    check("captures/list_processes", &[(17631, true, Some(1)), (16143, true, None), (16185, true, None)]);
    assert_eq!(answered::<ListProcessesInGuest>(""), Ok(vec![]), "none of these");
}

#[test]
fn process_ids_and_places_of_files_are_read() {
    assert_eq!(result::<StartProgramInGuest>("captures/start_program"), 16185);
    assert_eq!(result::<CreateTemporaryFileInGuest>("captures/temporary_file"), "/tmp/govmomi-vcsim-2q9n8");
    let token = "00000000-0000-4000-8000-00000000cafe";
    let url = Hidden(format!("http://*/guestFile/tmp/up.iso?id=c0ffee&token={token}"));
    assert_eq!(result::<InitiateFileTransferToGuest>("captures/transfer_to_guest"), url);
    // The schema demands attributes; vcsim sends none.
    let information = result::<InitiateFileTransferFromGuest>("captures/transfer_from_guest");
    assert_eq!(information, FileTransferInformation { attributes: None, size: 0, url });
}

/// A Windows guest has attributes of its own, and there are other ways to log in.
#[test]
fn classes_of_other_guests_are_kept() {
    let information = answered::<InitiateFileTransferFromGuest>(
        "<returnval><attributes xsi:type='GuestWindowsFileAttributes'><hidden>true</hidden></attributes>\
         <size>6</size><url>https://*:443/guestFile?id=1&amp;token=2</url></returnval>",
    )
    .expect("a place");
    let Some(GuestFileAttributes::Other(windows)) = information.attributes else { panic!("{information:?}") };
    assert_eq!(windows.child_text("hidden"), Some("true"));
    let ticket = Node { xsi_type: Some("SAMLTokenAuthentication".into()), ..Node::new("auth") };
    let read = GuestAuthentication::from_node(ticket.clone());
    assert_eq!(read, Ok(GuestAuthentication::Other(ticket)));
}

#[test]
fn the_password_of_a_guest_is_never_shown() {
    let start = StartProgramInGuest {
        this: manager("GuestProcessManager"),
        vm: vm(),
        auth: auth(),
        spec: GuestProgram::GuestProgramSpec(program()),
    };
    let shown = format!("{start:?} {start:#?} {:?} {:?}", start.auth, user());
    assert!(shown.contains("username") && !shown.contains("hunter2"), "{shown}");
    assert!(inside(&start).contains("<password>hunter2</password>"));
}

proptest! {
    #[test]
    fn programs_come_back(
        username in text(),
        password in text(),
        words in vec(text(), 3),
        working_directory in option::of(text()),
        env_variables in vec(text(), 0..4),
        pids in vec(any::<i64>(), 0..4),
        interactive_session in any::<bool>(),
    ) {
        let password = Hidden(password);
        let user = NamePasswordAuthentication { interactive_session, username, password };
        let (vm, auth) = (vm(), GuestAuthentication::NamePasswordAuthentication(user));
        let spec = GuestProgram::GuestProgramSpec(GuestProgramSpec {
            program_path: words[0].clone(),
            arguments: words[1].clone(),
            working_directory: working_directory.clone(),
            env_variables,
        });
        let this = manager("GuestProcessManager");
        call_comes_back(&StartProgramInGuest { this: this.clone(), vm: vm.clone(), auth: auth.clone(), spec })?;
        call_comes_back(&ListProcessesInGuest { this: this.clone(), vm: vm.clone(), auth: auth.clone(), pids })?;
        call_comes_back(&CreateTemporaryFileInGuest {
            this,
            vm,
            auth,
            prefix: words[1].clone(),
            suffix: words[2].clone(),
            directory_path: working_directory,
        })?;
    }

    #[test]
    fn processes_and_places_come_back(
        words in vec(text(), 3),
        pid in any::<i64>(),
        start_time in time(),
        end_time in option::of(time()),
        exit_code in option::of(any::<i32>()),
        permissions in option::of(any::<i64>()),
    ) {
        let [name, owner, cmd_line] = <[String; 3]>::try_from(words).expect("three words");
        let process =
            GuestProcessInfo { name, pid, owner, cmd_line: cmd_line.clone(), start_time, end_time, exit_code };
        result_comes_back::<ListProcessesInGuest>(vec![process.clone(), process])?;
        result_comes_back::<StartProgramInGuest>(pid)?;
        let attributes = GuestPosixFileAttributes {
            owner_id: exit_code,
            permissions,
            ..GuestPosixFileAttributes::default()
        };
        let attributes = Some(GuestFileAttributes::GuestPosixFileAttributes(attributes));
        result_comes_back::<InitiateFileTransferFromGuest>(FileTransferInformation {
            attributes,
            size: pid,
            url: Hidden(cmd_line),
        })?;
    }
}

fn vm() -> MoRef {
    MoRef::new("VirtualMachine", "vm-65")
}

fn manager(kind: &str) -> MoRef {
    MoRef::new(kind, kind)
}

fn user() -> NamePasswordAuthentication {
    let password = Hidden("hunter2".into());
    NamePasswordAuthentication { interactive_session: false, username: "u".into(), password }
}

fn auth() -> GuestAuthentication {
    GuestAuthentication::NamePasswordAuthentication(user())
}

fn program() -> GuestProgramSpec {
    GuestProgramSpec {
        program_path: "/bin/sh".into(),
        arguments: "-c 'exec /opt/worker/start >/var/log/worker.log 2>&1'".into(),
        working_directory: Some("/".into()),
        env_variables: vec!["CDS_CONFIG=abc".into(), "LANG=C".into()],
    }
}

fn attributes() -> GuestPosixFileAttributes {
    GuestPosixFileAttributes {
        owner_id: Some(0),
        group_id: Some(0),
        permissions: Some(0o644),
        ..GuestPosixFileAttributes::default()
    }
}
