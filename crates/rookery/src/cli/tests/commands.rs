//! The table of all commands in docs/cli.md: what the definition of the command line says of each, and for what a command
//! has not, the reason.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Command;

use crate::cli::{command, examples};
use crate::complete::engine::is_live;

const BEGIN: &str = "<!-- written by `UPDATE_DOCS=1 cargo test -p rookery --lib commands` -->\n";
const END: &str = "<!-- end of what is written -->\n";

/// What the definition does not say of a command.
struct Row {
    command: &'static str,
    /// Why it has no `-o`, if so.
    no_json: &'static str,
    /// Why it has no `--dry-run`, if so.
    no_dry_run: &'static str,
    codes: &'static str,
}

const fn row(
    command: &'static str,
    no_json: &'static str,
    no_dry_run: &'static str,
    codes: &'static str,
) -> Row {
    Row { command, no_json, no_dry_run, codes }
}

const HAS: &str = "";
const READS: &str = "changes nothing";
const LINE: &str = "prints a line when it is done";
const HERE: &str = "changes nothing but files on this machine";
const SIMULATED: &str = "what it changes is simulated";
/// As the beginning of docs/cli.md explains them: of what reads a vCenter, and of what also takes the name of something there.
const READING: &str = "0, 1, 2, 3, 5, 130";
const NAMING: &str = "0, 1, 2, 3, 5, 7, 130";
/// Of what takes several names and may ask first.
const SEVERAL: &str = "0, 1, 2, 3, 5, 7, 8, 9, 130";
const ASKING: &str = "0, 1, 2, 3, 5, 7, 9, 130";
/// Of what asks a hatchery that runs here.
const ASKED: &str = "0, 1, 2, 7";
const LOCAL: &str = "0, 1, 2";

const ROWS: &[Row] = &[
    row(
        "up",
        "a page for people; `hatchery status` has it for programs",
        "`--exit` without jobs changes nothing",
        NAMING,
    ),
    row("vm ls", HAS, READS, NAMING),
    row("vm info", HAS, READS, NAMING),
    row("vm watch", HAS, READS, "0, 1, 2, 3, 5, 7"),
    row("vm top", "a page for people; `vm watch` has the changes for programs", READS, "0, 1, 2, 3, 5, 7"),
    row("vm power", HAS, HAS, SEVERAL),
    row("vm rename", HAS, HAS, NAMING),
    row("vm events", HAS, READS, NAMING),
    row("vm clone", HAS, HAS, NAMING),
    row("vm create", HAS, HAS, NAMING),
    row("vm snapshot take", HAS, HAS, SEVERAL),
    row("vm snapshot ls", HAS, READS, NAMING),
    row("vm snapshot revert", HAS, HAS, ASKING),
    row("vm snapshot rm", HAS, HAS, ASKING),
    row("vm destroy", HAS, HAS, SEVERAL),
    row("vm ip", HAS, READS, NAMING),
    row("vm run", HAS, HAS, "any of its program; 1, 2, 3, 5, 7, 130"),
    row("vm upload", HAS, HAS, NAMING),
    row("vm download", HAS, HERE, NAMING),
    row("vm hold", HAS, HAS, ASKED),
    row("vm release", HAS, HAS, ASKED),
    row("vm holds", HAS, READS, ASKED),
    row("doctor", HAS, READS, "0, 1, 2, 130"),
    row("hatchery init", HAS, HERE, NAMING),
    row(
        "hatchery run",
        "logs, with `--log-format json`",
        "`hatchery plan` is that",
        "0, 1, 2, 3, 4, 5, 6, 70, 130",
    ),
    row("hatchery check", HAS, READS, "0, 1, 2, 130"),
    row("hatchery plan", HAS, READS, READING),
    row("hatchery status", HAS, READS, ASKED),
    row("hatchery top", "a page for people; `hatchery status` and `jobs` have it for programs", READS, ASKED),
    row("hatchery jobs", HAS, READS, ASKED),
    row("hatchery drain", HAS, HAS, ASKED),
    row("hatchery resume", HAS, HAS, ASKED),
    row("hatchery look", HAS, READS, ASKED),
    row("hatchery confirm", HAS, HAS, "0, 1, 2, 7, 9, 130"),
    row("hatchery adopt", HAS, HAS, ASKED),
    row("hatchery adopt-vm", HAS, HAS, ASKED),
    row("hatchery unmark", HAS, HAS, ASKED),
    row("explain", HAS, READS, ASKED),
    row("operator crds", HAS, READS, LOCAL),
    row("sim vcenter", "prints its address, and serves", SIMULATED, LOCAL),
    row("sim vcenter ctl inspect", "prints JSON", READS, LOCAL),
    row("sim vcenter ctl rules", "prints JSON", READS, LOCAL),
    row("sim vcenter ctl add-rule", "prints JSON", SIMULATED, LOCAL),
    row("sim vcenter ctl remove-rule", "prints JSON", SIMULATED, LOCAL),
    row("sim vcenter ctl do", "prints JSON", SIMULATED, LOCAL),
    row("sim vcenter ctl advance", "prints JSON", SIMULATED, LOCAL),
    row("sim vcenter ctl set", "prints JSON", SIMULATED, LOCAL),
    row("sim vcenter ctl dump", "writes JSON", HERE, LOCAL),
    row("sim vcenter ctl load", "prints JSON", SIMULATED, LOCAL),
    row("sim cds", "prints its address, and serves", SIMULATED, LOCAL),
    row("settings", HAS, READS, LOCAL),
    row("version", HAS, READS, LOCAL),
    row("completions", "prints a script", READS, LOCAL),
    row("man", LINE, HERE, LOCAL),
];

/// All commands that do something, in the order of the help, by their words. Those of `help` are clap's.
fn all<'a>(command: &'a Command, words: &str, found: &mut Vec<(String, &'a Command)>) {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        let words = format!("{words} {}", inner.get_name()).trim_start().to_owned();
        if !inner.is_subcommand_required_set() {
            found.push((words.clone(), inner));
        }
        all(inner, &words, found);
    }
}

fn has(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(flag))
}

/// What is wrong with what is said of a command, in words.
fn problems(words: &str, command: &Command, row: &Row) -> Vec<String> {
    let compare = |flag: &str, reason: &str| match (has(command, flag), reason.is_empty()) {
        (true, true) | (false, false) => None,
        (true, false) => Some(format!("{words} has --{flag}: remove the reason {reason:?}")),
        (false, true) => Some(format!("{words} has no --{flag}: add it, or say why not")),
    };
    let silent =
        examples::of(words).is_empty().then(|| format!("{words} has no example: add one to examples.rs"));
    [compare("output", row.no_json), compare("dry-run", row.no_dry_run), silent]
        .into_iter()
        .flatten()
        .collect()
}

/// As the help names it.
fn shown_name(arg: &clap::Arg) -> String {
    let value = arg.get_value_names().and_then(<[_]>::first).map_or_else(String::new, ToString::to_string);
    arg.get_long().map_or(value, |long| format!("`--{long}`"))
}

fn table(commands: &[(String, &Command)]) -> Result<String, Vec<String>> {
    let mut wrong = vec![];
    let mut text =
        "\n| command | JSON | dry run | values completed live | examples | exit codes |\n".to_owned();
    text.push_str("|---|---|---|---|---|---|\n");
    for (words, command) in commands {
        let Some(row) = ROWS.iter().find(|row| row.command == words) else {
            wrong.push(format!("{words} has no row: add one to ROWS"));
            continue;
        };
        wrong.extend(problems(words, command, row));
        let or = |flag: &str, reason: &str| if has(command, flag) { "yes" } else { reason }.to_owned();
        let live: BTreeSet<String> =
            command.get_arguments().filter(|arg| is_live(arg)).map(shown_name).collect();
        let live =
            if live.is_empty() { "-".to_owned() } else { live.into_iter().collect::<Vec<_>>().join(", ") };
        let (json, dry_run) = (or("output", row.no_json), or("dry-run", row.no_dry_run));
        let examples = examples::of(words).len();
        writeln!(text, "| `{words}` | {json} | {dry_run} | {live} | {examples} | {} |", row.codes).unwrap();
    }
    let gone = ROWS.iter().filter(|row| !commands.iter().any(|(words, _)| words == row.command));
    wrong.extend(gone.map(|row| format!("there is no command {}", row.command)));
    text.push('\n');
    if wrong.is_empty() { Ok(text) } else { Err(wrong) }
}

#[test]
fn the_document_has_a_row_for_each_of_the_commands() {
    let mut root = command();
    root.build();
    let mut commands = vec![];
    all(&root, "", &mut commands);
    let made = table(&commands).unwrap_or_else(|wrong| panic!("{}", wrong.join("\n")));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text = fs::read_to_string(&file).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (documented, after) = rest.split_once(END).unwrap();
    if documented != made && std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, format!("{before}{BEGIN}{made}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(documented, made, "docs/cli.md tells something else; UPDATE_DOCS=1 rewrites it");
}

#[test]
fn a_command_without_a_row_or_with_a_stale_reason_is_told() {
    let format = clap::Arg::new("output").long("output");
    let (new, man) = (Command::new("new"), Command::new("man").arg(format));
    let wrong = table(&[("new".to_owned(), &new), ("man".to_owned(), &man)]).unwrap_err();
    assert!(wrong.contains(&"new has no row: add one to ROWS".to_owned()), "{wrong:?}");
    assert!(wrong.contains(&format!("man has --output: remove the reason {LINE:?}")), "{wrong:?}");
    assert!(wrong.contains(&"there is no command vm ls".to_owned()), "{wrong:?}");
    let silent = problems("new", &new, &row("new", HAS, HAS, LOCAL));
    assert_eq!(silent.len(), 3, "{silent:?}");
}
