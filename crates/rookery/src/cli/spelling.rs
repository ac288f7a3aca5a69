//! What could be said before, in the words of today.

use std::ffi::OsString;

/// What follows `vm snapshot` today.
const SNAPSHOT: [&str; 6] = ["take", "ls", "revert", "rm", "-h", "--help"];

/// `vm snapshot VM SNAPSHOT`, which took a snapshot, is `vm snapshot take VM SNAPSHOT`.
pub(super) fn of_today(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let at = arguments.windows(2).position(|pair| pair == ["vm", "snapshot"]);
    // Only what stands before any `--` is a command.
    let at = at.filter(|at| !arguments.iter().take(*at).any(|argument| argument == "--")).map(|at| at + 2);
    if let Some(at) = at
        && arguments.get(at).is_some_and(|next| !SNAPSHOT.iter().any(|known| next == known))
    {
        arguments.insert(at, "take".into());
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_can_be_taken_as_before() {
        let check = |before: &str, expected: &str| {
            let words = of_today(before.split(' ').map(OsString::from));
            assert_eq!(words, expected.split(' ').collect::<Vec<_>>());
        };
        check("rookery vm snapshot web-1 base", "rookery vm snapshot take web-1 base");
        check("rookery -v vm snapshot --wait 1m a b", "rookery -v vm snapshot take --wait 1m a b");
        for today in ["take web-1 base", "ls web-1", "revert web-1 base", "rm web-1 base", "--help"] {
            let line = format!("rookery vm snapshot {today}");
            check(&line, &line);
        }
        check("rookery vm snapshot", "rookery vm snapshot");
        check("rookery vm run a -- vm snapshot b", "rookery vm run a -- vm snapshot b");
    }
}
