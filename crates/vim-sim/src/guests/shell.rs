//! The little that can be told of a shell's command line without running it.
//!
//! Programs that are known do what they do: `echo`, `env`, `cat`, `sleep`, `exit`, `shutdown` and so on. All others
//! succeed at once and say nothing. Words are expanded and output goes where it is redirected to; conditions, loops and
//! functions are not understood: all that stands in them is done once.

mod words;

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::GuestPower;
use words::{Commands, Token};

/// A script within a script within a script, and so on: no deeper than this.
const DEEPEST: u8 = 8;
/// What is printed to one file beyond this is lost.
const LONGEST: usize = 1 << 20;

/// What a command line sees of its guest.
pub(super) struct Guest<'g> {
    pub(super) environment: &'g [String],
    pub(super) directory: &'g str,
    pub(super) host_name: &'g str,
    pub(super) user: &'g str,
    /// What a file holds.
    pub(super) read: &'g dyn Fn(&str) -> Option<Vec<u8>>,
}

/// How a program ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) lasts: SignedDuration,
    /// Content by path.
    pub(crate) files: BTreeMap<String, Printed>,
    pub(crate) power: Option<GuestPower>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    /// Whether it goes behind what is there.
    pub(crate) append: bool,
    pub(crate) bytes: Vec<u8>,
}

/// What a command line does.
pub(super) fn run(line: &str, guest: &Guest<'_>) -> Outcome {
    let environment = guest.environment.iter().filter_map(|entry| entry.split_once('='));
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut shell = Shell { guest, environment, outcome: Outcome::default(), ended: false };
    shell.script(line, &[None, None], DEEPEST);
    shell.outcome
}

/// Where the output and the complaints of a command line go, at last.
pub(super) fn redirections(line: &str, guest: &Guest<'_>) -> [Option<String>; 2] {
    let mut sinks = [None, None];
    let mut commands = Commands::of(line);
    while let Some((tokens, _)) = commands.next(&BTreeMap::new()) {
        redirect(tokens, guest, &mut sinks, |_, _, _| {});
    }
    sinks
}

/// The words of a command, after its output goes where it says.
fn redirect(
    tokens: Vec<Token>,
    guest: &Guest<'_>,
    sinks: &mut Sinks,
    mut open: impl FnMut(&str, bool, u8),
) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut redirected: Option<(u8, bool)> = None;
    for token in tokens {
        match (token, redirected.take()) {
            (Token::Redirect { descriptor, append }, _) => redirected = Some((descriptor, append)),
            (Token::Same { from, to }, _) => {
                let same = sink(sinks, to);
                set(sinks, from, same);
            }
            (Token::Word(path), Some((descriptor, append))) => {
                let path = absolute(guest, &path);
                open(&path, append, descriptor);
                set(sinks, descriptor, Some(path));
            }
            (Token::Word(word), None) => words.push(word),
        }
    }
    words
}

type Sinks = [Option<String>; 2];

fn set(sinks: &mut Sinks, descriptor: u8, path: Option<String>) {
    let path = path.filter(|path| path != "/dev/null");
    match descriptor {
        1 => sinks[0] = path,
        2 => sinks[1] = path,
        // Both.
        0 => *sinks = [path.clone(), path],
        _ => {}
    }
}

fn sink(sinks: &Sinks, descriptor: u8) -> Option<String> {
    usize::from(descriptor).checked_sub(1).and_then(|nth| sinks.get(nth)).cloned().flatten()
}

fn absolute(guest: &Guest<'_>, path: &str) -> String {
    let path = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", guest.directory) };
    super::files::clean(&path).unwrap_or(path)
}

struct Shell<'s, 'g> {
    guest: &'s Guest<'g>,
    environment: BTreeMap<String, String>,
    outcome: Outcome,
    /// The script has said `exit`, or the machine goes down.
    ended: bool,
}

impl Shell<'_, '_> {
    fn script(&mut self, text: &str, sinks: &Sinks, deeper: u8) {
        let Some(deeper) = deeper.checked_sub(1) else { return };
        let mut commands = Commands::of(text);
        let mut skipped = false;
        while let Some((command, op)) = commands.next(&self.environment) {
            if !skipped && !command.is_empty() {
                // What goes into a pipe is not seen.
                let sinks = if op == "|" { [None, sinks[1].clone()] } else { sinks.clone() };
                self.command(command, sinks, deeper);
            }
            if self.ended {
                return;
            }
            skipped = match op {
                "&&" => self.outcome.code != 0,
                "||" => self.outcome.code == 0,
                _ => false,
            };
        }
    }

    fn command(&mut self, tokens: Vec<Token>, mut sinks: Sinks, deeper: u8) {
        let words = redirect(tokens, self.guest, &mut sinks, |path, append, descriptor| {
            self.open(path, append, descriptor);
        });
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.outcome.code = self.program(&words, &sinks, deeper);
    }

    fn open(&mut self, path: &str, append: bool, descriptor: u8) {
        // Only output is opened for writing, and nothing keeps the null device.
        if path == "/dev/null" || descriptor > 2 {
            return;
        }
        if append {
            self.outcome.files.entry(path.to_owned()).or_insert(Printed { append, bytes: Vec::new() });
        } else {
            self.outcome.files.insert(path.to_owned(), Printed::default());
        }
    }

    fn print(&mut self, sink: Option<&String>, bytes: &[u8]) {
        if let Some(printed) = sink.and_then(|path| self.outcome.files.get_mut(path)) {
            let room = LONGEST.saturating_sub(printed.bytes.len()).min(bytes.len());
            printed.bytes.extend_from_slice(bytes.get(..room).unwrap_or_default());
        }
    }

    /// Runs one program; its exit code.
    fn program(&mut self, words: &[&str], sinks: &Sinks, deeper: u8) -> i32 {
        let Some((first, rest)) = words.split_first() else { return self.outcome.code };
        let name = first.rsplit('/').next().unwrap_or(first);
        let [output, errors] = sinks;
        match name {
            // What only stands before another program, or before a branch.
            "exec" | "nohup" | "command" | "then" | "else" | "do" | "if" | "elif" | "while" | "until"
            | "!" | "{" | "fi" | "done" | "}" => return self.program(rest, sinks, deeper),
            "sudo" => {
                let skipped = rest.iter().take_while(|word| word.starts_with('-')).count();
                return self.program(rest.get(skipped..).unwrap_or_default(), sinks, deeper);
            }
            "sh" | "bash" | "dash" | "ash" => {
                if let Some(at) = rest.iter().position(|word| is_command_flag(word)) {
                    self.script(rest.get(at + 1).copied().unwrap_or_default(), sinks, deeper);
                    return self.outcome.code;
                }
            }
            "echo" => {
                let (line, end) = match rest {
                    ["-n", rest @ ..] => (rest, ""),
                    rest => (rest, "\n"),
                };
                self.print(output.as_ref(), format!("{}{end}", line.join(" ")).as_bytes());
            }
            "env" | "printenv" if rest.is_empty() => {
                for (name, value) in self.environment.clone() {
                    self.print(output.as_ref(), format!("{name}={value}\n").as_bytes());
                }
            }
            "printenv" => {
                let Some(value) = rest.first().and_then(|name| self.environment.get(*name)).cloned() else {
                    return 1;
                };
                self.print(output.as_ref(), format!("{value}\n").as_bytes());
            }
            "env" => {
                let set = rest.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count();
                return self.program(rest.get(set..).unwrap_or_default(), sinks, deeper);
            }
            "export" => rest.iter().for_each(|word| self.assign(word)),
            "cat" => {
                let mut code = 0;
                for path in rest {
                    if let Some(bytes) = (self.guest.read)(&absolute(self.guest, path)) {
                        self.print(output.as_ref(), &bytes);
                    } else {
                        let complaint = format!("cat: {path}: No such file or directory\n");
                        self.print(errors.as_ref(), complaint.as_bytes());
                        code = 1;
                    }
                }
                return code;
            }
            "hostname" => self.print(output.as_ref(), format!("{}\n", self.guest.host_name).as_bytes()),
            "whoami" => self.print(output.as_ref(), format!("{}\n", self.guest.user).as_bytes()),
            "pwd" => self.print(output.as_ref(), format!("{}\n", self.guest.directory).as_bytes()),
            "sleep" => {
                let length: SignedDuration = rest.iter().filter_map(|word| span(word)).sum();
                self.outcome.lasts = self.outcome.lasts.saturating_add(length);
            }
            "false" => return 1,
            "exit" => {
                self.ended = true;
                return rest.first().and_then(|code| code.parse().ok()).unwrap_or(self.outcome.code);
            }
            _ => {
                if let Some(power) = power(name, rest) {
                    self.outcome.power = Some(power);
                    self.ended = true;
                } else if rest.is_empty() {
                    self.assign(first);
                } else if first.contains('=') && !first.starts_with('/') {
                    return self.program(rest, sinks, deeper);
                }
            }
        }
        0
    }

    fn assign(&mut self, word: &str) {
        if let Some((name, value)) = word.split_once('=')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            self.environment.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// `-c`, or several flags in one of which it is the last.
fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// What a program does to the machine.
fn power(name: &str, arguments: &[&str]) -> Option<GuestPower> {
    let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.contains(argument));
    match name {
        "shutdown" if has(&["-c"]) => None,
        "shutdown" if has(&["-r", "--reboot"]) => Some(GuestPower::Reboot),
        "shutdown" | "poweroff" | "halt" => Some(GuestPower::Off),
        "reboot" => Some(GuestPower::Reboot),
        "init" | "telinit" if has(&["0"]) => Some(GuestPower::Off),
        "init" | "telinit" if has(&["6"]) => Some(GuestPower::Reboot),
        "systemctl" if has(&["poweroff", "halt"]) => Some(GuestPower::Off),
        "systemctl" if has(&["reboot"]) => Some(GuestPower::Reboot),
        _ => None,
    }
}

/// As `sleep` reads it: `5`, `0.5`, `2m`.
fn span(word: &str) -> Option<SignedDuration> {
    let (number, unit) = match word.char_indices().last()? {
        (at, 's') => (word.get(..at)?, 1.0),
        (at, 'm') => (word.get(..at)?, 60.0),
        (at, 'h') => (word.get(..at)?, 3600.0),
        (at, 'd') => (word.get(..at)?, 86400.0),
        _ => (word, 1.0),
    };
    let seconds = number.parse::<f64>().ok().filter(|n| (0.0..=1e6).contains(n))? * unit;
    SignedDuration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
