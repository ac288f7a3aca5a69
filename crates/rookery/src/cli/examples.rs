//! Examples of each command, which stand below its help and on its manual page.

/// A command line, and what it does.
pub(crate) type Example = (&'static str, &'static str);

/// The commands by their words, each with its examples.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            ("rookery up", "a hatchery at work between a simulated vCenter and a simulated CDS"),
            ("rookery vm ls", "the VMs of the vCenter in your settings"),
            ("rookery help vm clone", "the help of a command"),
        ],
    ),
    (
        "up",
        &[
            ("rookery up", "jobs every two seconds, until Ctrl-C"),
            ("rookery up --jobs 50 --exit", "fifty jobs, then a table and a recount"),
            (
                "rookery up --vcenter https://vc.example.com -c hatchery.toml --jobs 4 --exit",
                "on a vCenter of yours",
            ),
            ("rookery up --endpoint vc.example.com --user me --password-file pw", "its live fleet"),
        ],
    ),
    ("vm", &[("rookery vm ls", "list VMs"), ("rookery vm power off web-1 web-2", "stop two of them")]),
    (
        "vm ls",
        &[
            ("rookery vm ls 'web*'", "those whose names begin with web"),
            ("rookery vm ls --templates -o json", "templates, for a program"),
        ],
    ),
    (
        "vm info",
        &[
            ("rookery vm info web-1", "by its name"),
            ("rookery vm info vm-62 -o yaml", "by its id, for a program"),
        ],
    ),
    (
        "vm watch",
        &[
            ("rookery vm watch", "every change, until Ctrl-C"),
            ("rookery vm watch 'ci-*' -o json", "one JSON object for each change"),
        ],
    ),
    (
        "vm top",
        &[
            ("rookery vm top", "all of them, on a page that is kept up to date"),
            ("rookery vm top 'ci-*'", "those whose names begin with ci-"),
        ],
    ),
    (
        "vm power",
        &[
            ("rookery vm power on web-1", "start it, and wait until it is on"),
            ("rookery vm power shutdown web-1 web-2 --wait 10m", "ask two guests to shut down"),
        ],
    ),
    ("vm rename", &[("rookery vm rename web-1 'web 1 (old)'", "quote names with blanks")]),
    (
        "vm events",
        &[
            ("rookery vm events web-1 --since 24h", "those of the last day"),
            ("rookery vm events web-1 --kind VmPoweredOffEvent", "when it was stopped, and by whom"),
        ],
    ),
    (
        "vm clone",
        &[
            ("rookery vm clone debian-12 web-1 --on", "a clone beside its template, started"),
            (
                "rookery vm clone debian-12 web-1 --pool ci --ip 192.0.2.17/24 --gateway 192.0.2.1",
                "in another pool, with an address of its own",
            ),
        ],
    ),
    (
        "vm create",
        &[
            ("rookery vm create new-1 --disk 40GiB --nic 'VM Network' --memory 4GiB", "a disk and a card"),
            (
                "rookery vm create new-1 --iso '[fast] iso/debian.iso' --disk 20GiB --on",
                "start from an image",
            ),
        ],
    ),
    (
        "vm snapshot",
        &[
            ("rookery vm snapshot take debian-12 base", "what linked clones start from"),
            ("rookery vm snapshot ls debian-12", "all that it has"),
        ],
    ),
    (
        "vm snapshot take",
        &[
            ("rookery vm snapshot take debian-12 base", "what linked clones start from"),
            (
                "rookery vm snapshot take --all-matching 'web-*' before-update --dry-run",
                "of which VMs it would be",
            ),
        ],
    ),
    (
        "vm snapshot ls",
        &[
            ("rookery vm snapshot ls debian-12", "as a tree"),
            ("rookery vm snapshot ls debian-12 -o json", "for a program"),
        ],
    ),
    (
        "vm snapshot revert",
        &[
            ("rookery vm snapshot revert web-1 before-update", "asks first"),
            ("rookery vm snapshot revert web-1 snapshot-12 --yes", "by its id, in a script"),
        ],
    ),
    (
        "vm snapshot rm",
        &[("rookery vm snapshot rm web-1 before-update", "asks first; the VM stays as it is")],
    ),
    (
        "vm destroy",
        &[
            ("rookery vm destroy web-1", "asks first"),
            ("rookery vm destroy web-1 web-2 --yes", "in a script"),
        ],
    ),
    (
        "vm ip",
        &[
            ("rookery vm ip web-1", "wait until it has an address"),
            ("rookery vm ip web-1 --all --wait 10s", "all that it has"),
        ],
    ),
    (
        "vm run",
        &[
            ("rookery vm run web-1 -- /bin/uname -a", "as guest.user of your settings"),
            (
                "rookery vm run web-1 --guest-user me --guest-password-file pw --shell '-c \"id; uptime\"' -- /bin/sh",
                "a text for its shell",
            ),
        ],
    ),
    (
        "vm upload",
        &[("rookery vm upload web-1 site.tar /tmp/site.tar --mode 0644", "from here into the guest")],
    ),
    ("vm download", &[("rookery vm download web-1 /var/log/syslog syslog", "from the guest to here")]),
    (
        "vm hold",
        &[
            ("rookery vm hold brave-curie --for 4h --reason 'disk full' --name h1", "a VM that is there"),
            (
                "rookery vm hold --model debian-12 --count 2 --for 4h --reason flaky -c hatchery.toml",
                "those of the next two workers that fail",
            ),
        ],
    ),
    (
        "vm release",
        &[
            ("rookery vm release brave-curie --name h1", "the hatchery may delete it again"),
            ("rookery vm release --model debian-12 --name h1", "all of a model, and keep no further ones"),
        ],
    ),
    ("vm holds", &[("rookery vm holds --name h1", "what it keeps, and until when")]),
    (
        "doctor",
        &[
            ("rookery doctor", "the vCenter in your settings"),
            ("rookery doctor --pool ci --template debian-12 -o json", "also a place and a template"),
        ],
    ),
    (
        "hatchery",
        &[
            ("rookery hatchery init", "a first settings file: asks for what it cannot find"),
            ("rookery hatchery check -c hatchery.toml", "what is wrong with it"),
            ("rookery hatchery run -c hatchery.toml", "serve jobs"),
            ("rookery hatchery status -c hatchery.toml", "meanwhile, in another terminal"),
        ],
    ),
    (
        "hatchery init",
        &[
            ("rookery hatchery init", "asks on a terminal for what it cannot find"),
            (
                "rookery hatchery init -c h1.toml --name h1 --cds https://cds.example.com --endpoint vc.example.com --user me --password-file pw",
                "the rest is looked up in both servers",
            ),
        ],
    ),
    (
        "hatchery jobs",
        &[
            ("rookery hatchery jobs", "of the only hatchery that runs here"),
            ("rookery hatchery jobs --name h1 -o table=job,state,why", "these columns"),
        ],
    ),
    (
        "hatchery run",
        &[
            ("rookery hatchery run -c hatchery.toml", "until SIGTERM or Ctrl-C"),
            (
                "rookery hatchery run -c hatchery.toml --standby --instance b",
                "take over when the other one ends",
            ),
        ],
    ),
    (
        "hatchery check",
        &[
            ("rookery hatchery check -c hatchery.toml", "the file and both servers"),
            ("rookery hatchery check -c hatchery.toml --offline -o json", "the file alone, for a program"),
        ],
    ),
    ("hatchery plan", &[("rookery hatchery plan -c hatchery.toml", "without a change")]),
    (
        "hatchery status",
        &[
            ("rookery hatchery status -c hatchery.toml", "by its file"),
            ("rookery hatchery status --name h1 -o json", "by its name, for a program"),
        ],
    ),
    (
        "hatchery top",
        &[
            ("rookery hatchery top", "the only hatchery that runs here"),
            ("rookery hatchery top --name h1", "by its name"),
        ],
    ),
    ("hatchery drain", &[("rookery hatchery drain --name h1", "before its machine is serviced")]),
    ("hatchery resume", &[("rookery hatchery resume --name h1", "afterwards")]),
    ("hatchery look", &[("rookery hatchery look --name h1", "do not wait for the next minute")]),
    (
        "hatchery confirm",
        &[
            ("rookery hatchery confirm --name h1", "shows them, and asks"),
            ("rookery hatchery confirm --name h1 --yes", "in a script"),
        ],
    ),
    ("hatchery adopt", &[("rookery hatchery adopt shared/debian --name h1", "by the path of its model")]),
    (
        "hatchery adopt-vm",
        &[("rookery hatchery adopt-vm vm-63 --name h1", "by its id, since names may be the same")],
    ),
    (
        "hatchery unmark",
        &[("rookery hatchery unmark vm-63 --name h1", "removes the hatchery's mark from it")],
    ),
    (
        "explain",
        &[
            ("rookery explain 4711 --name h1", "a V1 job"),
            (
                "rookery explain 9b2f3c5e-7a1d-4e0b-8c6f-2d4a6b8c0e1f -c hatchery.toml -o json",
                "a V2 job, for a program",
            ),
        ],
    ),
    ("operator", &[("rookery operator crds", "what a cluster has to know first")]),
    (
        "operator crds",
        &[
            ("rookery operator crds", "for `kubectl apply --server-side -f -`"),
            ("rookery operator crds -o json", "as one List, for a program"),
        ],
    ),
    ("sim", &[("rookery sim vcenter", "a vCenter on this machine"), ("rookery sim cds", "a CDS server")]),
    (
        "sim vcenter",
        &[
            ("rookery sim vcenter", "four VMs at https://127.0.0.1:8989"),
            (
                "rookery sim vcenter --listen 127.0.0.1:0 --vms 100 --clone-time '~20s'",
                "on a free port, and less hasty",
            ),
            ("rookery sim vcenter --control-file control.json", "one that ctl can inspect and change"),
        ],
    ),
    (
        "sim vcenter ctl",
        &[("rookery sim vcenter ctl --control-file control.json inspect", "its counts, sessions and calls")],
    ),
    (
        "sim vcenter ctl inspect",
        &[("rookery sim vcenter ctl --control-file control.json inspect", "its counts, sessions and calls")],
    ),
    (
        "sim vcenter ctl rules",
        &[("rookery sim vcenter ctl --control-file control.json rules", "what fails, and how often yet")],
    ),
    (
        "sim vcenter ctl add-rule",
        &[(
            r#"rookery sim vcenter ctl --control-file control.json add-rule '{"method": "Clone*", "count": 1, "action": "lose-reply"}'"#,
            "lose the answer to the next clone",
        )],
    ),
    (
        "sim vcenter ctl remove-rule",
        &[("rookery sim vcenter ctl --control-file control.json remove-rule 1", "the first one")],
    ),
    (
        "sim vcenter ctl do",
        &[(
            r#"rookery sim vcenter ctl --control-file control.json do '{"host-down": {"host": "esx-1"}}'"#,
            "a host fails",
        )],
    ),
    (
        "sim vcenter ctl advance",
        &[("rookery sim vcenter ctl --control-file control.json advance 5m", "five minutes pass")],
    ),
    (
        "sim vcenter ctl set",
        &[(
            r#"rookery sim vcenter ctl --control-file control.json set '{"durations": {"clone": "20s"}}'"#,
            "clones take longer",
        )],
    ),
    (
        "sim vcenter ctl dump",
        &[("rookery sim vcenter ctl --control-file control.json dump world.json", "all that it holds")],
    ),
    (
        "sim vcenter ctl load",
        &[("rookery sim vcenter ctl --control-file control.json load world.json", "back to what was dumped")],
    ),
    (
        "sim cds",
        &[
            ("rookery sim cds", "nobody may sign in yet"),
            (
                "rookery sim cds --listen 127.0.0.1:8992 --model cds.toml",
                "with hatcheries and models of a file",
            ),
        ],
    ),
    (
        "settings",
        &[
            ("rookery settings", "each with where it comes from"),
            ("rookery settings --config other.toml -o json", "of another file, for a program"),
        ],
    ),
    ("version", &[("rookery version", "for people"), ("rookery version -o json", "for programs")]),
    (
        "completions",
        &[
            ("rookery completions bash", "put it into ~/.local/share/bash-completion/completions/rookery"),
            ("rookery completions zsh", "put it into a file _rookery in a folder of $fpath"),
            ("rookery completions fish", "put it into ~/.config/fish/completions/rookery.fish"),
        ],
    ),
    ("man", &[("rookery man ~/.local/share/man/man1", "then: man rookery-vm-ls")]),
];

/// Those of a command, by its words without the name of the program.
pub(crate) fn of(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(words, _)| *words == command).map_or(&[], |(_, examples)| examples)
}

/// A command and all below it, with their examples below the help.
pub(super) fn added(command: clap::Command, words: &str) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}");
        command.mut_subcommand(name, |inner| added(inner, words.trim_start()))
    });
    let examples = of(words);
    if examples.is_empty() {
        return command;
    }
    let lines = examples.iter().map(|(line, does)| format!("\n  {line}\n      {does}"));
    command.after_help(format!("Examples:{}", lines.collect::<String>()))
}
