use super::super::bash::Line;
use super::*;

/// What can stand at the end of a line: the known words, and what is looked up.
fn wanted(line: &str) -> (Vec<String>, Option<(Live, String)>) {
    let mut root = crate::cli::command();
    root.build();
    let Line { words, current, .. } = Line::read(line);
    let wanted = Place::after(&root, &words[1..]).wanted(&current);
    (wanted.known.into_iter().map(|candidate| candidate.word).collect(), wanted.live)
}

fn known(line: &str) -> Vec<String> {
    let (words, looked_up) = wanted(line);
    assert_eq!(looked_up, None, "{line}");
    words
}

fn live(line: &str) -> Live {
    let (words, looked_up) = wanted(line);
    assert_eq!(words, [""; 0], "{line}");
    looked_up.unwrap_or_else(|| panic!("{line} has no values")).0
}

#[test]
fn commands_are_offered_where_one_is_missing() {
    assert_eq!(known("rookery do"), ["doctor"]);
    assert_eq!(known("rookery -v do"), ["doctor"]);
    assert_eq!(known("rookery --config vm do"), ["doctor"], "vm is the name of a file");
    assert_eq!(known("rookery vm re"), ["rename", "release"]);
    assert_eq!(known("rookery sim vcenter ctl --control-file c.json a"), ["add-rule", "advance"]);
    assert_eq!(known("rookery help vm cl"), ["clone"]);
    assert_eq!(known("rookery no-such-command vm"), [""; 0]);
    assert_eq!(known("rookery __"), [""; 0], "what scripts call is nobody else's");
}

#[test]
fn flags_are_offered_once_unless_they_may_be_repeated() {
    assert_eq!(known("rookery vm ls --te"), ["--templates"]);
    assert_eq!(known("rookery vm ls --templates --te"), [""; 0]);
    assert_eq!(known("rookery vm create n --nic a --ni"), ["--nic"]);
    assert_eq!(known("rookery vm ls --verb"), ["--verbose"], "general ones are known everywhere");
    assert_eq!(known("rookery vm run web -- --sh"), [""; 0], "behind -- there are none");
    assert!(known("rookery vm clone -").contains(&"--disks".to_owned()));
}

#[test]
fn known_values_are_offered_in_each_way_to_write_them() {
    let formats = ["table", "json", "yaml", "name"];
    assert_eq!(known("rookery vm ls -o "), formats);
    assert_eq!(known("rookery vm ls --output "), formats);
    assert_eq!(known("rookery vm ls --output=j"), ["--output=json"]);
    assert_eq!(known("rookery vm ls -vo y"), ["yaml"]);
    assert_eq!(known("rookery vm power s"), ["suspend", "shutdown"]);
    assert_eq!(known("rookery vm ls --no-such-flag=x"), [""; 0]);
}

#[test]
fn values_that_change_are_looked_up() {
    for (line, expected) in [
        ("rookery vm info w", Live::Vms),
        ("rookery vm ls w", Live::Vms),
        ("rookery vm power off web-1 ", Live::Vms),
        ("rookery vm power off --wait 5m web-1 w", Live::Vms),
        ("rookery vm rename o", Live::Vms),
        ("rookery vm clone deb", Live::Vms),
        ("rookery vm destroy -- -odd ", Live::Vms),
        ("rookery doctor --template ", Live::Templates),
        ("rookery up --template=d", Live::Templates),
        ("rookery explain 4", Live::Jobs),
        ("rookery vm hold --job ", Live::Jobs),
        ("rookery vm hold --model ", Live::Models),
        ("rookery hatchery adopt g", Live::Models),
        ("rookery hatchery status --name ", Live::Hatcheries),
        ("rookery hatchery run -c ", Live::Files),
        ("rookery --config=x", Live::Files),
        ("rookery vm upload web-1 ", Live::Files),
        // The help calls it `[VM] SNAPSHOT`, and no VM was offered.
        ("rookery vm snapshot take ", Live::Vms),
        ("rookery vm snapshot take w", Live::Vms),
        ("rookery sim cds --model ", Live::Files),
    ] {
        assert_eq!(live(line), expected, "{line}");
    }
    assert_eq!(wanted("rookery up --template=d").1.unwrap().1, "--template=");
    for nothing in [
        "rookery vm rename old n",
        "rookery vm snapshot take web-1 b",
        "rookery vm info a b",
        "rookery vm create n",
        "rookery vm ls --user m",
    ] {
        assert_eq!(known(nothing), [""; 0], "{nothing}");
    }
}

#[test]
fn what_flags_were_given_is_known_in_each_way_to_write_them() {
    let mut root = crate::cli::command();
    root.build();
    let given = |line: &str, flag: &str| {
        let Line { words, .. } = Line::read(line);
        Place::after(&root, &words[1..]).value(flag)
    };
    for line in [
        "rookery vm ls --endpoint vc --user=me --insecure ",
        "rookery vm ls --endpoint=other --endpoint vc --user me w ",
    ] {
        assert_eq!(
            (given(line, "endpoint"), given(line, "user")),
            (Some("vc".into()), Some("me".into())),
            "{line}"
        );
    }
    for line in [
        "rookery --config f explain ",
        "rookery explain -c f ",
        "rookery explain -vcf ",
        "rookery explain -c=f ",
    ] {
        assert_eq!(given(line, "config").as_deref(), Some("f"), "{line}");
    }
    assert_eq!(given("rookery vm run web -- --user x ", "user"), None);
    assert_eq!(given("rookery vm ls --user ", "user"), None);
}
