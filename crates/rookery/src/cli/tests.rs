//! The help texts are an interface: changes to them are seen here.

mod commands;

use clap::error::ErrorKind;

use super::*;
use crate::complete::bash::Line;

fn help(path: &[&str]) -> String {
    let mut command = command().term_width(100);
    command.build();
    let found = path.iter().fold(&mut command, |at, name| at.find_subcommand_mut(name).unwrap());
    let text = found.render_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_definition_is_consistent() {
    command().debug_assert();
}

/// Each command with its words, groups and the program itself included.
fn with_words(command: &clap::Command, words: &str, found: &mut Vec<String>) {
    found.push(words.to_owned());
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        with_words(inner, format!("{words} {}", inner.get_name()).trim_start(), found);
    }
}

#[test]
fn each_command_has_examples_of_its_own_that_can_be_typed() {
    let (root, mut all) = (command(), vec![]);
    with_words(&root, "", &mut all);
    for words in all {
        let examples = examples::of(&words);
        assert!(!examples.is_empty(), "{words:?} has none");
        for (line, _) in examples {
            let Line { words: mut typed, current, .. } = Line::read(line);
            typed.push(current);
            match command().try_get_matches_from(&typed) {
                Ok(matches) => {
                    let (mut at, mut path) = (&matches, vec![]);
                    while let Some((name, inner)) = at.subcommand() {
                        path.push(name);
                        at = inner;
                    }
                    assert!(path.join(" ").starts_with(&words), "{line} is no example of {words:?}");
                    Cli::from_arg_matches(&matches).unwrap();
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{line}: {error}");
                }
            }
        }
    }
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]), @r#"
    Hatches virtual machines on demand

    Usage: rookery [OPTIONS] <COMMAND>

    Commands:
      up           See a hatchery at work between a vCenter and a CDS, simulated or real; or the live
                   fleet of a vCenter
      vm           List, inspect, watch and change virtual machines
      doctor       Check everything that making VMs needs, and say how to fix what is missing
      hatchery     Serve the jobs of a CDS server with workers in VMs
      explain      Explain why a job waits, or which VM serves it
      operator     Serve Kubernetes with VMs
      sim          Simulate a system that Rookery talks to
      settings     Show the effective settings and where each comes from
      version      Show the version, the commit and the compiler that it was built from, and its
                   features
      completions  Print a script by which a shell completes commands, flags, and names of VMs, jobs and
                   hatcheries
      man          Write a manual page for each command into a folder
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    General:
          --config <FILE>        Settings file [env: ROOKERY_CONFIG] [default:
                                 ~/.config/rookery/rookery.toml, if it exists]
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"

    Examples:
      rookery up
          a hatchery at work between a simulated vCenter and a simulated CDS
      rookery vm ls
          the VMs of the vCenter in your settings
      rookery help vm clone
          the help of a command
    "#);
}

#[test]
fn help_of_vm() {
    insta::assert_snapshot!(help(&["vm"]), @r#"
    List, inspect, watch and change virtual machines

    Usage: rookery vm [OPTIONS] <COMMAND>

    Commands:
      ls        List VMs by name
      info      Show all that is known of one VM
      watch     Print changes as they happen, until Ctrl-C
      top       Show VMs, their state and what happens to them on a live page, until q or Ctrl-C
      power     Change the power state of VMs, and wait until it is done
      rename    Rename a VM, and wait until it is done
      events    Show what happened to a VM, newest first
      clone     Clone a VM or template, and wait until it is done
      create    Create a VM without a template, and wait until it is done
      snapshot  Take, list, go back to and remove snapshots
      destroy   Remove VMs that are off, with all their files
      ip        Print the address under which a VM's guest can be reached, as soon as it has one
      run       Run a program inside a VM's guest
      upload    Copy a file into a VM's guest
      download  Copy a file out of a VM's guest
      hold      Keep a worker's VM for somebody to look at: an existing one, or those of the next
                workers that fail
      release   Stop keeping a VM, or those of a model or job: they are deleted as usual, and no further
                ones are kept
      holds     List the VMs that a hatchery keeps, and the failures that it waits for
      help      Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help

    General:
          --config <FILE>        Settings file [env: ROOKERY_CONFIG] [default:
                                 ~/.config/rookery/rookery.toml, if it exists]
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"

    Examples:
      rookery vm ls
          list VMs
      rookery vm power off web-1 web-2
          stop two of them
    "#);
}

#[test]
fn help_of_a_command_that_connects() {
    insta::assert_snapshot!(help(&["vm", "power"]), @r#"
    Change the power state of VMs, and wait until it is done

    Usage: rookery vm power [OPTIONS] <ACTION> [VM]...

    Arguments:
      <ACTION>  What to do [possible values: on, off, reset, suspend, shutdown, reboot]
      [VM]...   Their names or ids; none is changed if one of them is unclear

    Options:
          --all-matching <PATTERN>  Instead of names: all VMs whose name fits, where `*` is any text and
                                    `?` any one character. Lists them and asks
          --yes                     Do not ask for confirmation
          --wait <DURATION>         How long to wait for each [default: 5m]
          --dry-run                 Check everything and tell what would be done, but change nothing
      -o, --output <FORMAT>         How to tell what was done [default: table] [possible values: table,
                                    json, yaml, name]
      -h, --help                    Print help (see more with '--help')

    Connection (see also `rookery settings`):
          --endpoint <ADDRESS>    vCenter's address: host, host:port or https://host/sdk
          --user <NAME>           The user to log in as
          --password-file <FILE>  File with the password; there is no --password, since everybody on
                                  this machine could read it
          --datacenter <NAME>     Only the VMs of this datacenter [default: all]
          --ca-file <FILE>        Trust the certificate authorities in this PEM file instead of the
                                  system's
          --thumbprint <HEX>      Trust exactly the certificate with this SHA-256 thumbprint
          --insecure              Trust any certificate

    General:
          --config <FILE>        Settings file [env: ROOKERY_CONFIG] [default:
                                 ~/.config/rookery/rookery.toml, if it exists]
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"

    Examples:
      rookery vm power on web-1
          start it, and wait until it is on
      rookery vm power shutdown web-1 web-2 --wait 10m
          ask two guests to shut down
    "#);
}

#[test]
fn help_of_a_command_that_asks_a_hatchery() {
    insta::assert_snapshot!(help(&["vm", "hold"]), @r#"
    Keep a worker's VM for somebody to look at: an existing one, or those of the next workers that fail

    Usage: rookery vm hold [OPTIONS] --for <DURATION> --reason <TEXT> <VM|--model <MODEL>|--job <JOB>>

    Arguments:
      [VM]  The name of a VM of the hatchery

    Options:
          --model <MODEL>      Those of failed workers of a model: the path of a V1 model, or the
                               template of a V2 model
          --job <JOB>          Those of failed workers of a job: the number of a V1 job, or the UUID of
                               a V2 job or the beginning of it
          --count <NUMBER>     How many VMs of failed workers [default: 1]
          --for <DURATION>     How long to keep each of them, at most 168h
          --within <DURATION>  How long to wait for failures, at most 168h [default: 24h]
          --reason <TEXT>      Why, for whoever finds them
          --dry-run            Say what would be done, and do nothing
      -c, --config <FILE>      The settings file that the hatchery was started with [default: the only
                               hatchery that runs on this machine]
          --name <NAME>        The hatchery's name
      -o, --output <FORMAT>    How to show the answer [default: table] [possible values: table, json,
                               yaml, name]
      -h, --help               Print help (see more with '--help')

    General:
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"

    Examples:
      rookery vm hold brave-curie --for 4h --reason 'disk full' --name h1
          a VM that is there
      rookery vm hold --model debian-12 --count 2 --for 4h --reason flaky -c hatchery.toml
          those of the next two workers that fail
    "#);
}

#[test]
fn one_thing_is_kept_and_everybody_says_why() {
    let parses = |line: &str| Cli::try_parse_from(line.split(' ')).is_ok();
    let end = "--for 4h --reason why --name h";
    assert!(parses("rookery vm hold w --for 4h --reason why"), "there may be only one hatchery");
    for right in ["w", "--model m --count 3 --within 2h", "--job 7"] {
        assert!(parses(&format!("rookery vm hold {right} {end}")), "{right}");
    }
    for wrong in ["", "w --model m", "--model m --job 7", "w --count 2", "w --within 2h", "--job 7 --count x"]
    {
        assert!(!parses(&format!("rookery vm hold {wrong} {end}")), "{wrong}");
    }
    for missing in ["--reason why --name h", "--for 4h --name h"] {
        assert!(!parses(&format!("rookery vm hold w {missing}")), "{missing}");
    }
    for right in ["release w", "release --model m", "release --job 7", "holds", "holds -o json"] {
        assert!(parses(&format!("rookery vm {right} --name h")), "{right}");
    }
}

// A command line that seemed to leave out `take` had it put in: `vm snapshot -v ls VM` took a snapshot of a VM `ls`, `vm
// snapshot help` was refused, and `vm power off vm snapshot` looked for a VM `take`.
#[test]
fn what_is_done_to_a_snapshot_is_always_said() {
    let read = |line: &str| {
        let read = Cli::try_parse_from(line.split(' '));
        read.map(|cli| format!("{:?}", cli.command)).map_err(|error| error.kind())
    };
    for line in ["vm snapshot -v ls web-1", "vm snapshot --log-format human ls web-1"] {
        let command = read(&format!("rookery {line}")).expect(line);
        assert!(command.contains("command: Ls("), "{line}: {command}");
    }
    let power = read("rookery vm power off vm snapshot web-1 --dry-run").expect("three VMs");
    assert!(power.contains(r#"["vm", "snapshot", "web-1"]"#), "{power}");
    for help in ["help", "help rm"] {
        assert_eq!(read(&format!("rookery vm snapshot {help}")), Err(ErrorKind::DisplayHelp));
    }
    for old in ["web-1 base", "-v web-1 base"] {
        assert_eq!(read(&format!("rookery vm snapshot {old}")), Err(ErrorKind::InvalidSubcommand));
    }
}

#[test]
fn verbosity_chooses_what_is_logged() {
    let filter = |args: &[&str]| Cli::try_parse_from(args).unwrap().telemetry().filter;
    assert_eq!(filter(&["rookery", "vm", "ls"]), QUIET);
    assert_eq!(filter(&["rookery", "up"]), SILENT);
    assert_eq!(filter(&["rookery", "-v", "up"]), VERBOSE);
    assert_eq!(filter(&["rookery", "up", "-vv"]), VERY_VERBOSE);
    assert_eq!(filter(&["rookery", "up", "--log", "trace"]), "trace");
    assert!(Cli::try_parse_from(["rookery", "up", "-v", "--log", "trace"]).is_err());
}

#[test]
fn there_is_no_flag_that_takes_a_password() {
    assert!(Cli::try_parse_from(["rookery", "up", "--password", "x"]).is_err());
}

// `--config` before `hatchery` was refused, although it may stand before every command.
#[test]
#[cfg(feature = "hatchery")]
fn the_file_of_a_hatchery_is_named_before_or_after_the_command() {
    for line in [
        "rookery hatchery run -c h.toml",
        "rookery hatchery run --config h.toml",
        "rookery --config h.toml hatchery run",
        "rookery hatchery --config h.toml run",
        "rookery --config h.toml explain 7",
        "rookery --config h.toml vm holds",
        "rookery vm holds -c h.toml",
    ] {
        let Command::Hatchery { command } = Cli::try_parse_from(line.split(' ')).expect(line).command else {
            continue;
        };
        assert!(format!("{command:?}").contains("config: Some(\"h.toml\")"), "{line}: {command:?}");
    }
}
