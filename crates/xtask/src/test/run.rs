//! Runs the programs that tests are in, one after the other.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::counts::Counts;
use super::programs::Program;
use super::times::{Times, cpu_of_children};
use crate::failure::{Outcome, Trying};

/// Most stories wait more than they work. Those that load a core, or a simulator that bears little, wait for each other
/// in the test kit.
const AT_ONCE: &str = "8";

/// Of silence. No test takes that long on the slowest machine: whatever still runs then hangs.
const HANGS: Duration = Duration::from_secs(15 * 60);

/// Runs one program and shows its output as it comes.
pub(super) fn run(
    program: &Program,
    environment: &[(&str, &Path)],
    counts: &mut Counts,
    times: &mut Times,
) -> Outcome<()> {
    println!("\n{}", program.name);
    let (output, input) = pipe().trying(|| "open a pipe".to_owned())?;
    let mut command = Command::new(&program.executable);
    command.args(["--test-threads", AT_ONCE]);
    // What each test took is told by no stable option. This concerns the program alone, not how it was built.
    command.args(["-Z", "unstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1");
    command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
    command.envs(environment.iter().copied());
    command.stdout(input.try_clone().trying(|| "open a pipe".to_owned())?).stderr(input);
    let (begun, before) = (Instant::now(), cpu_of_children());
    let mut child = command.spawn().trying(|| format!("start {}", program.executable.display()))?;
    // Our ends of the pipe would keep it open.
    drop(command);
    let hangs_in = show(&mut child, output, counts, times)?;
    let status = child.wait().trying(|| format!("wait for {}", program.name))?;
    let cpu =
        cpu_of_children().zip(before).map_or(Duration::ZERO, |(after, before)| after.saturating_sub(before));
    times.program(&program.name, begun.elapsed(), cpu);
    if !hangs_in.is_empty() {
        return Err(format!("{} hangs in: {}", program.name, hangs_in.join(", ")).into());
    }
    if status.success() { Ok(()) } else { Err(format!("{} failed ({status})", program.name).into()) }
}

/// Shows and counts lines until there are no more, or the program has ended: whatever a test left behind may hold the
/// pipe open. If none comes for long, ends the program and names what still ran.
fn show(
    child: &mut Child,
    output: PipeReader,
    counts: &mut Counts,
    times: &mut Times,
) -> Outcome<Vec<String>> {
    let lines = lines(output);
    let (mut late, mut heard) = (BTreeSet::new(), Instant::now());
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => {
                println!("{line}");
                *counts += Counts::of(&line);
                times.line(&line);
                note_late(&mut late, &line);
                heard = Instant::now();
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Timeout) => {
                if child.try_wait().trying(|| "look after a program".to_owned())?.is_some() {
                    return Ok(Vec::new());
                }
                if heard.elapsed() > HANGS {
                    child.kill().trying(|| "end a program that hangs".to_owned())?;
                    return Ok(late.into_iter().collect());
                }
            }
        }
    }
}

/// Whoever still runs after a minute is told of, until it has ended.
fn note_late(late: &mut BTreeSet<String>, line: &str) {
    let Some(told) = line.strip_prefix("test ") else { return };
    if let Some((name, _)) = told.split_once(" has been running for over") {
        late.insert(name.to_owned());
    } else if let Some((name, _)) = told.split_once(" ... ") {
        late.remove(name);
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
    use super::*;

    #[test]
    fn whoever_is_late_is_known_until_it_has_ended() {
        let mut late = BTreeSet::new();
        note_late(&mut late, "test a::b has been running for over 60 seconds");
        note_late(&mut late, "test a::c has been running for over 60 seconds");
        note_late(&mut late, "test a::b ... ok <61.000s>");
        assert_eq!(late, BTreeSet::from(["a::c".to_owned()]));
    }
}
