//! Runs the programs that tests are in.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::counts::Counts;
use super::programs::Program;
use super::times::Taken;
use crate::failure::{Outcome, Trying};

/// How long nothing may be said about any test. None takes that long on the slowest machine: whatever still runs then hangs.
const HANGS: Duration = Duration::from_mins(20);
/// How long after its end the last lines of a program may come.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How a program ended.
#[derive(Debug, Default)]
pub(super) struct Ran {
    pub(super) counts: Counts,
    pub(super) times: Taken,
    pub(super) failure: Option<String>,
}

/// What came of programs of which nobody knows what came of them.
pub(super) fn broken() -> Ran {
    let counts = Counts { failed: 1, ..Counts::default() };
    Ran { counts, failure: Some("whoever ran tests has panicked".to_owned()), ..Ran::default() }
}

/// Runs one program. What it tells of each test is shown as it comes, everything else when it has ended: others run
/// beside it.
pub(super) fn run(program: &Program, environment: &[(&str, &Path)]) -> Ran {
    println!("begun: {}", program.name);
    let mut heard = Heard { of: program.name.clone(), ..Heard::default() };
    let begun = Instant::now();
    let ended = watch(program, environment, &mut heard);
    println!("\n{}\n{}", program.name, heard.rest.join("\n"));
    let Heard { mut counts, mut times, late, has_result, hangs, .. } = heard;
    times.ended(&program.name, begun.elapsed());
    let failure = match ended {
        Err(failure) => failure.to_string(),
        Ok(_) if hangs => {
            format!("{} hangs in: {}", program.name, late.into_iter().collect::<Vec<_>>().join(", "))
        }
        Ok(status) if !has_result => format!("{} ended without a result ({status})", program.name),
        Ok(status) if status.success() => return Ran { counts, times, failure: None },
        Ok(status) => {
            return Ran { counts, times, failure: Some(format!("{} failed ({status})", program.name)) };
        }
    };
    // Nobody has counted what it did.
    counts.failed += 1;
    Ran { counts, times, failure: Some(failure) }
}

fn watch(program: &Program, environment: &[(&str, &Path)], heard: &mut Heard) -> Outcome<ExitStatus> {
    let (output, input) = pipe().trying(|| "open a pipe".to_owned())?;
    let mut command = Command::new(&program.executable);
    command.args(&program.arguments);
    // What each test took is told by no stable option. This concerns the program alone, not how it was built.
    command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.envs(environment.iter().copied());
    command.env_remove("ROOKERY_PEER").envs(program.peer.map(|peer| ("ROOKERY_PEER", peer)));
    command.stdout(input.try_clone().trying(|| "open a pipe".to_owned())?).stderr(input);
    let mut child = command.spawn().trying(|| format!("start {}", program.executable.display()))?;
    // Our ends of the pipe would keep it open.
    drop(command);
    show(&mut child, output, heard)?;
    child.wait().trying(|| format!("wait for {}", program.name))
}

/// What a program has told so far.
#[derive(Debug, Default)]
struct Heard {
    of: String,
    counts: Counts,
    /// Whoever still runs after a minute is told of, until it has ended.
    late: BTreeSet<String>,
    has_result: bool,
    hangs: bool,
    times: Taken,
    /// What is no line about a test.
    rest: Vec<String>,
}

impl Heard {
    fn line(&mut self, line: &str) {
        self.counts += Counts::of(line);
        self.times.line(line);
        let told = line.strip_prefix("test ").filter(|told| !told.starts_with("result: "));
        self.has_result |= line.starts_with("test result: ");
        let Some(told) = told else {
            self.rest.push(line.to_owned());
            return;
        };
        // Beside others it is not clear whose test it is.
        let of = if line.contains("... ok") { "" } else { self.of.as_str() };
        println!("{line} {of}");
        if let Some((name, _)) = told.split_once(" has been running for over") {
            self.late.insert(name.to_owned());
        } else if let Some((name, _)) = told.split_once(" ... ") {
            self.late.remove(name);
        }
    }
}

/// Hears lines until there are no more, or the program has ended: whatever a test left behind may hold the
/// pipe open. A program that says nothing of its tests for long is ended.
fn show(child: &mut Child, output: PipeReader, heard: &mut Heard) -> Outcome<()> {
    let lines = lines(output);
    let (mut told, mut ended) = (Instant::now(), None);
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                heard.line(&line);
                if line.starts_with("test ") {
                    told = Instant::now();
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if ended.is_none() && child.try_wait().trying(|| "look after a program".to_owned())?.is_some() {
            ended = Some(Instant::now());
        }
        // What it said last has come by then, whoever still holds its pipe.
        if ended.is_some_and(|at| at.elapsed() > LAST_WORDS) {
            return Ok(());
        }
        if told.elapsed() > HANGS {
            heard.hangs = true;
            return child.kill().trying(|| "end a program that hangs".to_owned());
        }
    }
}

/// Lines as they come.
fn lines(output: PipeReader) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::{env, process};

    use super::super::programs::Lane;
    use super::*;

    #[test]
    fn whoever_is_late_is_known_until_it_has_ended() {
        let mut heard = Heard::default();
        heard.line("test a::b has been running for over 60 seconds");
        heard.line("test a::c has been running for over 60 seconds");
        heard.line("test a::b ... ok <61.000s>");
        assert_eq!(heard.late, BTreeSet::from(["a::c".to_owned()]));
    }

    #[test]
    fn a_program_without_a_result_has_failed() {
        let ran = |script: &str| {
            let folder = tempdir();
            // Not executed itself: a process that another test starts meanwhile may still have it open for writing.
            fs::write(folder.join("program"), script).unwrap();
            let program = Program {
                name: "made-up".to_owned(),
                folder: folder.clone(),
                executable: "/bin/sh".into(),
                lane: Lane::Computes,
                arguments: vec!["program".to_owned()],
                peer: None,
            };
            let ran = run(&program, &[]);
            fs::remove_dir_all(folder).unwrap();
            (ran.failure.map_or(Ok(()), Err), ran.counts.passed, ran.counts.failed)
        };
        let told = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored;'";
        assert_eq!(ran(told), (Ok(()), 3, 0));
        // Whatever it leaves behind holds the pipe open.
        assert_eq!(ran(&format!("sleep 30 &\n{told}")), (Ok(()), 3, 0));
        let (outcome, passed, failed) = ran("exit 0");
        assert!(outcome.is_err_and(|why| why.contains("without a result")) && (passed, failed) == (0, 1));
        let (outcome, passed, failed) = ran(&format!("{told}\nexit 101"));
        assert!(outcome.is_err_and(|why| why.contains("failed")) && (passed, failed) == (3, 0));
    }

    fn tempdir() -> PathBuf {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("rookery-xtask-{}-{number}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }
}
