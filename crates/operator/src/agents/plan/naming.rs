//! How VsphereAgents and spare VMs are named.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aws_lc_rs::digest::{SHA256, digest};
use rand::RngExt as _;
use rand::rngs::StdRng;

use crate::agents::desired::Desired;
use crate::agents::observe::{AgentMachineName, RequestName, VmName};

/// The longest name of an object.
const LONGEST: usize = 253;
/// A spare's name is a host name: 63 letters with what follows the prefix.
const LONGEST_PREFIX: usize = 51;
/// Letters that Kubernetes puts into names, without those that make words.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The name of an AgentMachine's VsphereAgent: its own, or if that is taken one that nobody else arrives at.
pub(super) fn requests(want: &Desired, machine: &AgentMachineName) -> [RequestName; 2] {
    let (pool, namespace) = (&want.pool, &want.namespace);
    let whole = format!("{namespace}/{pool}/{}/{machine}", want.control_plane_namespace);
    let mut hex = String::new();
    for byte in digest(&SHA256, whole.as_bytes()).as_ref().iter().take(5) {
        write!(hex, "{byte:02x}").ok();
    }
    let mut alternate = format!("{machine}-{pool}");
    alternate.truncate(LONGEST - 1 - hex.len());
    let alternate = format!("{}-{hex}", alternate.trim_end_matches(['-', '.']));
    [RequestName::new(machine.as_str()), RequestName::new(&alternate)]
}

/// A name for a spare VM that no VsphereAgent has.
pub(super) fn spare(
    want: &Desired,
    random: &mut StdRng,
    taken: &dyn Fn(&RequestName) -> bool,
    named: &BTreeSet<RequestName>,
) -> (RequestName, VmName) {
    let mut prefix = want.spares.prefix.clone();
    prefix.truncate(LONGEST_PREFIX);
    let prefix = prefix.trim_end_matches(['-', '.']);
    loop {
        let mut letter =
            || LETTERS.get(random.random_range(0..LETTERS.len())).copied().map_or('x', char::from);
        let ending: String = std::iter::repeat_with(&mut letter).take(5).collect();
        let name = format!("{prefix}-spare-{ending}");
        let request = RequestName::new(&name);
        if !taken(&request) && !named.contains(&request) {
            return (request, VmName::new(&name));
        }
    }
}
