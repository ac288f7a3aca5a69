//! Programs that are run for real, and what they cannot do.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use rookery_vim_sim::Settings;
use rookery_vim_sim::server::exec;

use super::kit::{OTHER, Sim, VM};

/// A simulator that runs programs; none where the kernel forbids it, which must then be said clearly.
async fn start() -> Option<Sim> {
    match exec::check().await {
        Ok(()) => Some(Sim::start(Settings { allow_local_exec: true, ..Settings::default() }).await),
        Err(refused) => {
            let text = refused.to_string();
            assert!(text.contains("namespaces") && text.contains("util-linux"), "{text}");
            let sim = Sim::start(Settings { allow_local_exec: true, ..Settings::default() }).await;
            assert_ne!(sim.govc(&["guest.run", "-vm", VM, "/bin/true"]).await.code, 0);
            sim.stop().await;
            // The test command counts this as skipped; `println!` would be heard only if it failed.
            let thread = std::thread::current();
            let line = format!("\ntest left out: {}: {text}\n", thread.name().unwrap_or_default());
            std::io::stdout().lock().write_all(line.replace("\n ", " ").as_bytes()).unwrap();
            None
        }
    }
}

/// Processes of this machine whose command line has that text.
fn processes(text: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    all.filter(|entry| has(&entry.path())).count()
}

#[tokio::test]
async fn a_program_runs_for_real_with_exactly_the_environment_that_was_sent() {
    let Some(sim) = start().await else { return };
    let script = "'env | grep -v ^PWD=; echo oops >&2; exit 7'";
    let said = sim
        .govc(&["guest.run", "-vm", VM, "-e", "A=b c", "-e", "Q=it's $HOME", "/bin/sh", "-c", script])
        .await;
    let mut lines: Vec<&str> = said.output.lines().collect();
    lines.sort_unstable();
    assert_eq!((said.code, lines), (7, vec!["A=b c", "Q=it's $HOME"]), "{}", said.errors);
    assert!(said.errors.contains("oops"), "{}", said.errors);
    // The path and the arguments are one text for a shell.
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "/bin/echo", "-n ;echo $((6 * 7))"]).await, "42\n");
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "/bin/pwd"]).await, "/home/ci\n");
    assert_eq!(sim.said(&["guest.run", "-vm", VM, "-C", "/usr/local", "/bin/pwd"]).await, "/usr/local\n");
    sim.stop().await;
}

#[tokio::test]
async fn files_of_a_guest_are_those_that_its_programs_see() {
    let Some(sim) = start().await else { return };
    let here = sim.folder.path().join("here");
    std::fs::write(&here, "#!/bin/sh\necho I am \"$1\" >/tmp/said\n").unwrap();
    sim.said(&["guest.upload", "-vm", VM, "-perm", "0755", here.to_str().unwrap(), "/usr/local/bin/tool"])
        .await;
    sim.said(&["guest.run", "-vm", VM, "/usr/local/bin/tool", "real"]).await;
    assert_eq!(sim.said(&["guest.download", "-vm", VM, "/tmp/said", "-"]).await, "I am real\n");
    sim.said(&["guest.mkdir", "-vm", VM, "-p", "/tmp/a/b"]).await;
    sim.said(&["guest.mv", "-vm", VM, "/tmp/said", "/tmp/a/said"]).await;
    let listed = sim.said(&["guest.ls", "-vm", VM, "/tmp/a"]).await;
    assert!(listed.contains("said") && listed.contains('b') && listed.lines().count() == 2, "{listed}");
    assert!(sim.refused(&["guest.rm", "-vm", VM, "/tmp/none"]).await.contains("was not found"));
    assert!(sim.refused(&["guest.rmdir", "-vm", VM, "/tmp/a"]).await.contains("not empty"));
    let why = sim.refused(&["guest.upload", "-vm", VM, here.to_str().unwrap(), "/etc/here"]).await;
    assert!(why.contains("no permission"), "{why}");
    // What one guest has the others do not, and it lasts as long as the VM.
    assert!(sim.refused(&["guest.ls", "-vm", OTHER, "/tmp/a"]).await.contains("was not found"));
    sim.said(&["vm.power", "-reset", VM]).await;
    assert_eq!(sim.said(&["guest.download", "-vm", VM, "/tmp/a/said", "-"]).await, "I am real\n");
    sim.stop().await;
}

#[tokio::test]
async fn nothing_that_a_program_does_reaches_the_host() {
    let Some(sim) = start().await else { return };
    // Everybody on the host may write there, and it is no place that guests have of their own.
    let folder = tempfile::TempDir::new_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
    let marker = folder.path().join("marker");
    std::fs::write(&marker, "untouched").unwrap();
    open_to_all(folder.path(), 0o777);
    open_to_all(&marker, 0o666);
    let link = format!("ln -s {} /tmp/link; echo broken >/tmp/link", marker.display());
    let overwrite = format!("echo broken >{0}; rm -f {0}; echo broken >{0}", marker.display());
    let attempts = [
        "echo broken >/etc/rookery-was-here",
        "echo broken >/usr/bin/rookery-was-here",
        "echo broken >/var/lib/rookery-was-here",
        "mount -o remount,rw /",
        "mount -t tmpfs tmpfs /etc",
        "echo o >/proc/sysrq-trigger",
        "echo 1 >/proc/sys/kernel/panic",
        "chroot / true",
        &link,
        &overwrite,
        "kill -9 -1",
    ];
    let script = attempts.join("; ");
    // It kills itself with all others that it can see.
    sim.govc(&["guest.run", "-vm", VM, "/bin/sh", "-c", &format!("'{script}'")]).await;
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "untouched");
    for path in ["/etc", "/usr/bin", "/var/lib"] {
        assert!(!Path::new(path).join("rookery-was-here").exists(), "{path} was written to");
    }
    // Without a link that leads out of the guest, either.
    let here = sim.folder.path().join("here");
    std::fs::write(&here, "broken").unwrap();
    sim.govc(&[
        "guest.run",
        "-vm",
        OTHER,
        "/bin/sh",
        "-c",
        &format!("'ln -s {} /tmp/link'", marker.display()),
    ])
    .await;
    sim.govc(&["guest.upload", "-vm", OTHER, "-f", here.to_str().unwrap(), "/tmp/link"]).await;
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "untouched");
    let status = sim.said(&["guest.run", "-vm", OTHER, "/bin/cat", "/proc/self/status"]).await;
    assert!(
        status.contains("CapEff:\t0000000000000000") && status.contains("CapBnd:\t0000000000000000"),
        "{status}"
    );
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    let limits = sim.said(&["guest.run", "-vm", OTHER, "/bin/cat", "/proc/self/limits"]).await;
    assert!(
        limits.lines().any(|line| line.starts_with("Max processes") && line.contains(" 4096 ")),
        "{limits}"
    );
    sim.stop().await;
}

#[tokio::test]
async fn what_a_guest_plants_never_runs_with_the_rights_that_make_a_guest() {
    let Some(sim) = start().await else { return };
    // Once, the tools that take a program's rights away were looked for where guests can put their own.
    let plant = "for name in sh setsid setpriv prlimit env cat find mkdir mount umount readlink hostname; do \
                 printf \"#!/bin/sh\\necho >>/tmp/planted\\n\" >/usr/local/bin/$name; chmod 755 /usr/local/bin/$name; \
                 done";
    sim.said(&["guest.run", "-vm", VM, "-e", "A=1", "/bin/sh", "-c", &format!("'{plant}'")]).await;
    assert!(sim.said(&["guest.ls", "-vm", VM, "/usr/local/bin"]).await.contains("setpriv"));
    for _ in 0..2 {
        sim.said(&["guest.run", "-vm", VM, "-e", "A=1", "/bin/true"]).await;
        assert!(sim.refused(&["guest.ls", "-vm", VM, "/tmp/planted"]).await.contains("was not found"));
        sim.said(&["vm.power", "-reset", VM]).await;
    }
    sim.stop().await;
}

#[tokio::test]
async fn a_guest_that_powers_off_takes_its_programs_with_it_and_nothing_else() {
    let Some(sim) = start().await else { return };
    let mine = format!("{}.125", 100_000 + std::process::id());
    let others = format!("{}.375", 100_000 + std::process::id());
    let others_pid = sim.said(&["guest.start", "-vm", OTHER, "/bin/sleep", &others]).await;
    // In the background as well: what a program leaves behind goes too.
    sim.said(&["guest.start", "-vm", VM, "/bin/sh", "-c", &format!("'sleep {mine} & sleep {mine}'")]).await;
    // The program itself, its shells, and what reports its end.
    while processes(&format!("sleep\0{mine}")) < 2 || processes(&format!("sleep\0{others}")) < 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // No path, no rights, and the way of scripts to do it.
    sim.said(&["guest.start", "-vm", VM, "-e", "A=1", "/bin/echo", "-n ;sudo -n shutdown -h now"]).await;
    sim.wait_for_power(VM, "poweredOff").await;
    while processes(&mine) > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(sim.power(OTHER).await, "poweredOn");
    assert_eq!(processes(&format!("sleep\0{others}")), 1);
    // It starts again, and nothing of before is there.
    sim.said(&["vm.power", "-on", VM]).await;
    assert_eq!(sim.said(&["guest.ps", "-vm", VM]).await.lines().count(), 1);
    sim.said(&["guest.kill", "-vm", OTHER, "-p", others_pid.trim()]).await;
    let ended = sim.said(&["guest.ps", "-vm", OTHER, "-X", "-p", others_pid.trim(), "-json"]).await;
    assert!(ended.contains("143"), "{ended}");
    while processes(&others) > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    sim.said(&["guest.start", "-vm", OTHER, "/bin/sleep", &others]).await;
    while processes(&format!("sleep\0{others}")) < 1 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Nor does anything outlive the simulator.
    sim.stop().await;
    while processes(&others) > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn open_to_all(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
