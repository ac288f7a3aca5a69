//! What there is no way back from is asked first.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use anyhow::Context as _;

use crate::exit::Exit;

/// Asks at the terminal, and fails with `otherwise` unless the answer is yes.
pub async fn confirm(question: String, otherwise: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        let why = "standard input is not a terminal; use --yes to confirm";
        return Err(Exit::Declined.because(format!("{otherwise}: {why}")));
    }
    let open = OpenQuestion(true);
    let ask = move || {
        let mut answer = String::new();
        write!(io::stderr(), "{question} [y/N] ").and_then(|()| io::stdin().lock().read_line(&mut answer))?;
        Ok::<_, io::Error>(matches!(answer.trim(), "y" | "Y" | "yes"))
    };
    // On a thread of its own: a signal must be heard while nobody answers.
    let answered = tokio::task::spawn_blocking(ask).await?.context("the answer cannot be read");
    open.answered();
    if !answered? {
        return Err(Exit::Declined.because(otherwise));
    }
    Ok(())
}

/// A question on a terminal that nobody has answered: what comes next begins on a line of its own.
struct OpenQuestion(bool);

impl OpenQuestion {
    fn answered(mut self) {
        self.0 = false;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if self.0 {
            writeln!(io::stderr()).ok();
        }
    }
}
