//! Guest operations without real programs.

use jiff::SignedDuration;
use rookery_vim_sim::{GuestPower, GuestTimes, Login, Notice, ProgramRule, Settings};

use super::kit::{OTHER, Sim, VM};

fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: password.to_owned() }
}

#[tokio::test]
async fn a_program_runs_and_says_what_it_plainly_says() {
    let sim = Sim::start(Settings::default()).await;
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "/bin/echo", "hello"]).await, "hello\n");
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "-e", "A=1", "/usr/bin/env"]).await, "A=1\n");
    assert_eq!(sim.govc(&["guest.run", "-vm", VM, "/bin/sh", "-c", "'exit 3'"]).await.code, 3);
    assert_eq!(sim.said(&["guest.getenv", "-vm", VM, "HOME"]).await.trim(), "HOME=/home/ci");
    let listed = sim.said(&["guest.ps", "-vm", VM, "-X"]).await;
    assert!(listed.contains("echo") && listed.contains("env"), "{listed}");
    assert_eq!(sim.said(&["guest.ps", "-vm", OTHER]).await.lines().count(), 1);
    sim.stop().await;
}

#[tokio::test]
async fn a_program_runs_until_it_is_ended() {
    let sim = Sim::start(Settings::default()).await;
    let pid = sim.said(&["guest.start", "-vm", VM, "/bin/sleep", "3600"]).await;
    let pid = pid.trim();
    assert!(sim.said(&["guest.ps", "-vm", VM, "-p", pid]).await.contains("sleep"));
    sim.said(&["guest.kill", "-vm", VM, "-p", pid]).await;
    let ended = sim.said(&["guest.ps", "-vm", VM, "-x", "-p", pid, "-json"]).await;
    assert!(ended.contains("\"exitCode\": 143") || ended.contains("\"exitCode\":143"), "{ended}");
    assert!(sim.refused(&["guest.kill", "-vm", VM, "-p", pid]).await.contains("process does not exist"));
    sim.stop().await;
}

#[tokio::test]
async fn files_go_into_a_guest_and_come_out_as_they_were() {
    let sim = Sim::start(Settings::default()).await;
    let content: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let (there, back) = (sim.folder.path().join("there"), sim.folder.path().join("back"));
    std::fs::write(&there, &content).unwrap();
    let (there, back_text) = (there.to_str().unwrap(), back.to_str().unwrap());
    sim.said(&["guest.upload", "-vm", VM, "-perm", "0750", there, "/tmp/there"]).await;
    sim.said(&["guest.download", "-vm", VM, "/tmp/there", back_text]).await;
    assert!(std::fs::read(&back).unwrap() == content, "another content came back");
    let listed = sim.said(&["guest.ls", "-vm", VM, "/tmp"]).await;
    assert!(
        listed.contains("-rwxr-x---") && listed.contains("293.0K") && listed.contains("there"),
        "{listed}"
    );
    assert!(sim.refused(&["guest.upload", "-vm", VM, there, "/tmp/there"]).await.contains("already exists"));
    assert!(sim.refused(&["guest.upload", "-vm", VM, there, "/none/there"]).await.contains("was not found"));
    assert!(sim.refused(&["guest.download", "-vm", VM, "/tmp/none", "-"]).await.contains("was not found"));
    // What one guest has the others do not.
    assert_eq!(sim.said(&["guest.ls", "-vm", OTHER, "/tmp"]).await, "");
    sim.stop().await;
}

#[tokio::test]
async fn directories_are_made_moved_and_removed() {
    let sim = Sim::start(Settings::default()).await;
    let vm = |command: &'static str| vec![command, "-vm", VM];
    let run = async |command: &'static str, rest: &[&str]| sim.said(&[&vm(command)[..], rest].concat()).await;
    let refused =
        async |command: &'static str, rest: &[&str]| sim.refused(&[&vm(command)[..], rest].concat()).await;
    run("guest.mkdir", &["-p", "/srv/a/b"]).await;
    assert!(refused("guest.mkdir", &["/srv/a"]).await.contains("already exists"));
    assert!(refused("guest.mkdir", &["/srv/x/y"]).await.contains("was not found"));
    let file = run("guest.mktemp", &["-p", "/srv/a", "-s", ".log"]).await;
    assert!(file.starts_with("/srv/a/") && file.trim().strip_suffix(".log").is_some(), "{file}");
    let directory = run("guest.mktemp", &["-d"]).await;
    assert!(directory.starts_with("/tmp/"), "{directory}");
    run("guest.chmod", &["0640", file.trim()]).await;
    run("guest.mv", &[file.trim(), "/srv/a/b/moved"]).await;
    let listed = run("guest.ls", &["/srv/a/b"]).await;
    assert!(listed.contains("-rw-r-----") && listed.contains("moved"), "{listed}");
    assert!(refused("guest.rmdir", &["/srv/a"]).await.contains("not empty"));
    run("guest.rm", &["/srv/a/b/moved"]).await;
    assert!(refused("guest.rm", &["/srv/a/b/moved"]).await.contains("was not found"));
    run("guest.rmdir", &["-r", "/srv"]).await;
    assert!(refused("guest.ls", &["/srv"]).await.contains("was not found"));
    sim.stop().await;
}

#[tokio::test]
async fn a_guest_knows_its_users_and_clones_know_those_of_their_template() {
    let settings = Settings {
        guest_login: Some(login("ci", "secret")),
        guest_logins: vec![(OTHER.to_owned(), login("root", "other"))],
        ..Settings::default()
    };
    let sim = Sim::start(settings).await;
    sim.said(&["guest.run", "-vm", VM, "/bin/true"]).await;
    for wrong in ["ci:wrong", "root:secret"] {
        let why = sim.refused(&["guest.run", "-l", wrong, "-vm", VM, "/bin/true"]).await;
        assert!(why.contains("Failed to authenticate"), "{wrong}: {why}");
    }
    sim.said(&["vm.clone", "-vm", OTHER, "-on=true", "copy"]).await;
    for vm in [OTHER, "copy"] {
        sim.said(&["guest.run", "-l", "root:other", "-vm", vm, "/bin/true"]).await;
        sim.refused(&["guest.run", "-vm", vm, "/bin/true"]).await;
    }
    sim.stop().await;
}

#[tokio::test]
async fn a_rule_decides_what_a_program_does_and_what_becomes_of_the_vm() {
    let rule = ProgramRule {
        vm: "*_VM0".to_owned(),
        program: "/opt/worker".to_owned(),
        exit_code: 4,
        runs: SignedDuration::from_millis(300),
        prints: "working\n".to_owned(),
        writes: [("/var/log/worker".to_owned(), "all done".to_owned())].into(),
        ..ProgramRule::default()
    };
    let last = ProgramRule {
        program: "/opt/last".to_owned(),
        then: Some(GuestPower::Off),
        ..ProgramRule::default()
    };
    let sim = Sim::start(Settings { programs: vec![rule, last], ..Settings::default() }).await;
    let said = sim.govc(&["guest.run", "-vm", VM, "/opt/worker", "--all"]).await;
    assert_eq!((said.code, said.output.as_str()), (4, "working\n"));
    assert_eq!(sim.said(&["guest.download", "-vm", VM, "/var/log/worker", "-"]).await, "all done");
    assert_eq!(sim.said(&["guest.run", "-vm", OTHER, "/opt/worker"]).await, "");
    sim.said(&["guest.start", "-vm", VM, "/opt/last"]).await;
    sim.wait_for_power(VM, "poweredOff").await;
    assert_eq!(sim.power(OTHER).await, "poweredOn");
    assert!(sim.refused(&["guest.ps", "-vm", VM]).await.contains("Powered off"));
    sim.stop().await;
}

#[tokio::test]
async fn a_script_behind_an_echo_shuts_its_machine_down() {
    // A client that knows the server by a name asks the host for its addresses before it fetches a file.
    let sim = Sim::start(Settings::default()).await.by_name();
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "/bin/echo", "-n ;echo hello"]).await, "hello\n");
    sim.said(&["guest.start", "-vm", VM, "/bin/echo", "-n ;cd /tmp; ./worker && sudo shutdown -h now"]).await;
    sim.wait_for_power(VM, "poweredOff").await;
    assert_eq!(sim.power(OTHER).await, "poweredOn");
    sim.stop().await;
}

#[tokio::test]
async fn a_guest_that_is_not_there_yet_says_so() {
    let guests = GuestTimes { operations: SignedDuration::from_hours(1).into(), ..GuestTimes::default() };
    let sim = Sim::start(Settings { guests, ..Settings::default() }).await;
    sim.said(&["vm.power", "-reset", VM]).await;
    let why = sim.refused(&["guest.run", "-vm", VM, "/bin/true"]).await;
    assert!(why.contains("agent could not be contacted"), "{why}");
    sim.stop().await;
}

#[tokio::test]
async fn whoever_listens_learns_that_a_vm_booted_with_an_iso() {
    let sim = Sim::start(Settings::default()).await;
    let mut notices = sim.running.notices();
    let iso = sim.folder.path().join("setup.iso");
    std::fs::write(&iso, "not much of a disc").unwrap();
    sim.said(&["datastore.mkdir", "-ds", "LocalDS_0", "iso"]).await;
    sim.said(&["datastore.upload", "-ds", "LocalDS_0", iso.to_str().unwrap(), "iso/setup.iso"]).await;
    sim.said(&[
        "vm.create",
        "-ds",
        "LocalDS_0",
        "-on=true",
        "-net",
        "VM Network",
        "-iso",
        "iso/setup.iso",
        "installed",
    ])
    .await;
    let Ok(Notice::Booted { name, iso, .. }) = notices.recv().await else { panic!("nothing boots") };
    assert_eq!((name.as_str(), iso.as_deref()), ("installed", Some("[LocalDS_0] iso/setup.iso")));
    sim.said(&["vm.power", "-reset", VM]).await;
    let Ok(Notice::Booted { name, iso, .. }) = notices.recv().await else { panic!("nothing boots") };
    assert_eq!((name.as_str(), iso), (VM, None));
    sim.stop().await;
}
