use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command as Build, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::timeout;

use crate::Vcsim;
use crate::scratch::{Scratch, kill};
use crate::tools::workspace;

/// Only ends a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a run of the program ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Runs the product's program against a simulator and waits for its end.
pub async fn rookery(vcsim: &Vcsim, arguments: &[&str]) -> Outcome {
    Program::against(vcsim, arguments).run().await
}

/// Starts the product's program against a simulator; its output is piped.
pub fn start_rookery(vcsim: &Vcsim, arguments: &[&str]) -> Running {
    Program::against(vcsim, arguments).start()
}

/// The product's program, about to run. Nothing of the test's own environment reaches it.
#[derive(Debug, Clone)]
pub struct Program {
    arguments: Vec<String>,
    variables: BTreeMap<String, String>,
    /// What it reads as its standard input; nothing without one.
    input: Option<PathBuf>,
}

impl Program {
    /// Without any variable that would name a vCenter.
    pub fn new(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { arguments, variables: BTreeMap::new(), input: None }.with("HOME", "/nonexistent")
    }

    /// With govc's variables for a simulator.
    pub fn against(vcsim: &Vcsim, arguments: &[&str]) -> Self {
        Self::new(arguments)
            .with("GOVC_URL", format!("{}/sdk", vcsim.address()))
            .with("GOVC_USERNAME", Vcsim::USER)
            .with("GOVC_PASSWORD", Vcsim::PASSWORD)
            .with("GOVC_INSECURE", "1")
    }

    /// One more variable, or another value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Removes an environment variable.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    /// Appends arguments.
    #[must_use]
    pub fn and(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// With a file as its standard input.
    #[must_use]
    pub fn reading(self, file: &Path) -> Self {
        Self { input: Some(file.to_owned()), ..self }
    }

    /// Runs it to its end.
    pub async fn run(self) -> Outcome {
        self.start().end().await
    }

    /// Starts it; its output is piped.
    pub fn start(&self) -> Running {
        self.start_writing_to(Stdio::piped(), Stdio::piped())
    }

    /// Starts it with its output and its remarks going there. What is not piped cannot be read.
    pub fn start_writing_to(&self, stdout: Stdio, stderr: Stdio) -> Running {
        let scratch = Scratch::new();
        let input = self.input.as_ref().map(|file| File::open(file).expect("its input can be read"));
        let input = input.map_or_else(Stdio::null, Stdio::from);
        let mut child = Command::new(binary())
            .args(&self.arguments)
            .env_clear()
            .env("TMPDIR", scratch.path())
            .envs(&self.variables)
            .stdin(input)
            .stdout(stdout)
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .expect("rookery starts");
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = child.stderr.take().map(BufReader::new);
        Running { child, stdout, stderr, _scratch: scratch }
    }

    /// The program, its arguments and its variables, for whoever starts it in another way.
    pub(crate) fn parts(&self) -> (&Path, &[String], &BTreeMap<String, String>) {
        (binary(), &self.arguments, &self.variables)
    }
}

/// The program while it runs; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<BufReader<ChildStderr>>,
    // What it leaves behind goes with it.
    _scratch: Scratch,
}

impl Running {
    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().expect("the program runs").to_string();
        let status = Build::new("kill").args(["-s", name, &pid]).status().expect("kill runs");
        assert!(status.success(), "no signal {name} to {pid}");
    }

    /// Waits for the next line that it prints.
    pub async fn line(&mut self) -> String {
        let line = next_line(self.stdout.as_mut()).await;
        let Some(line) = line else {
            panic!("the program prints nothing more; it said: {}", self.said().await)
        };
        line
    }

    /// Waits for the next line that it says beside its output.
    pub async fn remark(&mut self) -> String {
        let line = next_line(self.stderr.as_mut()).await;
        line.expect("the program says something more")
    }

    /// What it has said beside its output until now, for the message of a test that fails.
    async fn said(&mut self) -> String {
        let mut said = Vec::new();
        let reading = self.stderr.as_mut().expect("somebody reads it").read_to_end(&mut said);
        // While it runs, the end does not come.
        timeout(Duration::from_secs(1), reading).await.ok();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Stops reading what it prints: `| head`.
    pub fn hang_up(&mut self) {
        self.stdout = None;
    }

    /// Waits for its end. The output is what was not read before.
    pub async fn end(mut self) -> Outcome {
        let output = async { tokio::join!(rest(self.stdout.take()), rest(self.stderr.take())) };
        let (stdout, stderr) = timeout(PATIENCE, output).await.expect("the program closes its output");
        let status = timeout(PATIENCE, self.child.wait()).await.expect("the program ends");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Outcome { code: status.expect("it was started").code(), stdout, stderr }
    }

    /// Whether it ends within a time.
    pub async fn ends_within(&mut self, limit: Duration) -> bool {
        timeout(limit, self.child.wait()).await.is_ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

/// Nothing, if no whole line comes: the program has ended, or the test has failed.
async fn next_line(output: Option<&mut BufReader<impl AsyncRead + Unpin>>) -> Option<String> {
    let mut line = String::new();
    let reading = output.expect("somebody reads it").read_line(&mut line);
    timeout(PATIENCE, reading).await.ok()?.expect("it is text");
    line.strip_suffix('\n').map(str::to_owned)
}

async fn rest(output: Option<BufReader<impl AsyncRead + Unpin>>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut output) = output {
        output.read_to_end(&mut bytes).await.expect("its output can be read");
    }
    String::from_utf8(bytes).expect("it prints text")
}

/// The program that was built from this checkout.
pub fn binary() -> &'static PathBuf {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("ROOKERY_BIN") {
            return given.into();
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let status =
            Build::new(cargo).args(["build", "--quiet", "-p", "rookery"]).current_dir(workspace()).status();
        assert!(status.is_ok_and(|s| s.success()), "the program can be built");
        workspace().join("target/debug/rookery")
    })
}
