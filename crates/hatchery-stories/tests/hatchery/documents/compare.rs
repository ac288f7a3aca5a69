//! Whether a command printed what its document shows. Pure.

use jiff::Timestamp;
use jiff::civil::Time;

use super::transcript::Shown;

/// Stands in a document for the rest of a line, and alone on a line for any number of lines.
const REST: &str = "…";

/// How what was printed differs from what the document shows, if it does.
pub(super) fn difference(shown: &Shown, printed: &str) -> Option<String> {
    let normal = |lines: &mut dyn Iterator<Item = &str>| lines.map(normal).collect::<Vec<_>>();
    let mut expected = normal(&mut shown.prints.iter().map(String::as_str));
    let mut found = normal(&mut printed.lines());
    for lines in [&mut expected, &mut found] {
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        if shown.in_any_order {
            lines.sort();
        }
    }
    let told =
        || format!("`{}` is to print\n{}\nand printed\n{printed}", shown.command, shown.prints.join("\n"));
    (!fits(&expected, &found)).then(told)
}

fn fits(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((line, rest)) if line == REST => (0..=found.len()).any(|skipped| fits(rest, &found[skipped..])),
        Some((line, rest)) => found.split_first().is_some_and(|(next, others)| {
            let same = line.strip_suffix(REST).map_or(line == next, |begin| next.starts_with(begin));
            same && fits(rest, others)
        }),
    }
}

/// A line without what differs from run to run: times, how long something took, ids and thumbprints. How wide a column is
/// follows from them.
fn normal(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let word = |(at, word): (usize, &&str)| {
        let unit = words.get(at + 1).map(|next| next.trim_end_matches([',', ';', ')']));
        if word.parse::<f64>().is_ok() && matches!(unit, Some("s" | "ms" | "MB")) {
            return "#".to_owned();
        }
        steady(word)
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

fn steady(word: &str) -> String {
    let bare = word.trim_matches(['"', ',', ';', '(', ')']);
    let is_id = bare.strip_prefix("vm-").is_some_and(|number| number.parse::<u32>().is_ok());
    let is_thumbprint = bare.len() > 40 && bare.chars().all(|c| c.is_ascii_hexdigit() || c == ':');
    let kind = if is_id {
        "vm-#"
    } else if bare.parse::<Timestamp>().is_ok() || bare.parse::<Time>().is_ok_and(|_| bare.contains(':')) {
        "TIME"
    } else if is_thumbprint {
        "THUMBPRINT"
    } else {
        return word.to_owned();
    };
    word.replace(bare, kind)
}

#[test]
fn only_what_differs_from_run_to_run_may_differ() {
    let check = |prints: &str, printed: &str| {
        let prints = prints.lines().map(str::to_owned).collect();
        let shown = Shown { line: 1, command: "c".to_owned(), prints, in_any_order: false };
        difference(&shown, printed).is_none()
    };
    assert!(check("NAME  ID\nweb  vm-7", "NAME   ID\nweb    vm-62\n"));
    assert!(check("p50 2.4 s, p99 12.1 s", "p50 2.5 s, p99 9.0 s"));
    assert!(
        check("09:46:25 changed", "23:00:01 changed")
            && check("until 2026-11-16T18:00:00Z, 1", "until 2027-01-01T00:00:00Z, 1")
    );
    assert!(check("a\n…\nz", "a\nz") && check("a\n…\nz", "a\nb\nc\nz\n") && check("a b …", "a b c d"));
    for (prints, printed) in [
        ("web on", "web off"),
        ("4 VMs", "5 VMs"),
        ("a", "a\nb"),
        ("a\nb", "a"),
        ("127.0.0.1:8989", "127.0.0.1:8990"),
        ("a\n…\nz", "a\nz\nb"),
        ("vm-7 on", "vm-x on"),
    ] {
        assert!(!check(prints, printed), "{prints:?} {printed:?}");
    }
}
