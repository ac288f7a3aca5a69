//! A reader's shell, and the other terminals.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rookery_kit::{binary, tool, workspace};
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use super::transcript::{Section, Shown, Step};

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(300);

/// In the new network there is no way to oneself yet; then the shell follows, with what it inherits.
const NETWORK: &str = r#"
import fcntl, os, socket, struct, sys
UP_AND_RUNNING = 0x49
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", UP_AND_RUNNING))
os.execvp("bash", ["bash", sys.argv[1]])
"#;

/// `await FILE TEXT`: until a job has printed it. Everything ends with the shell.
const BEGIN: &str = r#"
trap 'code=$?; jobs -p | xargs -r kill 2>/dev/null; wait; exit $code' EXIT
await() {
    until grep -qF -- "$2" "$1" 2>/dev/null; do
        kill -0 $! 2>/dev/null || { cat "$1"; exit 1; }
        sleep 0.02
    done
}
"#;

/// Does what a section asks for; what each of its commands printed.
pub(super) async fn run(section: &Section) -> Result<Vec<(Shown, String)>, String> {
    let home = TempDir::new().expect("a folder");
    let at = |name: &str| home.path().join(name);
    for folder in ["seen", "home", "run", "tmp", "checkout/target/release"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    symlink(workspace().join("docs"), at("checkout/docs")).expect("a link");
    symlink(binary(), at("checkout/target/release/rookery")).expect("a link");
    fs::write(at("script"), script(section, &at("seen"))).expect("a file");

    let mut unshare = Command::new("unshare");
    if fs::metadata("/proc/self").expect("Linux").uid() != 0 {
        unshare.args(["--user", "--map-current-user", "--keep-caps"]);
    }
    let tools = tool("govc").parent().expect("a folder").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    unshare
        .args(["--net", "python3", "-c", NETWORK])
        .arg(at("script"))
        .current_dir(at("checkout"))
        .env_clear()
        .env("PATH", format!("{}:{}:{path}", at("checkout/target/release").display(), tools.display()))
        .envs([("HOME", at("home")), ("XDG_RUNTIME_DIR", at("run")), ("TMPDIR", at("tmp"))])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let shell = unshare.spawn().expect("unshare starts");
    let group = shell.id();
    let ended = timeout(PATIENCE, shell.wait_with_output()).await;
    let text = |name: &str| fs::read_to_string(at("seen").join(name)).unwrap_or_default();
    let Ok(Ok(output)) = ended else {
        let group = format!("-{}", group.expect("it ran"));
        std::process::Command::new("kill").args(["-KILL", "--", &group]).status().ok();
        return Err(format!("the block of line {} does not end", text("at")));
    };
    if !output.status.success() {
        let (line, said) = (text("at"), String::from_utf8_lossy(&output.stderr).into_owned());
        let printed = String::from_utf8_lossy(&output.stdout);
        return Err(format!(
            "the block of line {line} failed ({}): {said}{printed}{}",
            output.status,
            text(&line)
        ));
    }
    let shown = section
        .steps
        .iter()
        .filter_map(|step| if let Step::Shown(shown) = step { Some(shown) } else { None });
    Ok(shown.map(|shown| (shown.clone(), text(&shown.line.to_string()))).collect())
}

/// All that is typed, one after the other, each with its output in a file that is named for its line.
fn script(section: &Section, seen: &Path) -> String {
    let (mut script, seen) = (BEGIN.to_owned(), seen.display());
    for step in &section.steps {
        let line = match step {
            Step::Script { line, .. } | Step::GoesOn { line, .. } | Step::Shown(Shown { line, .. }) => line,
        };
        writeln!(script, "printf {line} >{seen}/at").expect("text");
        let output = format!(">{seen}/{line} 2>&1");
        match step {
            // What fails ends the shell.
            Step::Script { text, .. } => write!(
                script,
                "set -e\n{{\n{}}} {output}\nset +e",
                with_jobs(text, &format!("{seen}/{line}-job"))
            ),
            Step::GoesOn { text, until, .. } => {
                let until = until.replace('\'', "'\\''");
                write!(script, "(\n{text}) {output} &\nawait {seen}/{line} '{until}'")
            }
            Step::Shown(Shown { command, .. }) => write!(script, "{{\n{command}\n}} {output}"),
        }
        .expect("text");
        script.push('\n');
    }
    script.push_str("exit 0\n");
    script
}

/// A reader who puts something into the background goes on when it has said that it is there.
fn with_jobs(text: &str, output: &str) -> String {
    let line = |(at, line): (usize, &str)| match line.strip_suffix(" &") {
        Some(job) => format!("{job} >{output}-{at} 2>&1 &\nawait {output}-{at} ''\n"),
        None => format!("{line}\n"),
    };
    text.lines().enumerate().map(line).collect()
}
