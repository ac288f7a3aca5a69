//! A password goes in by many ways and comes out by none.

use std::fs;

use rookery_kit::{Outcome, Program, Vcsim, VcsimOptions};
use tempfile::TempDir;

/// However it is escaped, this part of it stays the same.
const TELLTALE: &str = "hunter2";
const SECRET: &str = "hunter2 <&>/@%41";
const IN_A_URL: &str = "hunter2%20%3C%26%3E%2F%40%2541";

/// Every way to give a password: what comes before the command, what comes behind it, and the variables.
struct Way {
    name: &'static str,
    config: Option<String>,
    flags: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Way {
    fn program(&self, command: &[&str]) -> Program {
        let config: Vec<_> = self.config.iter().flat_map(|file| ["--config", file]).collect();
        let flags: Vec<_> = self.flags.iter().map(String::as_str).collect();
        let program = Program::new(&config).and(command).and(&flags).with("GOVC_INSECURE", "1");
        self.variables.iter().fold(program, |program, (name, value)| program.with(name, value))
    }
}

fn ways(folder: &TempDir, socket: &str) -> Vec<Way> {
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a temporary file");
        path.to_str().expect("a plain path").to_owned()
    };
    let password = file("password", format!("{SECRET}\n"));
    let quoted = SECRET.replace('"', "\\\"");
    let toml = |name: &str, rest: &str| {
        Some(file(name, format!("[vcenter]\nuser = \"user\"\nendpoint = \"{socket}\"\n{rest}\n")))
    };
    let url = format!("https://user:{IN_A_URL}@{socket}/sdk");
    let place = || vec![("GOVC_URL", socket.to_owned()), ("GOVC_USERNAME", "user".to_owned())];
    let with = |name: &'static str, value: &str| [place(), vec![(name, value.to_owned())]].concat();
    let way = |name, config, flags: &[&str], variables| Way {
        name,
        config,
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        variables,
    };
    let in_file = format!("password = \"{quoted}\"");
    let by_file = format!("password-file = \"{password}\"");
    vec![
        way("govc's variable", None, &[], with("GOVC_PASSWORD", SECRET)),
        way("our variable", None, &[], with("ROOKERY_VCENTER__PASSWORD", SECRET)),
        way("our variable for a file", None, &[], with("ROOKERY_VCENTER__PASSWORD_FILE", &password)),
        way("govc's URL", None, &[], vec![("GOVC_URL", url.clone())]),
        way("a flag's URL", None, &["--endpoint", &url], vec![]),
        way("a flag for a file", None, &["--password-file", &password], place()),
        way("the settings file", toml("plain.toml", &in_file), &[], vec![]),
        way("a file of the settings file", toml("by-file.toml", &by_file), &[], vec![]),
        way(
            "a URL in the settings file",
            Some(file("url.toml", format!("[vcenter]\nendpoint = \"{url}\""))),
            &[],
            vec![],
        ),
    ]
}

fn assert_kept(outcome: &Outcome, expected: i32, what: &str) {
    let Outcome { code, stdout, stderr } = outcome;
    assert_eq!(*code, Some(expected), "{what}: {stdout}{stderr}");
    assert!(!format!("{stdout}{stderr}").contains(TELLTALE), "{what}: {stdout}{stderr}");
}

#[tokio::test]
async fn a_password_is_never_shown_whichever_way_it_came() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1).with(format!("-password={SECRET}"))).await;
    let folder = TempDir::new().expect("a temporary folder");
    for way in ways(&folder, vcsim.socket()) {
        for command in [
            &["vm", "ls", "-vv"][..],
            &["vm", "ls", "--log", "trace", "--log-format", "json"],
            &["settings", "-vv"],
            &["settings", "-o", "json"],
            &["settings", "-o", "yaml"],
        ] {
            let outcome = way.program(command).run().await;
            assert_kept(&outcome, 0, &format!("{} {command:?}", way.name));
        }
    }
}

#[tokio::test]
async fn no_command_shows_the_password_however_much_it_logs() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1).with(format!("-password={SECRET}"))).await;
    let folder = TempDir::new().expect("a temporary folder");
    let ways = ways(&folder, vcsim.socket());
    let name = "DC0_H0_VM0";
    for way in ways.iter().filter(|way| ["govc's URL", "the settings file"].contains(&way.name)) {
        for command in [
            &["vm", "info", name][..],
            &["vm", "power", "off", name],
            &["vm", "power", "on", name],
            &["vm", "rename", name, name],
            &["up", "--exit"],
        ] {
            for logging in [&["-vv"][..], &["-vv", "--log-format", "json"], &["--log", "trace"]] {
                let outcome = way.program(command).and(logging).run().await;
                assert!(outcome.stderr.lines().count() > 5, "something is logged: {outcome:?}");
                assert_kept(&outcome, 0, &format!("{} {command:?} {logging:?}", way.name));
            }
        }
    }
}

#[tokio::test]
async fn a_failure_does_not_show_the_password_either() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let folder = TempDir::new().expect("a temporary folder");
    for way in ways(&folder, vcsim.socket()) {
        let outcome = way.program(&["vm", "ls", "-vv"]).run().await;
        assert!(outcome.stderr.contains("refused the user name or password of user"), "{outcome:?}");
        assert_kept(&outcome, 3, way.name);
    }
    for way in ways(&folder, "127.0.0.1:1") {
        assert_kept(&way.program(&["vm", "ls", "-vv"]).run().await, 5, way.name);
    }
    for way in ways(&folder, "127.0.0.1:port") {
        assert_kept(&way.program(&["vm", "ls"]).run().await, 2, way.name);
        assert_kept(&way.program(&["settings"]).run().await, 2, way.name);
    }
    // With the host forgotten, the password stands where a port would. It used to be quoted as a wrong port.
    for url in ["user:hunter2", "https://user:hunter2/sdk", "user:hunter2@", "user:hunter2@https://vc"] {
        for command in [&["vm", "ls"][..], &["settings"], &["settings", "-o", "json"]] {
            assert_kept(&Program::new(command).with("GOVC_URL", url).run().await, 2, url);
        }
    }
}
