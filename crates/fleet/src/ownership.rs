//! Whose a machine is. Each front marks its machines in its own way and recognises them by a pure function over what the
//! supplier shows of them; what comes of it is the same for all fronts.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::Timestamp;

/// Who owns machines: one front, under one name. Names of different fronts do not meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerId {
    front: &'static str,
    name: Arc<str>,
}

impl OwnerId {
    /// The owner of that name among those of a front.
    pub fn new(front: &'static str, name: impl Into<Arc<str>>) -> Self {
        Self { front, name: name.into() }
    }

    /// The front that marks its machines so.
    pub fn front(&self) -> &'static str {
        self.front
    }

    /// The name, as it stands in marks.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Ownership {
    /// Not told yet, or claimed by two fronts: nobody touches it, and it holds its name, slot and addresses.
    Unknown,
    #[default]
    Nobody,
    By(OwnerId),
    /// It carries this owner's mark, which may have been written for another machine: it counts as the owner's and is not
    /// touched.
    Disputed(OwnerId),
    /// It carries this owner's mark, which was written for another machine: it is nobody's, and holds what the mark names.
    Copied(OwnerId),
}

impl Ownership {
    /// Whose mark it carries, whether that was written for it or not.
    pub fn marked_by(&self) -> Option<&OwnerId> {
        match self {
            Self::By(owner) | Self::Disputed(owner) | Self::Copied(owner) => Some(owner),
            Self::Unknown | Self::Nobody => None,
        }
    }

    fn is_claim(&self) -> bool {
        matches!(self, Self::By(_) | Self::Disputed(_))
    }

    /// Whose it is if two fronts say these: a machine that both claim is neither's. Of two copies it is the first one's.
    fn beside(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one.is_claim() && other.is_claim() => Self::Unknown,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (one, other) if other.is_claim() || one == Self::Nobody => other,
            (one, _) => one,
        }
    }
}

/// What the supplier shows of a machine that may tell whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// Its name, which is shown before anything else.
    pub name: &'a str,
    /// Its notes and extra configuration; `None`: not told yet, or not all of it.
    pub config: Option<LabelConfig<'a>>,
    /// The supplier's UUID of it: copies have others.
    pub instance: Option<&'a str>,
    /// When it was made, by the supplier's clock.
    pub created: Option<Timestamp>,
}

/// The labels that come with a machine's configuration.
#[derive(Debug, Clone, Copy)]
pub struct LabelConfig<'a> {
    pub notes: &'a str,
    /// The extra configuration, of the keys that somebody asked for.
    pub extra: &'a BTreeMap<Arc<str>, String>,
}

/// What a front recognises in the labels of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised<M> {
    pub ownership: Ownership,
    /// The front's own facts: its mark, whoever of that front wrote it and for whichever machine.
    pub mark: Option<Box<M>>,
    /// The addresses that the mark or the name hold, whatever the guest reports.
    pub addresses: Vec<Ipv4Addr>,
    /// Until when somebody keeps it.
    pub held_until: Option<Timestamp>,
    /// What only one machine of the owner can be.
    pub identity: Option<Identity>,
}

/// What a mark says that its machine is; of several that say the same one is the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What the owner calls it.
    pub name: Arc<str>,
    /// Whether the mark also tells which machine it was written for.
    pub is_proven: bool,
}

impl<M> Recognised<M> {
    /// What is nobody's.
    pub fn nobody() -> Self {
        let (ownership, mark, addresses, held_until, identity) = Default::default();
        Self { ownership, mark, addresses, held_until, identity }
    }

    /// What cannot be told yet.
    pub fn unknown() -> Self {
        Self { ownership: Ownership::Unknown, ..Self::nobody() }
    }

    /// The same without what only its front understands: what other fronts have to know.
    fn claim(self) -> Claim {
        Claim { ownership: self.ownership, addresses: self.addresses, held_until: self.held_until }
    }

    /// The same beside what other fronts recognise. A mark of ours on what is another front's tells nothing about it.
    fn beside(&mut self, others: Claim) {
        let own = std::mem::take(&mut self.ownership);
        self.ownership = own.clone().beside(others.ownership);
        if self.ownership != own && self.ownership != Ownership::Unknown {
            (self.mark, self.identity) = (None, None);
        }
        self.addresses.extend(others.addresses);
        self.held_until = self.held_until.max(others.held_until);
    }
}

/// What a front recognises in a machine, as far as other fronts have to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    ownership: Ownership,
    addresses: Vec<Ipv4Addr>,
    held_until: Option<Timestamp>,
}

impl Claim {
    /// What two fronts recognise, in any order.
    fn beside(mut self, other: Self) -> Self {
        let (one, two) =
            (self.ownership.clone().min(other.ownership.clone()), self.ownership.max(other.ownership));
        self.ownership = one.beside(two);
        self.addresses.extend(other.addresses);
        self.held_until = self.held_until.max(other.held_until);
        self
    }
}

/// How a front marks its machines: two pure functions, and what they need to see.
#[derive(Debug)]
pub struct Marking<M> {
    /// The keys of the extra configuration that marks stand in.
    pub extra_keys: &'static [&'static str],
    /// Reads the labels of a machine.
    pub recognise: fn(&Labels<'_>) -> Recognised<M>,
    /// What to write for a mark on the machine with that UUID.
    pub write: fn(&M, Option<&str>) -> Written,
    /// Whether a VM of that name with that mark is never deleted, whatever a plan says.
    pub protects: fn(&str, &M) -> bool,
}

impl<M> Clone for Marking<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Marking<M> {}

/// What a mark looks like where the supplier keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The notes; `None`: they stay as they are.
    pub notes: Option<String>,
    pub extra: Vec<(&'static str, String)>,
}

/// What recognises the machines of another front in the same process.
#[derive(Clone)]
pub struct OtherFront {
    extra_keys: &'static [&'static str],
    recognise: Arc<dyn Fn(&Labels<'_>) -> Claim + Send + Sync>,
}

impl fmt::Debug for OtherFront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherFront").field("extra_keys", &self.extra_keys).finish_non_exhaustive()
    }
}

/// How the machines of one front are recognised, beside those of all others in the process.
#[derive(Clone)]
pub struct Recogniser<M> {
    own: Marking<M>,
    others: Vec<OtherFront>,
}

impl<M> fmt::Debug for Recogniser<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recogniser").field("others", &self.others.len()).finish_non_exhaustive()
    }
}

impl<M: 'static> Recogniser<M> {
    /// One front alone.
    pub fn new(own: Marking<M>) -> Self {
        Self { own, others: Vec::new() }
    }

    #[must_use]
    pub fn beside(self, others: impl IntoIterator<Item = OtherFront>) -> Self {
        let others = self.others.into_iter().chain(others).collect();
        Self { others, ..self }
    }

    /// What other fronts need of a marking to recognise its machines.
    pub fn for_others(marking: Marking<M>) -> OtherFront {
        let recognise = Arc::new(move |labels: &Labels<'_>| (marking.recognise)(labels).claim());
        OtherFront { extra_keys: marking.extra_keys, recognise }
    }

    /// The keys of the extra configuration that all of them need to see.
    pub fn extra_keys(&self) -> impl Iterator<Item = &'static str> {
        let of_others = self.others.iter().flat_map(|other| other.extra_keys);
        self.own.extra_keys.iter().chain(of_others).copied()
    }

    /// What those labels say, to every front.
    pub fn recognise(&self, labels: &Labels<'_>) -> Recognised<M> {
        let mut recognised = (self.own.recognise)(labels);
        if let Some(others) = self.others.iter().map(|other| (other.recognise)(labels)).reduce(Claim::beside)
        {
            recognised.beside(others);
        }
        recognised
    }

    /// How this front marks its machines.
    pub fn marking(&self) -> Marking<M> {
        self.own
    }
}

#[cfg(test)]
mod tests;
