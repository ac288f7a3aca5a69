//! The help texts are an interface: changes to them are seen here.

use clap::CommandFactory as _;

use super::*;

fn help(path: &[&str]) -> String {
    let mut command = Cli::command().term_width(100);
    command.build();
    let found = path.iter().fold(&mut command, |at, name| at.find_subcommand_mut(name).unwrap());
    let text = found.render_help().to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_definition_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]), @r#"
    Hatches virtual machines on demand

    Usage: rookery [OPTIONS] <COMMAND>

    Commands:
      up        See a hatchery at work between a vCenter and a CDS, simulated or real; or the live fleet
                of a vCenter
      vm        List, inspect, watch and change virtual machines
      doctor    Check everything that making VMs needs, and say how to fix what is missing
      hatchery  Serve the jobs of a CDS server with workers in VMs
      explain   Explain why a job waits, or which VM serves it
      sim       Simulate a system that Rookery talks to
      settings  Show the effective settings and where each comes from

    Options:
      -h, --help     Print help
      -V, --version  Print version

    General:
          --config <FILE>        Settings file [env: ROOKERY_CONFIG] [default:
                                 ~/.config/rookery/rookery.toml, if it exists]
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"
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
      power     Change the power state of VMs, and wait until it is done
      rename    Rename a VM, and wait until it is done
      events    Show what happened to a VM, newest first
      clone     Clone a VM or template, and wait until it is done
      create    Create a VM without a template, and wait until it is done
      snapshot  Take a snapshot of a VM's disks, as a base for linked clones
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

    Options:
      -h, --help  Print help

    General:
          --config <FILE>        Settings file [env: ROOKERY_CONFIG] [default:
                                 ~/.config/rookery/rookery.toml, if it exists]
          --log-format <FORMAT>  How log lines look [default: human] [possible values: human, json]
      -v, --verbose...           Log more to standard error; -vv logs every call
          --log <FILTER>         What to log, as in RUST_LOG: "info,rookery_vim_client=debug"
    "#);
}

#[test]
fn help_of_a_command_that_connects() {
    insta::assert_snapshot!(help(&["vm", "power"]), @r#"
    Change the power state of VMs, and wait until it is done

    Usage: rookery vm power [OPTIONS] <ACTION> <VM>...

    Arguments:
      <ACTION>  What to do [possible values: on, off, reset, suspend, shutdown, reboot]
      <VM>...   Their names or ids; all are changed at once, or none if one of them is unclear

    Options:
          --wait <DURATION>  How long to wait for each [default: 5m]
      -h, --help             Print help (see more with '--help')

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
