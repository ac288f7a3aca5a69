//! Names, each of its own kind.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

/// The name of a `K`.
pub struct Name<K> {
    text: Arc<str>,
    kind: PhantomData<fn() -> K>,
}

pub type AgentMachineName = Name<kinds::AgentMachine>;
pub type AgentName = Name<kinds::Agent>;
pub type InfraEnvName = Name<kinds::InfraEnv>;
pub type MachineName = Name<kinds::Machine>;
/// A placement of a pool.
pub type PlaceName = Name<kinds::Place>;
pub type PoolName = Name<kinds::Pool>;
/// The name of a VsphereAgent.
pub type RequestName = Name<kinds::Request>;
pub type Uid = Name<kinds::Uid>;
pub type VmName = Name<kinds::Vm>;

/// What names can be of.
pub(super) mod kinds {
    #[derive(Debug)]
    pub enum AgentMachine {}
    #[derive(Debug)]
    pub enum Agent {}
    #[derive(Debug)]
    pub enum InfraEnv {}
    #[derive(Debug)]
    pub enum Machine {}
    #[derive(Debug)]
    pub enum Place {}
    #[derive(Debug)]
    pub enum Pool {}
    #[derive(Debug)]
    pub enum Request {}
    #[derive(Debug)]
    pub enum Uid {}
    #[derive(Debug)]
    pub enum Vm {}
}

impl<K> Name<K> {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), kind: PhantomData }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl<K> Clone for Name<K> {
    fn clone(&self) -> Self {
        Self { text: Arc::clone(&self.text), kind: PhantomData }
    }
}

impl<K> PartialEq for Name<K> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<K> Eq for Name<K> {}

impl<K> PartialOrd for Name<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> Ord for Name<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text.cmp(&other.text)
    }
}

impl<K> Hash for Name<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<K> fmt::Debug for Name<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

impl<K> fmt::Display for Name<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
