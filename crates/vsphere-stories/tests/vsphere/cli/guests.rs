//! `rookery vm run`, `upload`, `download` and `ip`.

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use rookery_kit::{
    Govc, Outcome, Program, Terminal, Vcsim, VcsimOptions, eventually, on_our_simulator, rookery,
    start_rookery,
};
use tempfile::TempDir;

use super::{id_of, printed, refused};

const VM: &str = "DC0_H0_VM0";
const LOGIN: &str = "worker:nest";

async fn world() -> (Vcsim, Govc) {
    let vcsim = Vcsim::start(VcsimOptions::tls(2).with_guests()).await;
    let govc = Govc::new(&vcsim);
    govc.give_guest(VM).await;
    vcsim.silence_guest("DC0_H0_VM1").await;
    (vcsim, govc)
}

fn as_worker(vcsim: &Vcsim, arguments: &[&str]) -> Program {
    Program::against(vcsim, arguments)
        .with("ROOKERY_GUEST__USER", "worker")
        .with("ROOKERY_GUEST__PASSWORD", "nest")
}

async fn run(vcsim: &Vcsim, arguments: &[&str]) -> Outcome {
    as_worker(vcsim, &["vm", "run", VM]).and(arguments).run().await
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[tokio::test]
async fn a_program_is_run_with_its_arguments_and_its_output_and_exit_code_are_those_of_the_command() {
    let (vcsim, govc) = world().await;
    let script = r#"printf '<%s>' "$0" "$@"; echo oops >&2; exit 7"#;
    let words = ["a b", "it's", "$HOME;", "größe & <x>", "", "-v", "line\nbreak"];
    let mut arguments = vec!["--", "/bin/sh", "-c", script];
    arguments.extend(words);
    let outcome = run(&vcsim, &arguments).await;
    let expected = format!("<{}>", words.join("><"));
    assert_eq!((outcome.code, outcome.stdout, outcome.stderr), (Some(7), expected, "oops\n".to_owned()));

    let numbers: Vec<_> = (1..=60_000).map(|number: u32| number.to_string()).collect();
    let counted = printed(run(&vcsim, &["--", "/usr/bin/seq", "60000"]).await);
    assert!(counted.lines().eq(&numbers), "{} lines", counted.lines().count());
    let left = govc.guest_folder(VM, LOGIN, text(&vcsim.guest_folder())).await;
    assert_eq!(left, [""; 0], "nothing stays in the guest");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_program_gets_variables_a_directory_and_text_for_the_shell() {
    let (vcsim, govc) = world().await;
    let folder = vcsim.guest_folder().join("nest");
    govc.run(&["guest.mkdir", "-vm", VM, "-l", LOGIN, text(&folder)]).await;
    let options = ["--env", "TWIG=a=b", "--env", "MOSS=", "--dir", text(&folder), "--shell", "-c 'env; pwd'"];
    let told = printed(run(&vcsim, &[&options[..], &["--", "/bin/sh"]].concat()).await);
    let mut lines: Vec<_> =
        told.lines().filter(|line| !line.starts_with("PWD=") && !line.starts_with("_=")).collect();
    lines.sort_unstable();
    let mut expected = vec![text(&folder), "MOSS=", "TWIG=a=b"];
    expected.sort_unstable();
    assert_eq!(lines, expected, "{told}");
    refused(run(&vcsim, &["--env", "TWIG", "--", "/bin/sh"]).await, 2, &["NAME=VALUE"]);
    refused(run(&vcsim, &["/bin/sh"]).await, 2, &["--help"]);
}

#[tokio::test]
async fn a_detached_program_goes_on_by_itself() {
    let (vcsim, govc) = world().await;
    let file = vcsim.guest_folder().join("done");
    let script = format!("sleep 1; echo late >{}", text(&file));
    let told = printed(run(&vcsim, &["--detach", "--", "/bin/sh", "-c", &script]).await);
    let pid = told.trim_end().strip_prefix("DC0_H0_VM0: process ").expect("its process id");
    let listed = govc.json(&["guest.ps", "-vm", VM, "-l", LOGIN, "-p", pid]).await;
    assert_eq!(listed["processInfo"][0]["owner"], "worker", "{listed}");
    let content = || govc.guest_file(VM, LOGIN, text(&file));
    eventually("it is done", || async { content().await.is_some_and(|text| text == "late\n") }).await;
}

#[tokio::test]
async fn an_interrupted_command_says_that_its_program_goes_on() {
    let (vcsim, govc) = world().await;
    let (begun, file) = (vcsim.guest_folder().join("begun"), vcsim.guest_folder().join("done"));
    let script = format!("echo >{}; sleep 2; echo late >{}", text(&begun), text(&file));
    let running = as_worker(&vcsim, &["vm", "run", VM, "--", "/bin/sh", "-c", &script]).start();
    eventually("it has begun", || async { govc.guest_file(VM, LOGIN, text(&begun)).await.is_some() }).await;
    running.signal("INT");
    let outcome = running.end().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(130), ""));
    let words =
        "vCenter may still carry out what it was asked to do:\n  /bin/sh in the guest of DC0_H0_VM0 (";
    assert!(outcome.stderr.starts_with(words), "{outcome:?}");
    let files = "if it has started it goes on, and what it prints stays in files there\ninterrupted\n";
    assert!(outcome.stderr.ends_with(files), "{outcome:?}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
    let content = || govc.guest_file(VM, LOGIN, text(&file));
    eventually("it is done", || async { content().await.is_some_and(|text| text == "late\n") }).await;
}

#[tokio::test]
async fn a_terminal_shows_no_trace_of_the_progress_in_the_end() {
    let (vcsim, _) = world().await;
    let here = TempDir::new().expect("a folder");
    let (local, remote) = (here.path().join("eggs"), vcsim.guest_folder().join("eggs"));
    fs::write(&local, vec![7; 20 << 20]).expect("written");
    let upload = as_worker(&vcsim, &["vm", "upload", VM, text(&local), text(&remote)]);
    let terminal = Terminal::start(&upload, 200, 10);
    eventually("it has ended", || async { terminal.exit_code().is_some() }).await;
    let screen = terminal.screen();
    let lines: Vec<_> = screen.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let told = format!("{VM}: 20971520 bytes in {}", text(&remote));
    assert_eq!(lines, [told.as_str(), "the program ended with 0"], "{screen}");
}

#[tokio::test]
async fn without_a_guest_or_a_user_of_it_nothing_is_run() {
    let (vcsim, _) = world().await;
    let words = ["guest.user: is not set; give --guest-user", "guest.password: is not set"];
    refused(rookery(&vcsim, &["vm", "run", VM, "--", "/bin/true"]).await, 2, &words);
    let folder = TempDir::new().expect("a folder");
    let secret = folder.path().join("password");
    fs::write(&secret, "nest\n").expect("written");
    let login = ["vm", "run", VM, "--guest-user", "worker", "--guest-password-file", text(&secret)];
    let outcome = Program::against(&vcsim, &login).and(&["--", "/bin/echo", "hatched"]).run().await;
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "hatched\n"), "{}", outcome.stderr);
    // `--dry-run` said that it would be done, and without that it failed with 1.
    let remote = "/tmp/a\u{1}";
    for line in [
        &["vm", "run", VM, "--dry-run", "--", remote][..],
        &["vm", "run", VM, "--", remote],
        &["vm", "upload", VM, text(&secret), remote, "--dry-run"],
        &["vm", "upload", VM, text(&secret), remote],
        &["vm", "download", VM, remote, "-"],
    ] {
        refused(as_worker(&vcsim, line).run().await, 2, &["contains the control character U+0001"]);
    }
    let bare = as_worker(&vcsim, &["vm", "run", "DC0_H0_VM1", "--", "/bin/true"]).run().await;
    refused(bare, 1, &["VMware Tools do not run in the guest of \"DC0_H0_VM1\""]);
}

#[tokio::test]
async fn files_are_copied_into_the_guest_and_out_of_it() {
    let (vcsim, govc) = world().await;
    let here = TempDir::new().expect("a folder");
    let (local, remote) = (here.path().join("eggs"), vcsim.guest_folder().join("eggs"));
    let content: Vec<u8> = (0..5_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    fs::write(&local, &content).expect("written");
    let upload = as_worker(&vcsim, &["vm", "upload", "--mode", "0600", VM, text(&local), text(&remote)]);
    assert_eq!(printed(upload.run().await), format!("{VM}: 5000000 bytes in {}\n", text(&remote)));
    let witness = here.path().join("witness");
    govc.run(&["guest.download", "-vm", VM, "-l", LOGIN, text(&remote), text(&witness)]).await;
    assert!(fs::read(&witness).expect("govc wrote it") == content);

    let back = here.path().join("back");
    fs::write(&back, "something older").expect("written");
    let download = |from: &Path| as_worker(&vcsim, &["vm", "download", VM, text(from), text(&back)]);
    let missing = download(&vcsim.guest_folder().join("missing")).run().await;
    // vcsim says it only to whoever wants the content.
    let reason = ["is there such a file", "there is no such file"][usize::from(on_our_simulator())];
    refused(missing, 1, &["error: DC0_H0_VM0: cannot read ", reason]);
    assert_eq!(fs::read_to_string(&back).expect("it is there"), "something older");
    let told = printed(download(&remote).run().await);
    assert_eq!(told, format!("{VM}: 5000000 bytes in {}\n", text(&back)));
    assert!(fs::read(&back).expect("it is there") == content);
    let mut names = names_in(here.path());
    names.sort();
    assert_eq!(names, ["back", "eggs", "witness"]);
    let folder = here.path().join("nest");
    fs::create_dir(&folder).expect("made");
    let into = as_worker(&vcsim, &["vm", "download", VM, text(&remote), text(&folder)]);
    assert_eq!(printed(into.run().await), format!("{VM}: 5000000 bytes in {}\n", text(&folder.join("eggs"))));
    assert!(fs::read(folder.join("eggs")).expect("it is there") == content);
    assert_eq!(names_in(&folder), ["eggs"]);

    let folder = as_worker(&vcsim, &["vm", "upload", VM, text(here.path()), text(&remote)]).run().await;
    refused(folder, 1, &["is not a file"]);
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

/// What has not arrived whole was written to LOCAL.part: a file of that name was lost, what it pointed to was emptied, and a
/// pipe of that name was waited for. A device or a socket that LOCAL named became a file.
#[tokio::test]
async fn a_download_touches_no_file_but_the_one_that_it_names() {
    let (vcsim, _) = world().await;
    let here = TempDir::new().expect("a folder");
    let path = |name: &str| here.path().join(name);
    let (source, remote) = (path("source"), vcsim.guest_folder().join("eggs"));
    fs::write(&source, "eggs").expect("written");
    printed(as_worker(&vcsim, &["vm", "upload", VM, text(&source), text(&remote)]).run().await);

    for name in ["plain.part", "precious"] {
        fs::write(path(name), "kept").expect("written");
    }
    symlink("precious", path("link.part")).expect("a link");
    let _socket = UnixListener::bind(path("socket")).expect("a socket");
    fs::write(path("secret"), "older").expect("written");
    fs::set_permissions(path("secret"), Permissions::from_mode(0o600)).expect("it is ours");
    let mode = |name: &str| fs::metadata(path(name)).expect("it is there").permissions().mode();

    let download = async |from: &Path, name: &str| {
        as_worker(&vcsim, &["vm", "download", VM, text(from), text(&path(name))]).run().await
    };
    for name in ["plain", "link", "secret"] {
        printed(download(&remote, name).await);
        assert_eq!(fs::read_to_string(path(name)).expect("it is there"), "eggs");
    }
    assert_eq!((mode("plain"), mode("secret")), (mode("source"), 0o100_600));
    let missing = download(&vcsim.guest_folder().join("missing"), "link").await;
    assert_eq!(missing.code, Some(1), "{missing:?}");
    refused(download(&remote, "socket").await, 1, &["socket is there, and is not a file"]);
    assert!(fs::metadata(path("socket")).expect("it is there").file_type().is_socket());
    for name in ["plain.part", "precious", "link.part"] {
        assert_eq!(fs::read_to_string(path(name)).expect("it is there"), "kept", "{name}");
    }
    let mut names = names_in(here.path());
    names.sort();
    let expected = ["link", "link.part", "plain", "plain.part", "precious", "secret", "socket", "source"];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn neither_the_password_nor_the_token_of_a_file_is_logged() {
    let (vcsim, govc) = world().await;
    let (missing, file) = (vcsim.guest_folder().join("missing"), vcsim.guest_folder().join("file"));
    let here = TempDir::new().expect("a folder");
    let local = here.path().join("local");
    fs::write(&local, "x").expect("written");
    for (code, arguments) in [
        (0, ["vm", "upload", VM, text(&local), text(&file)]),
        (0, ["vm", "download", VM, text(&file), text(&local)]),
        (1, ["vm", "download", VM, text(&missing), text(&local)]),
    ] {
        let program = as_worker(&vcsim, &arguments).and(&["--log", "trace"]);
        let outcome = program.with("ROOKERY_GUEST__PASSWORD", "hunter2").run().await;
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("InitiateFileTransfer"), "calls are logged: {}", outcome.stderr);
        for secret in ["hunter2", "token="] {
            assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
        }
    }
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn an_address_is_printed_as_soon_as_there_is_one() {
    let (vcsim, govc) = world().await;
    let object = format!("VirtualMachine:{}", id_of(&govc, VM).await);
    let known = govc.property(&object, "guest.ipAddress").await;
    assert_eq!(printed(rookery(&vcsim, &["vm", "ip", VM]).await), format!("{known}\n"));
    assert_eq!(printed(rookery(&vcsim, &["vm", "ip", "--all", VM]).await), format!("{known}\n"));

    let other = "DC0_H0_VM1";
    let late = rookery(&vcsim, &["vm", "ip", "--wait", "1s", other]).await;
    refused(late, 1, &["\"DC0_H0_VM1\" has no address: VMware Tools"]);
    let set = async |address: &str| {
        govc.run(&["vm.change", "-vm", other, "-e", &format!("SET.guest.ipAddress={address}")]).await;
    };
    set("169.254.7.7").await;
    let mut waiting = start_rookery(&vcsim, &["vm", "ip", other]);
    eventually("it waits", || async { govc.sessions().await.len() == 1 }).await;
    set("fe80::7").await;
    set("10.7.7.7").await;
    assert_eq!(waiting.line().await, "10.7.7.7");
    assert_eq!(waiting.end().await.code, Some(0));

    govc.run(&["vm.power", "-off", other]).await;
    refused(rookery(&vcsim, &["vm", "ip", "--wait", "0s", other]).await, 1, &["it is not on"]);
    refused(
        rookery(&vcsim, &["vm", "ip", other]).await,
        1,
        &["it is off; start it with `rookery vm power on"],
    );
    set("10.7.7.8").await;
    let mut waiting = start_rookery(&vcsim, &["vm", "ip", "--wait", "1m", other]);
    eventually("it waits", || async { govc.sessions().await.len() == 1 }).await;
    govc.run(&["vm.power", "-on", other]).await;
    assert_eq!(waiting.line().await, "10.7.7.8");
    assert_eq!(waiting.end().await.code, Some(0));
}
