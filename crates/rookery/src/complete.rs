//! `rookery completions`: what a shell needs to complete our command lines, and what it asks while somebody types.
//!
//! Whoever presses TAB waits, and did not ask for anything to happen: nothing is said, nothing fails, and a vCenter is
//! logged in to at most once a minute, in a process of its own that logs out even if nobody waits for it any more.

pub(crate) mod bash;
mod cache;
pub(crate) mod engine;
#[cfg(feature = "hatchery")]
mod hatcheries;
mod machines;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::Ending;
use crate::cli::{self, Connect};
use crate::output::{Out, printable};
use crate::settings::{Sources, load};
use engine::{Candidate, Live, Place};

/// How long somebody who presses TAB waits for whatever has to be asked.
const PATIENCE: Duration = Duration::from_millis(1500);

/// The arguments of `completions`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell that is to complete
    #[arg(value_enum)]
    shell: Shell,
}

/// The arguments of `__complete`, which the scripts call.
#[derive(Debug, clap::Args)]
pub struct Asked {
    #[arg(value_enum)]
    shell: Shell,
    /// The word at the cursor, for a shell that cannot give an empty argument
    #[arg(long)]
    current: Option<String>,
    /// Load what a vCenter has instead; the words come by standard input, since everybody on this machine can see these
    #[arg(long)]
    refresh: bool,
    /// What stands behind the name of the program; for bash the line, and the end of it that is replaced
    #[arg(last = true)]
    words: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::Powershell => "powershell",
        }
    }
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let script = match args.shell {
        Shell::Bash => include_str!("complete/scripts/bash"),
        Shell::Zsh => include_str!("complete/scripts/zsh"),
        Shell::Fish => include_str!("complete/scripts/fish"),
        Shell::Elvish => include_str!("complete/scripts/elvish"),
        Shell::Powershell => include_str!("complete/scripts/powershell"),
    };
    out.line(script.trim_end()).await?;
    Ok(Ending::Done)
}

/// Answers a script: a line `files` if the shell is to complete names of files, or else `words`; then each candidate.
/// Whatever fails, there are fewer candidates.
pub(crate) async fn answer(asked: &Asked, out: &mut Out) -> anyhow::Result<Ending> {
    let mut root = cli::command();
    root.build();
    if asked.refresh {
        let words = machines::handed_over().await?;
        let place = Place::after(&root, &words);
        let sources = sources(&place);
        machines::refresh(&spawn_blocking(move || load(&sources)).await?).await.ok();
        return Ok(Ending::Done);
    }
    let question = Question::of(asked);
    let place = Place::after(&root, &question.words);
    let wanted = place.wanted(&question.current);
    let mut candidates = wanted.known;
    let files = matches!(wanted.live, Some((Live::Files, _)));
    if let Some((live, before)) = wanted.live {
        // Whatever is slow: a server, a hatchery, or a file that is a pipe.
        let found = timeout(PATIENCE, look_up(live, asked, &question, &place)).await.unwrap_or_default();
        let whole =
            found.into_iter().map(|found| Candidate { word: format!("{before}{}", found.word), ..found });
        candidates.extend(whole.filter(|found| is_typable(found, &question.current)));
    }
    candidates.sort();
    candidates.dedup_by(|one, other| one.word == other.word);
    let lines: Vec<String> = if let Some((line, replaced)) = &question.line {
        bash::replies(line, replaced, candidates.into_iter().map(|found| found.word))
    } else {
        candidates.iter().map(|found| format!("{}\t{}", found.word, printable(&found.about))).collect()
    };
    let first = if files { "files" } else { "words" };
    out.line(&[first].into_iter().chain(lines.iter().map(String::as_str)).collect::<Vec<_>>().join("\n"))
        .await?;
    Ok(Ending::Done)
}

/// Lines and tabs separate what the scripts read, a name that a terminal would show as another one must not be taken for
/// that, and one that begins with a dash would be a flag.
fn is_typable(found: &Candidate, current: &str) -> bool {
    let word = &found.word;
    printable(word) == *word
        && !word.is_empty()
        && word.starts_with(current)
        && (!word.starts_with('-') || current.starts_with('-'))
}

async fn look_up(live: Live, asked: &Asked, question: &Question, place: &Place<'_>) -> Vec<Candidate> {
    let of_vcenter =
        |templates_alone| machines::find(sources(place), asked, &question.words, templates_alone);
    match live {
        Live::Files => vec![],
        Live::Templates => of_vcenter(true).await,
        #[cfg(feature = "hatchery")]
        Live::Vms if !place.takes("endpoint", false) => hatcheries::machines(which(place)).await,
        Live::Vms => of_vcenter(false).await,
        #[cfg(feature = "hatchery")]
        Live::Jobs => hatcheries::jobs(which(place)).await,
        #[cfg(feature = "hatchery")]
        Live::Models => hatcheries::models(which(place)).await,
        #[cfg(feature = "hatchery")]
        Live::Hatcheries => hatcheries::names().await,
        #[cfg(not(feature = "hatchery"))]
        Live::Jobs | Live::Models | Live::Hatcheries => vec![],
    }
}

/// Which vCenter the command would turn to, as far as it has been typed.
fn sources(place: &Place<'_>) -> Sources {
    let config = place.value("config").filter(|_| place.takes("config", true)).map(PathBuf::from);
    let flags = if place.takes("endpoint", false) {
        Connect {
            // `up` has another name for the vCenter that it works on.
            endpoint: place.value("vcenter").or_else(|| place.value("endpoint")),
            user: place.value("user"),
            password_file: place.value("password_file"),
            datacenter: place.value("datacenter"),
            ca_file: place.value("ca_file"),
            thumbprint: place.value("thumbprint"),
            insecure: place.has("insecure"),
        }
    } else {
        Connect::default()
    };
    Sources::of_this_process(config, flags)
}

/// Which hatchery the command would turn to, if it says so.
#[cfg(feature = "hatchery")]
fn which(place: &Place<'_>) -> hatcheries::Which {
    use hatcheries::Which;

    match (place.value("name"), place.value("config")) {
        _ if !(place.takes("name", false) && place.takes("config", false)) => Which::Any,
        (Some(name), _) => Which::Named(name),
        (None, Some(file)) => Which::OfFile(file.into()),
        (None, None) => Which::Any,
    }
}

/// What a script asks.
struct Question {
    words: Vec<String>,
    current: String,
    /// As bash hands it over, and its end that bash replaces.
    line: Option<(String, String)>,
}

impl Question {
    fn of(asked: &Asked) -> Self {
        let mut words: Vec<String> =
            asked.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if asked.shell == Shell::Bash {
            let replaced = words.get(1).cloned().unwrap_or_default();
            let text = words.into_iter().next().unwrap_or_default();
            let bash::Line { words, current, .. } = bash::Line::read(&text);
            return Self {
                words: words.into_iter().skip(1).collect(),
                current,
                line: Some((text, replaced)),
            };
        }
        let current = asked.current.clone().or_else(|| words.pop()).unwrap_or_default();
        Self { words, current, line: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // PowerShell ends a string on four more signs than `'`: the name of a VM could run commands.
    #[test]
    fn powershell_itself_says_how_a_name_is_quoted() {
        let script = include_str!("complete/scripts/powershell");
        assert!(script.contains("::EscapeSingleQuotedStringContent($value)") && !script.contains("Replace("));
        assert!(!script.contains("=@"), "a word that begins with @ is no word");
    }

    #[test]
    fn a_name_that_would_be_shown_as_another_is_not_offered() {
        let check = |word: &str, expected| {
            let found = Candidate { word: word.to_owned(), about: String::new() };
            assert_eq!(is_typable(&found, ""), expected, "{word:?}");
        };
        check("größe 1", true);
        // It was: a shell showed it in another order.
        check("web-\u{202e}1-bd", false);
        check("a\tb", false);
        check("-flag", false);
        check("", false);
    }
}
