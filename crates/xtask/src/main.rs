//! The workspace's own commands: `cargo xtask test | tools | tidy | mutants | bench | vcsim`.
//!
//! Standard library only, so that it builds in seconds on a fresh machine: nothing here may wait for a
//! dependency. Start reading at [`COMMANDS`]; each command is one module.

#![expect(clippy::print_stdout, reason = "a command line tool: standard output is its interface")]

mod bench;
mod checkout;
mod failure;
mod fnv;
mod json;
mod mutants;
mod process;
mod test;
mod tidy;
mod tools;
mod workspace;

use std::env;
use std::process::ExitCode;

use failure::Outcome;
use workspace::Workspace;

/// A subcommand: its name, its arguments, what it does (for the usage) and its entry point.
struct Command {
    name: &'static str,
    arguments: &'static str,
    does: &'static str,
    run: fn(&Workspace, &[String]) -> Outcome<ExitCode>,
}

/// Every subcommand. `tidy` compares the README with these names.
const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "[FRONT | --fast] [--fresh]",
        does: "set up, check and test everything; --fast leaves out the real components, --fresh uses empty caches",
        run: test::main,
    },
    Command {
        name: "tools",
        arguments: "[NAME…]",
        does: "build the real components that tests need and link them into target/tools",
        run: tools::main,
    },
    Command {
        name: "tidy",
        arguments: "",
        does: "dependency directions, licences, sizes, links and other house rules",
        run: tidy::main,
    },
    Command {
        name: "mutants",
        arguments: "[FILTER…]",
        does: "break safety rules on purpose, in a copy, and see the tests fail that stand for them",
        run: mutants::main,
    },
    Command {
        name: "bench",
        arguments: "NAME [ARGS…]",
        does: "build the tools and run a benchmark in release mode",
        run: bench::main,
    },
    Command {
        name: "vcsim",
        arguments: "[ARGS…]",
        does: "run VMware's vCenter simulator in the foreground, by default on 127.0.0.1:8989",
        run: tools::vcsim,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Outcome<ExitCode> {
    let Some((name, rest)) = arguments.split_first() else {
        print_usage();
        return Ok(ExitCode::SUCCESS);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print_usage();
        return Ok(ExitCode::SUCCESS);
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(&Workspace::here()?, rest),
        None => {
            Err(format!("there is no `cargo xtask {name}`; `cargo xtask help` lists what there is").into())
        }
    }
}

fn print_usage() {
    println!("usage:");
    for Command { name, arguments, does, .. } in COMMANDS {
        println!("  cargo xtask {:26} {does}", format!("{name} {arguments}"));
    }
}
