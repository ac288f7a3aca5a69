//! How a person or an init system asks the process to stop: SIGINT or SIGTERM, twice to end at once; or by closing
//! the terminal that it runs in (SIGHUP).

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use crate::{Supervisor, telemetry};

/// What a shell reports for a process that an interrupt ended.
const INTERRUPTED: i32 = 130;

/// What follows a signal this closely is the same request: `timeout`, for one, signals a process and its group.
const SAME_REQUEST: Duration = Duration::from_millis(250);

/// How long the log may hold up a process that is told to end at once.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Resolves on the first SIGINT or SIGTERM after the first poll.
pub async fn stop_requested() {
    match Stops::listen() {
        Ok(mut stops) => stops.next().await,
        Err(error) => without_handlers(&error).await,
    }
}

/// Resolves on the first SIGHUP after the first poll: the terminal has gone. Never, if whoever started the process wants
/// it to outlive that, as `nohup` does.
pub async fn terminal_gone() {
    if ignores_hangup() {
        return pending().await;
    }
    match signal(SignalKind::hangup()) {
        Ok(mut hangup) => drop(hangup.recv().await),
        Err(error) => without_handlers(&error).await,
    }
}

/// Whether SIGHUP is ignored, as `nohup` has it; children of the process ignore it as well.
pub fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let hangup = SignalKind::hangup().as_raw_value() - 1;
    ignored.is_some_and(|mask| mask >> hangup & 1 == 1)
}

/// Lets a signal that arrives while the process already stops end it at once, with exit code 130; `first` is done before
/// that, since nothing is dropped then.
///
/// Must be called within a tokio runtime; listens from the moment it returns.
pub fn exit_on_second_signal(supervisor: &Supervisor, first: fn()) {
    let stopping = supervisor.token();
    let stops = Stops::listen();
    let watch = async move {
        let mut stops = match stops {
            Ok(stops) => stops,
            Err(error) => return without_handlers(&error).await,
        };
        // Whoever else waits for the first signal has seen it too. The signal is looked at first: the
        // shutdown that it caused must not make it count twice.
        tokio::select! {
            biased;
            () = stops.next() => {}
            () = stopping.cancelled() => {}
        }
        stops.pass_over(SAME_REQUEST).await;
        stops.next().await;
        first();
        tracing::warn!("second stop signal; exiting without waiting for tasks");
        telemetry::flush(LAST_WORDS);
        std::process::exit(INTERRUPTED);
    };
    #[expect(clippy::disallowed_methods, reason = "a supervised task would hold up the shutdown it watches")]
    tokio::spawn(watch);
}

/// Without our handlers the system's own stay in force, which end the process: there is nothing to wait for.
async fn without_handlers(error: &io::Error) {
    tracing::error!(%error, "cannot listen for stop signals; a signal ends the process at once");
    pending::<()>().await;
}

struct Stops {
    interrupt: Signal,
    terminate: Signal,
}

impl Stops {
    fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Forgets what arrives within this time.
    async fn pass_over(&mut self, time: Duration) {
        let end = sleep(time);
        tokio::pin!(end);
        loop {
            tokio::select! {
                biased;
                () = self.next() => {}
                () = &mut end => return,
            }
        }
    }

    async fn next(&mut self) {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, ExitStatus, Stdio};

    use super::*;

    /// Set for the copy of the test program that plays the daemon: signals must not hit the test run itself.
    const PLAY: &str = "ROOKERY_TEST_PLAYS_DAEMON";

    #[test]
    fn the_first_signal_stops_and_the_second_exits() {
        if env::var_os(PLAY).is_some() {
            return daemon_with_a_stuck_task();
        }
        for (first, second) in [("-TERM", "-INT"), ("-INT", "-TERM"), ("-INT", "-INT")] {
            let status = play(first, second);
            assert_eq!(status.code(), Some(INTERRUPTED), "{first} then {second}");
        }
    }

    #[tokio::main(flavor = "current_thread")]
    async fn daemon_with_a_stuck_task() {
        let supervisor = Supervisor::new();
        supervisor.spawn("stuck", pending());
        exit_on_second_signal(&supervisor, || ());
        tokio::select! {
            biased;
            () = stop_requested() => {}
            // Reached only once the branch above was polled, which is when it begins to listen.
            () = async { println!("listening"); pending().await } => {}
        }
        // Earlier, the next signal would count as the same request.
        sleep(SAME_REQUEST * 2).await;
        println!("stopping");
        supervisor.shutdown(Duration::from_mins(1)).await.unwrap_err();
    }

    #[test]
    fn who_is_not_told_to_outlive_the_terminal_hears_that_it_has_gone() {
        if env::var_os(PLAY).is_some() {
            return program_in_a_terminal();
        }
        // Whoever runs the tests may have told them to.
        let alone = (!ignores_hangup()).then_some(("", "gone"));
        for (ignoring, expected) in alone.into_iter().chain([("trap '' HUP;", "stopped")]) {
            let mut program = Command::new("sh")
                .args(["-c", &format!("{ignoring} exec \"$0\" \"$@\"")])
                .arg(env::current_exe().unwrap())
                .args(["--exact", "--nocapture"])
                .arg("signals::tests::who_is_not_told_to_outlive_the_terminal_hears_that_it_has_gone")
                .env(PLAY, "1")
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(program.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert!(lines.any(|line| line.contains("listening")));
            send(&program, "-HUP");
            if expected == "stopped" {
                send(&program, "-TERM");
            }
            let said = lines.find(|line| line == "gone" || line == "stopped");
            assert_eq!(said.as_deref(), Some(expected));
            assert!(program.wait().unwrap().success());
        }
    }

    #[tokio::main(flavor = "current_thread")]
    async fn program_in_a_terminal() {
        let ended = tokio::select! {
            biased;
            () = terminal_gone() => "gone",
            () = stop_requested() => "stopped",
            // Reached only once the branches above were polled, which is when they begin to listen.
            () = async { println!("listening"); pending().await } => "never",
        };
        println!("{ended}");
    }

    fn play(first: &str, second: &str) -> ExitStatus {
        let mut daemon = Command::new(env::current_exe().unwrap())
            .args(["--exact", "signals::tests::the_first_signal_stops_and_the_second_exits", "--nocapture"])
            .env(PLAY, "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(daemon.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.contains("listening")));
        // Together they are one request: the process goes on to stop.
        send(&daemon, first);
        send(&daemon, second);
        assert!(lines.any(|line| line.contains("stopping")));
        send(&daemon, second);
        daemon.wait().unwrap()
    }

    fn send(daemon: &Child, signal: &str) {
        let sent = Command::new("kill").args([signal, &daemon.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}
