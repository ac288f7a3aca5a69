//! Whether the hatchery can work: whether both of its servers answer.

use std::time::Duration;

/// How long vCenter may be silent. Its long poll answers at least once a minute.
const SILENCE: Duration = Duration::from_mins(2);

/// What is known of the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peers {
    /// Whether all VMs are known.
    pub(super) complete: bool,
    /// How long ago vCenter confirmed them.
    pub(super) age: Duration,
    /// The protocols that CDS is spoken with, and whether it took the last heartbeat.
    pub(super) beats: Vec<(&'static str, bool)>,
}

impl Peers {
    /// Why the hatchery is not ready.
    pub(super) fn reasons(&self) -> Vec<String> {
        let unknown = (!self.complete).then(|| "vCenter: not all VMs are known".to_owned());
        let silent = (self.age > SILENCE)
            .then(|| format!("vCenter: it has confirmed nothing for {} s", self.age.as_secs()));
        let unheard = self.beats.iter().filter(|(_, taken)| !taken);
        let unheard =
            unheard.map(|(protocol, _)| format!("CDS: it has not taken the last {protocol} heartbeat"));
        unknown.into_iter().chain(silent).chain(unheard).collect()
    }
}

#[cfg(test)]
mod tests {
    use rookery_daemon::probes::Readiness;

    use super::*;

    #[test]
    fn it_is_ready_while_both_servers_answer() {
        let fine = || Peers { complete: true, age: SILENCE, beats: vec![("V1", true), ("V2", true)] };
        let check = |peers: &Peers, expected: &[&str]| {
            let reasons = peers.reasons();
            assert_eq!(reasons, expected, "{peers:?}");
            assert_eq!(Readiness::new(reasons).page().status, if expected.is_empty() { 200 } else { 503 });
        };
        check(&fine(), &[]);
        check(&Peers { beats: vec![], ..fine() }, &[]);
        check(&Peers { complete: false, ..fine() }, &["vCenter: not all VMs are known"]);
        let silent = Peers { age: Duration::from_secs(121), ..fine() };
        check(&silent, &["vCenter: it has confirmed nothing for 121 s"]);
        let unheard = Peers { beats: vec![("V1", false), ("V2", true)], complete: false, ..fine() };
        let both = ["vCenter: not all VMs are known", "CDS: it has not taken the last V1 heartbeat"];
        check(&unheard, &both);
    }
}
