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
use std::time::Duration;

use clap::{ArgMatches, FromArgMatches as _, ValueEnum};

use crate::Ending;
use crate::cli::{self, Connect};
use crate::output::{Out, printable};
use crate::settings::{Loaded, Sources, load};
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
    /// Load what a vCenter has instead
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
    let question = Question::of(asked);
    let mut root = cli::command();
    root.build();
    let place = Place::after(&root, &question.words);
    if asked.refresh {
        machines::refresh(&question.settings(place.command)).await.ok();
        return Ok(Ending::Done);
    }
    let wanted = place.wanted(&question.current);
    let mut candidates = wanted.known;
    let files = matches!(wanted.live, Some((Live::Files, _)));
    if let Some((live, before)) = wanted.live {
        let found = look_up(live, asked, &question, place.command).await;
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

/// Lines and tabs separate what the scripts read, and a name that begins with a dash would be a flag.
fn is_typable(found: &Candidate, current: &str) -> bool {
    let word = &found.word;
    !word.chars().any(char::is_control)
        && !word.is_empty()
        && word.starts_with(current)
        && (!word.starts_with('-') || current.starts_with('-'))
}

async fn look_up(live: Live, asked: &Asked, question: &Question, command: &clap::Command) -> Vec<Candidate> {
    let of_vcenter = |templates_alone| async move {
        machines::find(&question.settings(command), asked, templates_alone).await
    };
    match live {
        Live::Files => vec![],
        Live::Templates => of_vcenter(true).await,
        #[cfg(feature = "hatchery")]
        Live::Vms if command.get_arguments().all(|arg| arg.get_long() != Some("endpoint")) => {
            hatcheries::machines(question.hatchery(command).as_deref()).await
        }
        Live::Vms => of_vcenter(false).await,
        #[cfg(feature = "hatchery")]
        Live::Jobs => hatcheries::jobs(question.hatchery(command).as_deref()).await,
        #[cfg(feature = "hatchery")]
        Live::Models => hatcheries::models(question.hatchery(command).as_deref()).await,
        #[cfg(feature = "hatchery")]
        Live::Hatcheries => hatcheries::names().await,
        #[cfg(not(feature = "hatchery"))]
        Live::Jobs | Live::Models | Live::Hatcheries => vec![],
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

    /// What has been typed, as far as it can be understood, for the command that it has come to.
    fn typed(&self) -> Option<ArgMatches> {
        let words = std::iter::once("rookery").chain(self.words.iter().map(String::as_str));
        let mut matches = cli::command().ignore_errors(true).try_get_matches_from(words).ok()?;
        while let Some((_, inner)) = matches.remove_subcommand() {
            matches = inner;
        }
        Some(matches)
    }

    /// Which vCenter the command would turn to.
    fn settings(&self, command: &clap::Command) -> Loaded {
        let has = |name, global| {
            command.get_arguments().any(|arg| arg.get_long() == Some(name) && arg.is_global_set() == global)
        };
        let (connects, has_config) = (has("endpoint", false), has("config", true));
        let typed = self.typed();
        let config = typed
            .as_ref()
            .filter(|_| has_config)
            .and_then(|typed| typed.try_get_one("config").ok().flatten().cloned());
        // `up` has another name for the vCenter that it works on.
        let named =
            typed.as_ref().and_then(|typed| typed.try_get_one::<String>("vcenter").ok().flatten().cloned());
        let flags = typed.filter(|_| connects).and_then(|typed| Connect::from_arg_matches(&typed).ok());
        let flags = flags.unwrap_or_default();
        load(&Sources::of_this_process(config, Connect { endpoint: named.or(flags.endpoint), ..flags }))
    }

    /// Which hatchery the command would turn to, if it says so.
    #[cfg(feature = "hatchery")]
    fn hatchery(&self, command: &clap::Command) -> Option<String> {
        use rookery_hatchery::settings;

        let names_one = |name| command.get_arguments().any(|arg| arg.get_long() == Some(name));
        let typed = self.typed().filter(|_| names_one("name") && names_one("config"))?;
        if let Ok(Some(name)) = typed.try_get_one::<String>("name") {
            return Some(name.clone());
        }
        let file: &std::path::PathBuf = typed.try_get_one("config").ok().flatten()?;
        Some(settings::load_file(file).ok()?.settings.identity.name)
    }
}

#[cfg(test)]
mod tests {
    // PowerShell ends a string on four more signs than `'`: the name of a VM could run commands.
    #[test]
    fn powershell_itself_says_how_a_name_is_quoted() {
        let script = include_str!("complete/scripts/powershell");
        assert!(script.contains("::EscapeSingleQuotedStringContent($value)") && !script.contains("Replace("));
        assert!(!script.contains("=@"), "a word that begins with @ is no word");
    }
}
