//! Whether vCenter answers, told once when it changes.

use rookery_vim_client::Completeness;
use tokio::time::Instant;

/// Remembers since when vCenter has not answered.
#[derive(Debug, Default)]
pub struct Reachability {
    lost_since: Option<Instant>,
}

impl Reachability {
    /// What to tell the user, if the latest snapshot says anything new about it.
    pub fn note(&mut self, latest: &Completeness, now: Instant) -> Option<String> {
        match (latest, self.lost_since) {
            (Completeness::Stale(why), None) => {
                self.lost_since = Some(now);
                Some(format!("vCenter does not answer, what is shown may be old: {why}"))
            }
            (Completeness::Complete, Some(since)) => {
                self.lost_since = None;
                Some(format!("vCenter answers again after {} s", now.duration_since(since).as_secs()))
            }
            (Completeness::Stale(_), Some(_))
            | (Completeness::Complete, None)
            | (Completeness::Loading, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn silence_and_its_end_are_told_once() {
        let mut reachability = Reachability::default();
        let start = Instant::now();
        let mut note =
            |latest: Completeness, second| reachability.note(&latest, start + Duration::from_secs(second));
        let stale = || Completeness::Stale("connection refused".to_owned());
        assert_eq!(note(Completeness::Complete, 0), None);
        let told = note(stale(), 1).unwrap();
        assert_eq!(told, "vCenter does not answer, what is shown may be old: connection refused");
        assert_eq!(note(stale(), 5), None);
        assert_eq!(note(Completeness::Complete, 13).unwrap(), "vCenter answers again after 12 s");
        assert_eq!(note(Completeness::Complete, 14), None);
    }
}
