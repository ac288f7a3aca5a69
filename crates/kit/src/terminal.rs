use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Program;
use crate::scratch::Scratch;

/// What the shell says below whatever the program left.
const ENDED: &str = "the program ended with ";
/// Stays when the program has ended, as a person's shell does, so that the screen can be looked at.
const SHELL: &str = r#"trap : INT; "$0" "$@"; echo "the program ended with $?"; exec cat"#;

/// A real terminal (tmux) in which the product's program runs. Its server ends with this value.
#[derive(Debug)]
pub struct Terminal {
    server: String,
    // Holds the server's socket, and whatever the program leaves behind.
    folder: Scratch,
}

impl Terminal {
    /// Starts a program in a new terminal of this size.
    pub fn start(program: &Program, columns: u16, rows: u16) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = format!("rookery-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let terminal = Self { server, folder: Scratch::new() };
        let (binary, arguments, variables) = program.parts();
        let mut command = terminal.tmux();
        // The server's environment becomes the program's, but for TERM, which is the server's own to say.
        command.env("TMPDIR", terminal.folder.path()).envs(variables);
        command.args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &rows.to_string(), "--", "sh", "-c", SHELL]);
        if let Some(term) = variables.get("TERM") {
            command.args(["env", &format!("TERM={term}")]);
        }
        command.arg(binary).args(arguments);
        run(&mut command);
        terminal
    }

    /// What can be seen.
    pub fn screen(&self) -> String {
        run(self.tmux().args(["capture-pane", "-p"]))
    }

    /// What can be seen, with the codes of its colours.
    pub fn colours(&self) -> String {
        run(self.tmux().args(["capture-pane", "-p", "-e"]))
    }

    /// Presses a key, such as `C-c`.
    pub fn press(&self, key: &str) {
        run(self.tmux().args(["send-keys", key]));
    }

    /// Makes it larger or smaller while the program runs.
    pub fn resize(&self, columns: u16, rows: u16) {
        run(self.tmux().args(["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]));
    }

    /// The program's exit code, once it has ended.
    pub fn exit_code(&self) -> Option<i32> {
        // The terminal's `^C` may stand before it.
        self.screen().lines().find_map(|line| line.split_once(ENDED)?.1.parse().ok())
    }

    /// Whether the cursor can be seen.
    pub fn shows_cursor(&self) -> bool {
        run(self.tmux().args(["display-message", "-p", "#{cursor_flag}"])).trim_end() == "1"
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TMUX_TMPDIR", self.folder.path()).args(["-u", "-L", &self.server]);
        command
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A server that never started cannot be ended, and the test says so already.
        self.tmux().arg("kill-server").output().ok();
    }
}

fn run(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("tmux is installed");
    assert!(status.success(), "{command:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("the terminal shows text")
}
