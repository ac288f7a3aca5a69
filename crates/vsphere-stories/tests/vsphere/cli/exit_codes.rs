//! The exit codes of each command are those that docs/cli.md lists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rookery_kit::{Program, Vcsim, VcsimOptions, workspace};

/// Of commands on vCenter: a line that succeeds, and one that names what is not there. `-`: shown by the story about guests,
/// or it never ends.
const ON_VCENTER: &[(&str, &str, &str)] = &[
    ("vm ls", "", "--datacenter nope"),
    ("vm info", "DC0_H0_VM0", "nobody"),
    ("vm watch", "-", "--datacenter nope"),
    ("vm top", "-", "--datacenter nope"),
    ("vm power", "off DC0_H0_VM0", "off nobody"),
    ("vm rename", "DC0_H0_VM0 DC0_H0_VM0", "nobody other"),
    ("vm events", "DC0_H0_VM0", "nobody"),
    ("vm clone", "DC0_H0_VM0 copy", "nobody copy2"),
    ("vm create", "new", "new2 --pool nope"),
    ("vm snapshot take", "DC0_H0_VM0 base", "nobody base"),
    ("vm snapshot ls", "DC0_H0_VM0", "nobody"),
    ("vm snapshot revert", "DC0_H0_VM0 base --yes", "DC0_H0_VM0 nothing --yes"),
    ("vm snapshot rm", "DC0_H0_VM0 base --yes", "DC0_H0_VM0 nothing --yes"),
    ("vm destroy", "copy --yes", "nobody --yes"),
    ("vm ip", "-", "nobody"),
    ("vm run", "-", "nobody -- /bin/true"),
    ("vm upload", "-", "nobody /etc/hostname /tmp/x"),
    ("vm download", "-", "nobody /tmp/x x"),
];
/// Of those that need no server: a line that succeeds.
const HERE: &[(&str, &str)] = &[
    ("settings", ""),
    ("version", ""),
    ("completions", "bash"),
    ("operator crds", ""),
    ("man", "man"),
    ("doctor", ""),
];
/// Of those that ask a hatchery: what else they need. None of the name runs.
const OF_A_HATCHERY: &[(&str, &str)] = &[
    ("vm hold", "DC0_H0_VM0 --for 1h --reason why"),
    ("vm release", "DC0_H0_VM0"),
    ("vm holds", ""),
    ("hatchery status", ""),
    ("hatchery jobs", ""),
    ("hatchery top", ""),
    ("hatchery drain", ""),
    ("hatchery resume", ""),
    ("hatchery look", ""),
    ("hatchery confirm", ""),
    ("hatchery adopt", "group/model"),
    ("hatchery adopt-vm", "DC0_H0_VM0"),
    ("hatchery unmark", "DC0_H0_VM0"),
    ("explain", "7"),
];

/// The codes of each command in the table of docs/cli.md.
fn documented() -> BTreeMap<String, BTreeSet<i32>> {
    let text = fs::read_to_string(workspace().join("docs/cli.md")).expect("a document");
    let (_, table) = text.split_once("\n## All commands\n").expect("the table of all commands");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    rows.map(|row| {
        let (command, rest) = row.split_once("` |").expect("a command");
        let codes = rest.rsplit("| ").next().expect("a column").split([',', ';', ' ']);
        (command.to_owned(), codes.filter_map(|code| code.parse().ok()).collect())
    })
    .collect()
}

async fn code(program: Program) -> i32 {
    let outcome = program.run().await;
    outcome.code.unwrap_or_else(|| panic!("it was killed: {outcome:?}"))
}

#[tokio::test]
async fn each_command_ends_with_the_codes_that_are_documented() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let folder = tempfile::tempdir().expect("a folder");
    let program = |command: &str, rest: &str| {
        let arguments: Vec<&str> = command.split(' ').chain(rest.split_whitespace()).collect();
        Program::against(&vcsim, &arguments)
            .with("ROOKERY_GUEST__USER", "worker")
            .with("ROOKERY_GUEST__PASSWORD", "nest")
            .with("ROOKERY_RUNTIME_DIR", folder.path().to_str().expect("text"))
    };
    let mut seen = Vec::new();
    for (command, good, missing) in ON_VCENTER {
        if *good != "-" {
            if let Some(unconfirmed) = good.strip_suffix(" --yes") {
                seen.push((*command, 9, code(program(command, unconfirmed)).await));
            }
            seen.push((command, 0, code(program(command, good)).await));
        }
        let refused = program(command, missing).with("GOVC_PASSWORD", "wrong");
        let closed = program(command, missing).with("ROOKERY_VCENTER__ENDPOINT", "127.0.0.1:1");
        seen.push((command, 7, code(program(command, missing)).await));
        seen.push((command, 3, code(refused).await));
        seen.push((command, 5, code(closed).await));
    }
    for (command, good) in HERE {
        let man = folder.path().join("man");
        let good = if *good == "man" { man.to_str().expect("text") } else { good };
        seen.push((command, 0, code(program(command, good)).await));
    }
    for (command, rest) in OF_A_HATCHERY {
        seen.push((command, 7, code(program(command, &format!("{rest} --name nobody"))).await));
    }
    let commands: BTreeSet<&str> = seen.iter().map(|(command, ..)| *command).collect();
    for command in commands {
        seen.push((command, 2, code(program(command, "--no-such-flag")).await));
    }

    let documented = documented();
    let wrong: Vec<_> = seen
        .iter()
        .filter(|(command, expected, code)| expected != code || !documented[*command].contains(code))
        .map(|(command, expected, code)| format!("{command}: {expected} was expected, {code} seen"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{documented:?}");
    // What the table says beyond that, somebody has to show: 1, 8, 70 and 130 have stories of their own.
    for (command, ..) in ON_VCENTER {
        let of = |code: &i32| seen.iter().any(|(seen, _, found)| seen == command && found == code);
        let unseen: Vec<_> =
            documented[*command].iter().filter(|code| [2, 3, 5, 7].contains(*code) && !of(code)).collect();
        assert!(unseen.is_empty(), "{command} does not end with {unseen:?}");
    }
}
