//! Which schema version both sides speak.

/// Everything that Rookery uses exists in 6.7; 7.0 is the newest schema that it was written against.
const NEWEST: [u32; 4] = [7, 0, 0, 0];
/// What to name when a server lists nothing that we know. With no version a server falls back to a schema of 2007.
const FALLBACK: &str = "6.0";

/// The newest of the offered versions that is not newer than ours, as the server spells it.
pub(crate) fn negotiate<'a>(offered: impl IntoIterator<Item = &'a str>) -> &'a str {
    let known = offered.into_iter().filter_map(|v| parse(v).map(|parsed| (parsed, v)));
    known
        .filter(|(parsed, _)| *parsed <= NEWEST)
        .max_by_key(|(parsed, _)| *parsed)
        .map_or(FALLBACK, |(_, v)| v)
}

fn parse(version: &str) -> Option<[u32; 4]> {
    let mut parsed = [0; 4];
    for (index, part) in version.split('.').enumerate() {
        *parsed.get_mut(index)? = part.parse().ok()?;
    }
    Some(parsed)
}

#[cfg(test)]
mod tests {
    use super::negotiate;

    #[test]
    fn the_newest_common_version_is_chosen_by_number() {
        assert_eq!(negotiate(["7.0", "6.0", "5.5"]), "7.0");
        assert_eq!(negotiate(["8.0.1.0", "7.0.3.0", "7.0.0.0", "6.7.3"]), "7.0.0.0");
        assert_eq!(negotiate(["6.7", "6.10", "6.5"]), "6.10");
        assert_eq!(negotiate(["9.0.0.0", "dev", ""]), "6.0");
        assert_eq!(negotiate([]), "6.0");
    }
}
