//! What a job's script comes to, as far as that can be told without running it.

use std::time::Duration;

/// What comes of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Played {
    pub(super) log: String,
    /// How long it takes.
    pub(super) lasts: Duration,
    /// Whether it goes well.
    pub(super) succeeds: bool,
}

/// Plays a script line by line: `echo`, `sleep`, `exit`, `true` and `false` do what they do, the first that fails ends
/// it, and everything else is named in the log and goes well.
pub(super) fn play(script: &str) -> Played {
    let mut played = Played { log: String::new(), lasts: Duration::ZERO, succeeds: true };
    let commands = script.lines().flat_map(|line| line.split(';')).map(str::trim);
    for command in commands.filter(|command| !command.is_empty() && !command.starts_with('#')) {
        let (program, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        match program {
            "echo" => {
                played.log.push_str(rest.trim_matches(['\'', '"']));
                played.log.push('\n');
            }
            "sleep" => {
                let seconds = rest.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                played.lasts = played.lasts.saturating_add(seconds.unwrap_or_default());
            }
            "exit" => {
                played.succeeds = rest.is_empty() || rest == "0";
                break;
            }
            "false" => {
                played.succeeds = false;
                break;
            }
            "true" | "set" => {}
            _ => {
                played.log.push_str("not run: ");
                played.log.push_str(command);
                played.log.push('\n');
            }
        }
    }
    played
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_does_what_it_plainly_says() {
        for (script, log, millis, succeeds) in [
            ("", "", 0, true),
            ("# nothing\n\necho 'one two'\nsleep 1.5", "one two\n", 1500, true),
            ("echo a; sleep 1; exit 3\necho b", "a\n", 1000, false),
            ("exit 0\nfalse", "", 0, true),
            ("set -e\nfalse\necho b", "", 0, false),
            ("make all\nsleep -1\nsleep x", "not run: make all\n", 0, true),
        ] {
            let expected = Played { log: log.to_owned(), lasts: Duration::from_millis(millis), succeeds };
            assert_eq!(play(script), expected, "{script:?}");
        }
    }
}
