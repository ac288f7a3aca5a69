//! What TAB offers, in a real bash, and to the scripts of other shells; that it is silent, and careful with vCenter.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{env, fs};

use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Program, Proxy, Vcsim, VcsimOptions, binary, eventually, rookery};
use tempfile::TempDir;
use tokio::process::Command;

use super::printed;

/// Asks what the script of a shell asks, without the shell: what stands behind the name of the program, the last word unfinished.
fn tab(vcsim: &Vcsim, cache: &Path, words: &[&str]) -> Program {
    let cache = cache.to_str().expect("text");
    Program::against(vcsim, &["__complete", "zsh", "--"]).and(words).with("XDG_CACHE_HOME", cache)
}

/// The command lines of the processes that load what TAB is to offer.
fn loading() -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| line.trim_end_matches('\0').replace('\0', " "));
    lines.filter(|line| line.contains("--refresh")).collect()
}

/// The script, and a bash that does with a line what TAB and Enter do: `$2` is what bash replaces, as it finds it.
const BASH: &str = r#"
source <(rookery completions bash)
COMP_LINE=$1 COMP_POINT=${#1}
$(complete -p rookery | sed -E 's/.*-F ([^ ]+).*/\1/') rookery "$2" previous
((${#COMPREPLY[@]} == 1)) || { printf 'replies: %s\n' "${COMPREPLY[@]}"; exit; }
eval "set -- ${1%"$2"}${COMPREPLY[0]}$3"
printf '%s\n' "${@: -1}"
"#;

#[tokio::test]
async fn bash_completes_names_with_blanks_quotes_and_colons() {
    let (vcsim, cache) = (Vcsim::start(VcsimOptions::tls(4)).await, TempDir::new().expect("a folder"));
    for (number, name) in ["web 1", r#"it's "$x""#, "a:b c", "a:d"].into_iter().enumerate() {
        printed(rookery(&vcsim, &["vm", "rename", &format!("DC0_H0_VM{number}"), name]).await);
    }
    let path =
        format!("{}:{}", binary().parent().expect("a folder").display(), env::var("PATH").expect("a path"));
    for (line, replaced, close, expected) in [
        ("rookery vm info we", "we", "", "web 1\n"),
        (r"rookery vm info web\ ", r"web\ ", "", "web 1\n"),
        ("rookery vm info \"we", "we", "\"", "web 1\n"),
        ("rookery vm info 'it", "it", "'", "it's \"$x\"\n"),
        ("rookery vm info \"it", "it", "\"", "it's \"$x\"\n"),
        ("rookery vm info it", "it", "", "it's \"$x\"\n"),
        ("rookery vm info a:b", "b", "", "a:b c\n"),
        ("rookery vm info \"a:b", "a:b", "\"", "a:b c\n"),
        ("rookery vm info a:", "", "", "replies: b\\ c\nreplies: d\n"),
        ("rookery vm power off 'web 1' a:d we", "we", "", "web 1\n"),
        ("rookery vm ls --output=j", "j", "", "--output=json\n"),
        ("rookery vm po", "po", "", "power\n"),
    ] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", BASH, "bash", line, replaced, close]);
        bash.env_clear().env("PATH", &path).env("XDG_CACHE_HOME", cache.path()).env("GOVC_INSECURE", "1");
        bash.env("GOVC_URL", vcsim.address())
            .env("GOVC_USERNAME", Vcsim::USER)
            .env("GOVC_PASSWORD", Vcsim::PASSWORD);
        let output = bash.output().await.expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}");
    }
    assert_eq!(Govc::new(&vcsim).sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn one_login_serves_many_tabs_and_leaves_no_session_and_no_secret() {
    let (vcsim, cache) = (Vcsim::start(VcsimOptions::plain(2)).await, TempDir::new().expect("a folder"));
    let govc = Govc::new(&vcsim);
    govc.run(&["vm.power", "-off", "DC0_H0_VM1"]).await;
    govc.run(&["vm.markastemplate", "DC0_H0_VM1"]).await;
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    for (words, expected) in [
        (&["vm", "info", ""][..], "words\nDC0_H0_VM0\tVM\nDC0_H0_VM1\ttemplate\n"),
        (&["vm", "power", "off", "DC0_H0_VM0"], "words\nDC0_H0_VM0\tVM\n"),
        (&["doctor", "--template="], "words\n--template=DC0_H0_VM1\ttemplate\n"),
        (&["vm", "info", "no such"], "words\n"),
    ] {
        let program = tab(&vcsim, cache.path(), words).with("GOVC_URL", proxy.address());
        assert_eq!(printed(program.run().await), expected, "{words:?}");
    }
    let up = tab(&vcsim, cache.path(), &["up", "--vcenter", proxy.address(), "--template", ""]);
    assert_eq!(printed(up.without("GOVC_URL").run().await), "words\nDC0_H0_VM1\ttemplate\n");
    let logins = proxy.exchanges().iter().filter(|exchange| exchange.method == "Login").count();
    assert_eq!((logins, govc.sessions().await), (1, Vec::<String>::new()));
    for entry in fs::read_dir(cache.path().join("rookery/completion")).expect("a folder") {
        let path = entry.expect("an entry").path();
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600, "{path:?}");
        assert!(!fs::read_to_string(&path).expect("text").contains(Vcsim::PASSWORD), "{path:?}");
    }
}

#[tokio::test]
async fn a_vcenter_that_is_away_or_refuses_is_asked_once_and_nothing_is_said() {
    let (mut vcsim, cache) = (Vcsim::start(VcsimOptions::plain(1)).await, TempDir::new().expect("a folder"));
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    proxy.refuse("Login", hyper::StatusCode::SERVICE_UNAVAILABLE);
    let nothing = async |words: &[&str]| {
        let program = tab(&vcsim, cache.path(), words).with("GOVC_URL", proxy.address());
        assert_eq!(printed(program.run().await), "words\n", "{words:?}");
    };
    nothing(&["vm", "info", ""]).await;
    let calls = proxy.exchanges().len();
    assert!(calls > 0, "it tried");
    nothing(&["vm", "info", ""]).await;
    nothing(&["vm", "clone", ""]).await;
    assert_eq!(proxy.exchanges().len(), calls, "nobody tries again at once");
    vcsim.kill().await;
    for words in [
        &["vm", "info", ""][..],
        &["vm", "info", "--no-such-flag", "x", ""],
        &["vm", "info", "--endpoint", "::", ""],
    ] {
        assert_eq!(printed(tab(&vcsim, cache.path(), words).run().await), "words\n", "{words:?}");
    }
    let unset = Program::new(&["__complete", "fish", "--", "vm", "info", ""]);
    assert_eq!(printed(unset.run().await), "words\n");
}

#[tokio::test]
async fn a_password_that_is_refused_is_not_tried_again() {
    let (vcsim, cache) = (Vcsim::start(VcsimOptions::plain(1)).await, TempDir::new().expect("a folder"));
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    for _ in 0..3 {
        let program = tab(&vcsim, cache.path(), &["vm", "info", ""]).with("GOVC_URL", proxy.address());
        assert_eq!(printed(program.with("GOVC_PASSWORD", "wrong").run().await), "words\n");
    }
    let logins = proxy.exchanges().iter().filter(|exchange| exchange.method == "Login").count();
    assert_eq!(logins, 1, "an account would be locked");
}

#[tokio::test]
async fn what_a_slow_vcenter_has_is_there_at_a_later_tab() {
    let (vcsim, cache) = (Vcsim::start(VcsimOptions::plain(1)).await, TempDir::new().expect("a folder"));
    let (govc, supervisor) = (Govc::new(&vcsim), Supervisor::new());
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    proxy.hold_answers("CreateContainerView");
    let tab = async || {
        let program = tab(&vcsim, cache.path(), &["vm", "info", ""]).with("GOVC_URL", proxy.address());
        printed(program.run().await)
    };
    assert_eq!(tab().await, "words\n", "nobody waits for it");
    // It was given the line as it was typed, for everybody on the machine to read.
    let loading = loading().into_iter().find(|line| line.contains(binary().to_str().expect("text")));
    let loading = loading.expect("a process loads it");
    assert!(loading.ends_with("__complete zsh --refresh"), "{loading}");
    proxy.release_answers("CreateContainerView");
    eventually("it is there", async || tab().await == "words\nDC0_H0_VM0\tVM\n").await;
    eventually("the session has ended", async || govc.sessions().await.is_empty()).await;
}
