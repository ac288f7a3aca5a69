//! What is asked at a terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::exit::Exit;

/// Whether what is typed can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    Shown,
    Hidden,
}

/// Asks before what there is no way back from, and fails with `otherwise` unless the answer is yes.
pub async fn confirm(question: String, otherwise: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        let why = "standard input is not a terminal; use --yes to confirm";
        return Err(Exit::Declined.because(format!("{otherwise}: {why}")));
    }
    let answer = answer(format!("{question} [y/N] "), Typed::Shown).await?;
    match answer.as_deref() {
        Some("y" | "Y" | "yes") => Ok(()),
        Some(_) | None => Err(Exit::Declined.because(otherwise)),
    }
}

/// The line that somebody at the terminal types; none if the input has ended. Dropped before that, it leaves the terminal
/// as it was.
pub async fn answer(question: String, typed: Typed) -> anyhow::Result<Option<String>> {
    let open = OpenQuestion::new(typed).context("what is typed here could not be hidden")?;
    let ask = move || {
        let mut answer = String::new();
        let asked = write!(io::stderr(), "{question}");
        let read = asked.and_then(|()| io::stdin().lock().read_line(&mut answer))?;
        Ok::<_, io::Error>((read > 0).then(|| answer.trim().to_owned()))
    };
    // On a thread of its own: a signal must be heard while nobody answers.
    let answered = tokio::task::spawn_blocking(ask).await?.context("the answer cannot be read");
    open.answered();
    answered
}

/// A question on a terminal that nobody has answered: what comes next begins on a line of its own.
struct OpenQuestion {
    is_open: bool,
    /// How the terminal was before it hid what is typed.
    before: Option<Termios>,
}

impl OpenQuestion {
    fn new(typed: Typed) -> io::Result<Self> {
        let mut question = Self { is_open: true, before: None };
        if typed == Typed::Hidden {
            let before = tcgetattr(io::stdin())?;
            let mut hiding = before.clone();
            hiding.local_modes.remove(LocalModes::ECHO);
            hiding.local_modes.insert(LocalModes::ECHONL);
            tcsetattr(io::stdin(), OptionalActions::Now, &hiding)?;
            question.before = Some(before);
        }
        Ok(question)
    }

    fn answered(mut self) {
        self.is_open = false;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            tcsetattr(io::stdin(), OptionalActions::Now, before).ok();
        }
        if self.is_open {
            writeln!(io::stderr()).ok();
        }
    }
}
