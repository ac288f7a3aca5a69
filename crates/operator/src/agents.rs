//! vSphere VMs that become Agents of a HyperShift NodePool.
//!
//! An AgentMachine waits, since no Agent suits it; a VsphereAgent stands for the VM that is made for it; the VM boots the
//! discovery ISO and appears as an Agent; the Agent is prepared, so that its CAPI provider binds it to exactly that
//! AgentMachine. When its Machine was seen deleting and is gone, the VM goes, and after it the Agent.
//!
//! [`observe`] says what a plan is made from, [`desired`] what a pool wants, and [`plan()`] decides.

pub mod desired;
pub mod identity;
pub mod observe;
pub mod plan;

pub use plan::{Plan, plan};
