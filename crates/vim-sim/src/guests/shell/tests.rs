use super::*;

impl Guest<'static> {
    pub(in crate::guests) fn plain() -> Self {
        Self { environment: &[], directory: "/", host_name: "web", user: "root", read: &|_| None }
    }
}

fn check(line: &str, expected: &str) {
    let environment = ["A=b c".to_owned(), "EMPTY=".to_owned()];
    let read = |path: &str| (path == "/etc/motd").then(|| b"welcome\n".to_vec());
    let guest = Guest { environment: &environment, directory: "/home/ci", read: &read, ..Guest::plain() };
    let outcome = run(line, &guest);
    let files: Vec<String> = outcome
        .files
        .iter()
        .map(|(path, printed)| {
            let arrow = if printed.append { ">>" } else { ">" };
            format!("{:?}{arrow}{path}", String::from_utf8_lossy(&printed.bytes))
        })
        .collect();
    let power = outcome.power.map(|power| format!(" {power:?}")).unwrap_or_default();
    let lasts =
        if outcome.lasts.is_zero() { String::new() } else { format!(" {}s", outcome.lasts.as_secs()) };
    assert_eq!(format!("{}{lasts}{power} {}", outcome.code, files.join(" ")).trim(), expected, "{line}");
}

#[test]
fn what_is_printed_goes_where_it_is_redirected_to() {
    check("\"/bin/echo\" hello 1> /tmp/out 2> /tmp/err", r#"0 "">/tmp/err "hello\n">/tmp/out"#);
    check("/bin/echo -n 'a  b' \"$A\" ${A}x >f", r#"0 "a  b b c b cx">/home/ci/f"#);
    check("echo a >>/f; echo b >>/f; echo c", r#"0 "a\nb\n">>/f"#);
    check("echo a >/f; echo b >/f", r#"0 "b\n">/f"#);
    check("cat /etc/motd /none >/f 2>&1", r#"1 "welcome\ncat: /none: No such file or directory\n">/f"#);
    check("sh -c 'echo a; echo b' &>/f", r#"0 "a\nb\n">/f"#);
    check("echo gone >/dev/null", "0");
    check("env >/f", r#"0 "A=b c\nEMPTY=\n">/f"#);
    check("B=1; export C=2; echo $B$C$D >/f", r#"0 "12\n">/f"#);
}

#[test]
fn commands_follow_each_other_as_in_a_shell() {
    check("false && echo a >/a || echo b >/b", r#"0 "b\n">/b"#);
    check("true || echo a >/a", "0");
    check("exit 7; echo a >/a", "7");
    check("echo a | grep b >/f", r#"0 "">/f"#);
    check("sleep 5; sleep 1m", "0 65s");
    check("# shutdown\ncat <<EOF >/f\nshutdown now\nEOF\nfalse", r#"1 "">/f"#);
}

#[test]
fn a_machine_goes_down_when_it_is_told_to() {
    check("\"/bin/echo\" -n ;run-worker; shutdown -h now; echo never >/f", "0 Off");
    check("sudo -n /sbin/poweroff", "0 Off");
    check("\"/bin/sh\" -c 'worker && sudo shutdown -h now'", "0 Off");
    check("shutdown -r now", "0 Reboot");
    check("systemctl reboot", "0 Reboot");
    check("echo shutdown", "0");
    check("if worker; then poweroff; fi", "0 Off");
}

#[test]
fn no_text_makes_it_stumble() {
    for line in [
        "", "'", "\"", "\\", "$", "${", "<<", "<", ">", "2>&", "&", "|", ">>|&", "sh -c", "$(x", "é>é",
        "<<\n",
    ] {
        run(line, &Guest::plain());
    }
    let nested = "sh -c \"".repeat(50);
    run(&nested, &Guest::plain());
}
