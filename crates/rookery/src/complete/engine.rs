//! What can follow on a command line. Pure: it knows the definition of the command line, and names whose values only
//! somebody else knows.

use clap::{Arg, ArgAction, Command, ValueHint};

/// What can stand where the cursor is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// What is known already, as far as it begins with what is there.
    pub(super) known: Vec<Candidate>,
    /// What has to be looked up, and what stands before it in the same word, such as `--name=`.
    pub(super) live: Option<(Live, String)>,
}

/// A whole word that can stand there, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) word: String,
    pub(super) about: String,
}

/// Values that change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Live {
    /// The shell knows these.
    Files,
    Vms,
    Templates,
    Jobs,
    Models,
    Hatcheries,
}

/// Values by what the help calls them; a flag comes first, since its value may be called as others are. A name such as
/// `[VM] SNAPSHOT` says what the `nth` of several values is.
fn live(arg: &Arg, nth: usize) -> Option<Live> {
    match arg.get_long() {
        Some("template") => return Some(Live::Templates),
        Some("name") => return Some(Live::Hatcheries),
        _ => {}
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let name = if name.contains(' ') { name.split(' ').nth(nth).unwrap_or_default() } else { name };
    match name.trim_matches(['[', ']']) {
        "VM" | "OLD" | "SOURCE" | "PATTERN" => Some(Live::Vms),
        "JOB" => Some(Live::Jobs),
        "MODEL" => Some(Live::Models),
        "FILE" | "DIR" => Some(Live::Files),
        _ => matches!(arg.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath)
            .then_some(Live::Files),
    }
}

/// Whether values of this argument are looked up somewhere: the table of all commands shows it.
#[cfg(test)]
pub(crate) fn is_live(arg: &Arg) -> bool {
    arg.get_action().takes_values() && live(arg, 0).is_some_and(|live| live != Live::Files)
}

/// Where on the command line the words have come to.
pub(super) struct Place<'a> {
    pub(super) command: &'a Command,
    /// A flag that waits for its value.
    pending: Option<&'a Arg>,
    /// How many positional arguments stand there.
    positional: usize,
    /// Whether `--` was seen: no flags follow.
    only_positional: bool,
    used: Vec<&'a Arg>,
    /// The flags that have a value, with that.
    values: Vec<(&'a Arg, String)>,
}

impl<'a> Place<'a> {
    /// Where the words lead to, beginning at a command that was built.
    pub(super) fn after(root: &'a Command, words: &[String]) -> Self {
        let start = Self {
            command: root,
            pending: None,
            positional: 0,
            only_positional: false,
            used: vec![],
            values: vec![],
        };
        words.iter().fold(start, Self::step)
    }

    /// The value of a flag, if it has been typed.
    pub(super) fn value(&self, flag: &str) -> Option<String> {
        let named = self.values.iter().rfind(|(arg, _)| arg.get_id() == flag);
        named.map(|(_, value)| value.clone())
    }

    /// Whether a flag has been typed.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.used.iter().any(|arg| arg.get_id() == flag)
    }

    /// Whether the command takes a flag of its own, or else one that holds for every command.
    pub(super) fn takes(&self, flag: &str, holds_for_all: bool) -> bool {
        let named = |arg: &&Arg| arg.get_long() == Some(flag) && arg.is_global_set() == holds_for_all;
        self.command.get_arguments().any(|arg| named(&arg))
    }

    fn step(mut self, word: &String) -> Self {
        if let Some(flag) = self.pending.take() {
            self.values.push((flag, word.clone()));
            return self;
        }
        if self.only_positional {
            self.positional += 1;
        } else if word == "--" {
            self.only_positional = true;
            self.positional = self.command.get_positionals().count().saturating_sub(1).max(self.positional);
        } else if let Some(flag) = word.strip_prefix("--") {
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
            let arg = self.command.get_arguments().find(|arg| arg.get_long() == Some(name));
            self.used.extend(arg);
            self.values.extend(arg.zip(value.map(str::to_owned)));
            self.pending = arg.filter(|arg| value.is_none() && arg.get_action().takes_values());
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            self.cluster(cluster);
        } else if let Some(command) = self.command.find_subcommand(word).filter(|_| self.positional == 0) {
            return Self { command, ..self };
        } else {
            self.positional += 1;
        }
        self
    }

    /// `-vo` or `-ojson`.
    fn cluster(&mut self, cluster: &str) {
        for (at, letter) in cluster.char_indices() {
            let arg = self.command.get_arguments().find(|arg| arg.get_short() == Some(letter));
            self.used.extend(arg);
            if let Some(arg) = arg.filter(|arg| arg.get_action().takes_values()) {
                match cluster.get(at + letter.len_utf8()..) {
                    None | Some("") => self.pending = Some(arg),
                    Some(value) => {
                        self.values.push((arg, value.strip_prefix('=').unwrap_or(value).to_owned()));
                    }
                }
                return;
            }
        }
    }

    /// What can stand next, if the word there begins like this.
    pub(super) fn wanted(&self, current: &str) -> Wanted {
        if let Some(arg) = self.pending {
            return values(arg, 0, "", current);
        }
        if !self.only_positional && current.starts_with('-') {
            if let Some((flag, value)) = current.split_once('=') {
                let named =
                    |arg: &&Arg| flag.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name));
                let arg = self.command.get_arguments().find(named);
                return arg.map_or_else(nothing, |arg| values(arg, 0, &format!("{flag}="), value));
            }
            return Wanted { known: begin(self.flags(), current), live: None };
        }
        let mut wanted = self.argument().map_or_else(nothing, |(arg, nth)| values(arg, nth, "", current));
        if !self.only_positional && self.positional == 0 {
            let commands = self.command.get_subcommands().filter(|command| !command.is_hide_set());
            let commands = commands.map(|command| Candidate {
                word: command.get_name().to_owned(),
                about: first_line(command.get_about()),
            });
            wanted.known.extend(begin(commands, current));
        }
        wanted
    }

    /// The positional argument whose turn it is, and for which time; the last may take many.
    fn argument(&self) -> Option<(&'a Arg, usize)> {
        // What stands behind `--` is not offered before it.
        let visible = |arg: &&Arg| !arg.is_hide_set() && (self.only_positional || !arg.is_last_set());
        let mut positional: Vec<&Arg> = self.command.get_positionals().filter(visible).collect();
        positional.sort_by_key(|arg| arg.get_index());
        let many = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let found = positional.get(self.positional).or_else(|| positional.last().filter(many)).copied()?;
        Some((found, self.positional.saturating_sub(positional.len().saturating_sub(1))))
    }

    /// Those that may still be given.
    fn flags(&self) -> impl Iterator<Item = Candidate> {
        let again = |arg: &Arg| matches!(arg.get_action(), ArgAction::Append | ArgAction::Count);
        let free =
            move |arg: &&Arg| again(arg) || !self.used.iter().any(|used| used.get_id() == arg.get_id());
        let shown = self.command.get_arguments().filter(|arg| !arg.is_hide_set()).filter(free);
        shown.filter_map(|arg| {
            Some(Candidate { word: format!("--{}", arg.get_long()?), about: first_line(arg.get_help()) })
        })
    }
}

fn nothing() -> Wanted {
    Wanted { known: vec![], live: None }
}

fn values(arg: &Arg, nth: usize, before: &str, current: &str) -> Wanted {
    let possible = arg.get_possible_values();
    let known = possible.iter().filter(|value| !value.is_hide_set());
    let known = known
        .map(|value| Candidate { word: value.get_name().to_owned(), about: first_line(value.get_help()) });
    let known = begin(known, current).into_iter();
    let known = known.map(|candidate| Candidate { word: format!("{before}{}", candidate.word), ..candidate });
    Wanted { known: known.collect(), live: live(arg, nth).map(|live| (live, before.to_owned())) }
}

/// Those that begin with what is there.
fn begin(candidates: impl Iterator<Item = Candidate>, current: &str) -> Vec<Candidate> {
    candidates.filter(|candidate| candidate.word.starts_with(current)).collect()
}

fn first_line(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
