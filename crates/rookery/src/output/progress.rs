//! How far work has come, on one line that goes when the work ends.

use console::{Term, truncate_str};
use tokio::sync::watch;

use super::printable;

/// Does work that tells how many per cent are done, and shows that on a terminal. In a pipe it is not told.
pub async fn showing_progress<T>(what: &str, work: impl AsyncFnOnce(watch::Sender<i32>) -> T) -> T {
    let (sender, mut progress) = watch::channel(0);
    let work = work(sender);
    tokio::pin!(work);
    let Some(line) = StatusLine::of_terminal() else { return work.await };
    loop {
        line.show(&told(what, *progress.borrow_and_update()));
        tokio::select! {
            biased;
            done = &mut work => return done,
            // When nobody can tell any more, only the end is left to wait for.
            Ok(()) = progress.changed() => {}
        }
    }
}

/// The line that the cursor of a terminal is in. Clears itself when dropped, also after a signal.
#[derive(Debug)]
pub struct StatusLine(Term);

impl StatusLine {
    /// The one of standard error, if that is a terminal.
    pub fn of_terminal() -> Option<Self> {
        Some(Term::stderr()).filter(Term::is_term).map(Self)
    }

    /// Puts text in place of what stands there.
    pub fn show(&self, text: &str) {
        let (text, width) = (printable(text), usize::from(self.0.size().1));
        // A terminal that is gone needs no progress.
        self.0.clear_line().and_then(|()| self.0.write_str(&truncate_str(&text, width, "…"))).ok();
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.0.clear_line().ok();
    }
}

/// Not every server says how far it is.
fn told(what: &str, percent: i32) -> String {
    if percent > 0 { format!("{what}: {percent} %") } else { format!("{what} …") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_is_is_told_once_it_is_known() {
        assert_eq!(told("cloning nest", 0), "cloning nest …");
        assert_eq!(told("cloning nest", 42), "cloning nest: 42 %");
    }

    #[tokio::test]
    async fn work_is_done_whether_or_not_it_tells_how_far_it_is() {
        assert!(showing_progress("x", async |progress| progress.send(5).is_ok()).await);
        showing_progress("x", async |progress| drop(progress)).await;
    }
}
