//! Programs and files inside guests, witnessed on disk and by `govc`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rookery_daemon::Supervisor;
use rookery_daemon::telemetry::chain;
use rookery_kit::{
    Connected, Govc, Proxy, Vcsim, VcsimOptions, connect, eventually, on_our_simulator, only_on_vcsim,
};
use rookery_vim::{Fault, FaultKind, MoRef};
use rookery_vim_client::{
    GuestError, GuestFileError, GuestUser, Guests, PowerChange, Program, TransferError,
};
use tempfile::TempDir;

const VM: &str = "DC0_H0_VM0";
const LOGIN: &str = "worker:nest";

/// One VM with a guest.
struct World {
    vcsim: Vcsim,
    govc: Govc,
    ours: Connected,
    guests: Guests,
    vm: MoRef,
    user: GuestUser,
    // Of this side.
    here: TempDir,
}

impl World {
    async fn start(options: VcsimOptions) -> Self {
        let vcsim = Vcsim::start(options.with_guests()).await;
        let address = vcsim.address().to_owned();
        Self::over(vcsim, &address).await
    }

    async fn over(vcsim: Vcsim, address: &str) -> Self {
        let govc = Govc::new(&vcsim);
        govc.give_guest(VM).await;
        let ours = connect(address).await;
        let snapshot = ours.inventory.complete().await.expect("it loads");
        let vm = snapshot.named(VM).next().expect("the VM").id.clone();
        let guests = Guests::new(ours.client.clone());
        let user = GuestUser { name: "worker".to_owned(), password: "nest".into() };
        Self { vcsim, govc, ours, guests, vm, user, here: TempDir::new().expect("a folder") }
    }

    fn in_guest(&self, name: &str) -> String {
        self.vcsim.guest_folder().join(name).to_str().expect("a plain path").to_owned()
    }

    fn here(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    async fn start_program(&self, arguments: &str) -> i64 {
        let started = self.guests.start(&self.vm, &self.user, &shell(arguments)).await;
        started.unwrap_or_else(|error| panic!("{arguments}: {error:?}"))
    }

    async fn end_of(&self, pid: i64) -> i32 {
        let often = std::iter::repeat_n(Duration::from_millis(20), 3000);
        let ended = self.guests.ended(&self.vm, &self.user, pid, often).await;
        ended.unwrap_or_else(|error| panic!("{error:?}"))
    }

    async fn upload(&self, path: &str, content: Vec<u8>) -> Result<(), GuestError> {
        let size = content.len() as u64;
        self.guests.upload(&self.vm, &self.user, path, Some(0o644), size, io::Cursor::new(content)).await
    }

    async fn download(&self, path: &str) -> Result<Vec<u8>, GuestError> {
        let mut content = Vec::new();
        let size = self.guests.download(&self.vm, &self.user, path, &mut content).await?;
        assert_eq!(size, content.len() as u64);
        Ok(content)
    }

    /// What govc reads from the guest.
    async fn fetched(&self, path: &str) -> Vec<u8> {
        let local = self.here("fetched");
        let to = local.to_str().expect("a plain path");
        self.govc.run(&["guest.download", "-f", "-vm", VM, "-l", LOGIN, path, to]).await;
        fs::read(local).expect("govc wrote it")
    }
}

fn shell(arguments: &str) -> Program {
    Program {
        path: "/bin/sh".to_owned(),
        arguments: arguments.to_owned(),
        environment: Vec::new(),
        directory: None,
    }
}

/// Content that no compression and no line ending survives unnoticed.
fn bytes(size: usize) -> Vec<u8> {
    (0..size as u64).map(|n| n.wrapping_mul(n).wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect()
}

#[tokio::test]
async fn a_program_gets_its_arguments_environment_and_directory_and_its_exit_code_is_told() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let folder = world.in_guest("nest");
    world.govc.run(&["guest.mkdir", "-vm", VM, "-l", LOGIN, &folder]).await;
    let script = "printf \"%s|\" \"$0\" \"$@\" \"$TWIG\" \"$PATH\" \"$PWD\" >told; exit 7";
    let program = Program {
        path: "/bin/sh".to_owned(),
        arguments: format!("-c '{script}' 'größe & <x>' \"two  spaces\" 'line\nreturn\rtab\t' \"it's\""),
        environment: vec![("TWIG".to_owned(), "a=b".to_owned()), ("PATH".to_owned(), "/bin".to_owned())],
        directory: Some(folder.clone()),
    };
    let pid = world.guests.start(&world.vm, &world.user, &program).await.expect("it starts");
    assert_eq!(world.end_of(pid).await, 7);
    let expected = format!("größe & <x>|two  spaces|line\nreturn\rtab\t|it's|a=b|/bin|{folder}|");
    let told = world.fetched(&format!("{folder}/told")).await;
    assert_eq!(String::from_utf8_lossy(&told), expected);

    let process = world.govc.json(&["guest.ps", "-vm", VM, "-l", LOGIN, "-p", &pid.to_string()]).await;
    let process = &process["processInfo"][0];
    assert_eq!((&process["exitCode"], &process["owner"]), (&7.into(), &"worker".into()), "{process}");

    let silent = world.start_program("-c true").await;
    assert_eq!(world.end_of(silent).await, 0, "the server leaves out a code of 0");
    let both = world.guests.processes(&world.vm, &world.user, &[pid, silent]).await.expect("they are listed");
    assert_eq!(both.len(), 2);
    world.ours.close().await;
}

#[tokio::test]
async fn a_program_that_goes_on_is_waited_for_and_can_be_ended() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let (guests, vm, user) = (&world.guests, &world.vm, &world.user);
    // vcsim ends the shell around a program, and not the program: it should not stay for long.
    let program = Program { path: "/bin/sleep".to_owned(), ..shell("20") };
    let pid = guests.start(vm, user, &program).await.expect("it starts");
    let few = [Duration::from_millis(10); 3];
    let waited = guests.ended(vm, user, pid, few).await.expect_err("it sleeps");
    assert!(matches!(waited, GuestError::StillRunning { .. }), "{waited:?}");
    guests.terminate(vm, user, pid).await.expect("it is ended");
    assert_ne!(world.end_of(pid).await, 0);
    let process = world.govc.json(&["guest.ps", "-vm", VM, "-l", LOGIN, "-p", &pid.to_string()]).await;
    assert!(process["processInfo"][0]["endTime"].is_string(), "{process}");

    let nobody = guests.terminate(vm, user, 4_000_000).await.expect_err("there is no such process");
    assert_eq!(nobody.fault().map(Fault::kind), Some(FaultKind::GuestProcessNotFound));
    assert!(nobody.to_string().contains("there is no such process"), "{nobody}");
    let forgotten = guests.ended(vm, user, 4_000_000, few).await.expect_err("there is no such process");
    assert!(matches!(forgotten, GuestError::Forgotten { .. }), "{forgotten:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn files_of_any_size_arrive_whole_in_both_directions() {
    let world = World::start(VcsimOptions::tls(1)).await;
    for size in [0, 1, 65_536, 5 << 20] {
        let (content, path) = (bytes(size), world.in_guest(&format!("größe {size} 100% #?&.bin")));
        world.upload(&path, content.clone()).await.unwrap_or_else(|error| panic!("{size}: {error:?}"));
        assert!(world.fetched(&path).await == content, "{size} bytes up");
        world.upload(&path, bytes(size + 1)).await.expect("in place of the first");
        assert!(world.fetched(&path).await == bytes(size + 1), "{size} bytes up again");

        let path = world.in_guest(&format!("by-govc-{size}"));
        let local = world.here("local");
        fs::write(&local, &content).expect("written");
        let from = local.to_str().expect("a plain path");
        if size == 0 {
            // govc sends an empty file without a length, which vcsim does not take.
            let made = world.start_program(&format!("-c ': >{path}'")).await;
            assert_eq!(world.end_of(made).await, 0);
        } else {
            world.govc.run(&["guest.upload", "-f", "-vm", VM, "-l", LOGIN, from, &path]).await;
        }
        assert!(world.download(&path).await.expect("it is there") == content, "{size} bytes down");
    }
    world.ours.close().await;
}

#[tokio::test]
async fn a_file_that_becomes_shorter_on_its_way_is_told_and_the_next_one_arrives() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let path = world.in_guest("short");
    let content = io::Cursor::new(bytes(100_000));
    let error = world.guests.upload(&world.vm, &world.user, &path, None, 100_001, content).await;
    let error = error.expect_err("a byte is missing");
    let GuestError::Transfer { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(**source, GuestFileError::Transfer(TransferError::SourceShort { .. })), "{error:?}");
    assert!(chain(&error).contains("the source ended after 100000 of 100001 bytes"), "{}", chain(&error));
    world.upload(&path, bytes(100_001)).await.expect("nothing is left of the failure");
    assert!(world.fetched(&path).await == bytes(100_001));

    let missing = world.download(&world.in_guest("missing")).await.expect_err("there is none");
    // vcsim says it only to whoever wants the content.
    let reason = ["is there such a file", "there is no such file"][usize::from(on_our_simulator())];
    assert!(chain(&missing).contains(reason), "{}", chain(&missing));
    assert!(!format!("{missing:?}").contains("token"), "{missing:?}");
    world.ours.close().await;
}

#[tokio::test]
async fn a_temporary_file_is_new_and_can_be_removed() {
    let world = World::start(VcsimOptions::plain(1)).await;
    let (guests, vm, user) = (&world.guests, &world.vm, &world.user);
    let one = guests.temporary_file(vm, user, "rookery-", "-out").await.expect("it is made");
    let other = guests.temporary_file(vm, user, "rookery-", "-out").await.expect("it is made");
    assert_ne!(one, other);
    assert!(one.contains("/rookery-") && one.ends_with("-out"), "{one}");
    let listed = world.govc.run(&["guest.ls", "-vm", VM, "-l", LOGIN, &one]).await;
    assert!(listed.contains(&one), "{listed}");
    guests.delete_file(vm, user, &one).await.expect("it is removed");
    let content = async |path: &str| world.govc.guest_file(VM, LOGIN, path).await;
    assert_eq!((content(&one).await, content(&other).await.as_deref()), (None, Some("")));
    world.ours.close().await;
}

/// Repeating a lost start would run the program twice.
#[tokio::test]
async fn a_start_whose_answer_is_lost_is_not_repeated_and_is_said_to_be_open() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with_guests()).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let world = World::over(vcsim, proxy.address()).await;
    let log = world.in_guest("log");
    let program = shell(&format!("-c 'echo ran >>{log}'"));

    proxy.lose("StartProgramInGuest");
    let error = world.guests.start(&world.vm, &world.user, &program).await.expect_err("nobody knows");
    assert!(matches!(error, GuestError::MayHaveStarted { .. }), "{error:?}");
    assert!(error.may_have_happened() && !error.is_transient());
    assert!(error.to_string().starts_with("/bin/sh may have started in the guest of vm-"), "{error}");

    let logged = async || world.govc.guest_file(VM, LOGIN, &log).await.unwrap_or_default();
    eventually("the program ran", async || logged().await == "ran\n").await;
    // A second one would come before this one.
    let last = world.start_program(&format!("-c 'echo last >>{log}'")).await;
    assert_eq!(world.end_of(last).await, 0);
    assert_eq!(logged().await, "ran\nlast\n");

    // A question may be asked again.
    proxy.lose("ListProcessesInGuest");
    assert_eq!(world.end_of(last).await, 0);
    world.ours.close().await;
}

#[tokio::test]
async fn what_is_refused_says_what_to_do() {
    let world = World::start(VcsimOptions::plain(2)).await;
    world.vcsim.silence_guest("DC0_H0_VM1").await;
    let (guests, vm) = (&world.guests, &world.vm);
    let check = |error: GuestError, kind: FaultKind, transient: bool, words: &str| {
        assert_eq!(error.fault().map(Fault::kind), Some(kind), "{error:?}");
        assert_eq!(error.is_transient(), transient, "{error:?}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let snapshot = world.ours.inventory.snapshot();
    let bare = &snapshot.named("DC0_H0_VM1").next().expect("another VM").id;
    let error = guests.download(bare, &world.user, "/x", &mut Vec::new()).await.expect_err("no guest");
    check(error, FaultKind::GuestOperationsUnavailable, true, "wait until guest operations are ready");

    let nobody = GuestUser { name: "worker".to_owned(), password: "".into() };
    let error = guests.delete_file(vm, &nobody, "/x").await.expect_err("no password");
    check(error, FaultKind::InvalidGuestLogin, false, "it refuses the user or the password");

    world.ours.machines.power(vm, PowerChange::Off, Duration::from_secs(60)).await.expect("off");
    let error = guests.delete_file(vm, &world.user, "/x").await.expect_err("it is off");
    check(error, FaultKind::InvalidPowerState, false, "the VM must be on");
    world.ours.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_check_a_password_is_told_from_a_wrong_password() {
    if only_on_vcsim() {
        return;
    }
    let world = World::start(VcsimOptions::plain(1)).await;
    let error = world.guests.validate(&world.vm, &world.user).await.expect_err("the simulator cannot");
    assert!(matches!(error, GuestError::Unsupported { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "this server cannot check a password in guests: it has no GuestAuthManager"
    );
    world.ours.close().await;
}

/// vCenter may send the content to the host that the VM is on. The host must show the certificate that vCenter knows.
#[tokio::test]
async fn a_file_goes_to_the_host_if_vcenter_says_so_and_to_nobody_who_merely_claims_to_be_it() {
    if only_on_vcsim() {
        return;
    }
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with_guests()).await;
    let host = Vcsim::start(VcsimOptions::tls(0).with_guests_of(&vcsim)).await;
    let impostor = Vcsim::start(VcsimOptions::issued(0, "valid").with_guests_of(&vcsim)).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    let world = World::over(vcsim, proxy.address()).await;
    let on = |server: &Vcsim, scheme: &str| {
        let (_, port) = server.socket().rsplit_once(':').expect("a port");
        format!("{scheme}://localhost:{port}/guestFile")
    };
    let send_to = |from: &str, to: &str| {
        for method in ["InitiateFileTransferToGuest", "InitiateFileTransferFromGuest"] {
            proxy.rewrite(method, from, to);
        }
    };

    send_to("http://*/guestFile", &on(&host, "https"));
    let (path, content) = (world.in_guest("file"), bytes(1 << 20));
    world.upload(&path, content.clone()).await.expect("the host takes it");
    assert!(fs::read(&path).expect("it is there") == content);
    assert!(world.download(&path).await.expect("the host gives it") == content);
    let through_vcenter = proxy.exchanges().iter().any(|exchange| exchange.method.contains("guestFile"));
    assert!(!through_vcenter, "the content went another way");

    send_to(&on(&host, "https"), &on(&impostor, "https"));
    let error = world.upload(&path, bytes(10)).await.expect_err("that is somebody else");
    assert!(chain(&error).contains("is not the server that was pinned"), "{}", chain(&error));

    send_to(&on(&impostor, "https"), &on(&host, "http"));
    let error = world.upload(&path, bytes(10)).await.expect_err("everybody could read it");
    assert!(chain(&error).contains("was not sent there unprotected"), "{}", chain(&error));
    assert!(fs::read(&path).expect("it is there") == content, "nothing of it arrived");
    world.ours.close().await;
}
