//! What commands that change something tell: one result for each thing that was to be changed, as soon as it is known.

use rookery_daemon::telemetry::chain;
use serde::Serialize;

use super::{Format, Out, OutputError, printable};
use crate::exit::Exit;
use crate::{Ending, failure};

/// What became of one thing. The keys and their order are those of the JSON, and part of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionResult {
    /// What it was called before.
    pub name: String,
    /// Its id; none if there is none, or not yet.
    pub id: Option<String>,
    /// What was to be done.
    pub action: &'static str,
    pub outcome: Outcome,
    /// The outcome in words; of a failure the reason.
    pub detail: String,
    /// What came of it that a program may go on with, such as the id of a snapshot.
    pub value: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// It was so already.
    Unchanged,
    Failed,
    /// It would have been done, but for `--dry-run`.
    Planned,
}

/// What something is to be done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub name: String,
    pub id: Option<String>,
    pub action: &'static str,
}

/// What was done to it, if it did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Did {
    outcome: Outcome,
    detail: String,
    value: Option<String>,
    id: Option<String>,
}

impl Did {
    pub fn done(detail: impl Into<String>) -> Self {
        Self { outcome: Outcome::Done, detail: detail.into(), value: None, id: None }
    }

    pub fn unchanged(detail: impl Into<String>) -> Self {
        Self { outcome: Outcome::Unchanged, ..Self::done(detail) }
    }

    pub fn planned(detail: impl Into<String>) -> Self {
        Self { outcome: Outcome::Planned, ..Self::done(detail) }
    }

    /// What a program may go on with.
    #[must_use]
    pub fn giving(self, value: impl Into<String>) -> Self {
        Self { value: Some(value.into()), ..self }
    }

    /// The id of what was made.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }
}

/// Tells results in one format, and keeps in mind how they make the command end.
#[derive(Debug)]
pub struct Report<'o> {
    out: &'o mut Out,
    format: &'o Format,
    ends: Vec<Exit>,
}

impl<'o> Report<'o> {
    pub fn new(out: &'o mut Out, format: &'o Format) -> Self {
        Self { out, format, ends: Vec::new() }
    }

    /// Tells what became of one thing: `NAME: DETAIL` for people. Errors go to standard error in every format. That nobody
    /// reads it any more is no failure, and no reason to end in another way.
    pub async fn tell(&mut self, subject: Subject, ended: anyhow::Result<Did>) -> Result<(), OutputError> {
        let Subject { name, id, action } = subject;
        let result = match ended {
            Ok(Did { outcome, detail, value, id: made }) => {
                self.ends.push(Exit::Done);
                ActionResult { name, id: made.or(id), action, outcome, detail, value }
            }
            Err(error) => {
                self.ends.push(Exit::of(&error));
                let detail = chain(error.as_ref());
                // Many errors name it themselves.
                let is_named = detail.contains(&format!("{name:?}"));
                failure::report(&if is_named { error } else { error.context(name.clone()) });
                ActionResult { name, id, action, outcome: Outcome::Failed, detail, value: None }
            }
        };
        let is_named = matches!(self.format, Format::Table(_) | Format::Name);
        if is_named && result.outcome == Outcome::Failed {
            return Ok(());
        }
        let line = || printable(&format!("{}: {}", result.name, result.detail));
        match self.out.line(&self.format.render_item(&result, &result.name, line)?).await {
            Err(OutputError::ReaderGone) => Ok(()),
            told => told,
        }
    }

    /// How the command ends.
    pub fn ending(self) -> Ending {
        let exit = Exit::together(self.ends);
        if exit == Exit::Done { Ending::Done } else { Ending::Exited(exit.code()) }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::super::tests::captured;
    use super::*;

    async fn told(format: &Format, results: Vec<(&str, anyhow::Result<Did>)>) -> (String, Ending) {
        let (mut out, text) = captured();
        let mut report = Report::new(&mut out, format);
        for (name, ended) in results {
            let id = (name != "new").then(|| format!("vm-{name}"));
            let subject = Subject { name: name.to_owned(), id, action: "power_off" };
            report.tell(subject, ended).await.expect("it can be told");
        }
        let ending = report.ending();
        (text(), ending)
    }

    fn some() -> Vec<(&'static str, anyhow::Result<Did>)> {
        vec![
            ("1\x1b", Ok(Did::done("off"))),
            ("2", Err(anyhow!("because").context("it is refused"))),
            ("3", Ok(Did::unchanged("off already"))),
            ("new", Ok(Did::planned("would be made").with_id("vm-9").giving("8"))),
        ]
    }

    #[tokio::test]
    async fn people_read_a_line_for_each_that_did_not_fail() {
        let (text, ending) = told(&Format::default(), some()).await;
        assert_eq!(text, "1\\u{1b}: off\n3: off already\nnew: would be made\n");
        assert_eq!(ending, Ending::Exited(8));
        let (names, _) = told(&Format::Name, some()).await;
        assert_eq!(names, "1\\u{1b}\n3\nnew\n");
        let (none, ending) = told(&Format::default(), vec![("1", Err(anyhow!("because")))]).await;
        assert_eq!((none.as_str(), ending), ("", Ending::Exited(1)));
        assert_eq!(told(&Format::default(), Vec::new()).await.1, Ending::Done);
    }

    #[tokio::test]
    async fn programs_read_an_object_for_each_with_the_same_keys() {
        let (text, _) = told(&Format::Json, some()).await;
        insta::assert_snapshot!(text, @r#"
        {"name":"1\u001b","id":"vm-1\u001b","action":"power_off","outcome":"done","detail":"off","value":null}
        {"name":"2","id":"vm-2","action":"power_off","outcome":"failed","detail":"it is refused: because","value":null}
        {"name":"3","id":"vm-3","action":"power_off","outcome":"unchanged","detail":"off already","value":null}
        {"name":"new","id":"vm-9","action":"power_off","outcome":"planned","detail":"would be made","value":"8"}
        "#);
    }
}
