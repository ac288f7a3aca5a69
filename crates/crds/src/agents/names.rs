//! Labels, annotations, finalizers and keys, as they are stored and as people type them.

/// On a pool: it goes when its VMs are dealt with.
pub const POOL_FINALIZER: &str = "agent-forge.containeroo.ch/vsphere-agent-pool";
/// On a `VsphereAgent`: it goes when its VM is dealt with.
pub const VSPHERE_AGENT_FINALIZER: &str = "agent-forge.containeroo.ch/vsphere-agent";

/// On a `VsphereAgent`: its pool.
pub const POOL_LABEL: &str = "agent-forge.containeroo.ch/vsphere-agent-pool";
/// On a `VsphereAgent`: what it was made for.
pub const CREATED_FOR_LABEL: &str = "agent-forge.containeroo.ch/created-for";
pub const CREATED_FOR_AGENT_MACHINE: &str = "agent-machine";
pub const CREATED_FOR_ADOPTED: &str = "adopted";
/// Made ahead of demand; not a word of the peer's.
pub const CREATED_FOR_SPARE: &str = "spare";
/// On an Agent and a `VsphereAgent`: the AgentMachine that it is for, which selects it by this label.
pub const AGENT_MACHINE_LABEL: &str = "agent-forge.containeroo.ch/agent-machine";
/// Among the labels of a pool's Agents: tells pools apart that share an InfraEnv.
pub const DISCRIMINATOR_LABEL: &str = "agent-forge.containeroo.ch/nodepool";
/// On an Agent.
pub const ROLE_LABEL: &str = "hypershift.openshift.io/nodepool-role";
/// On an Agent: whose discovery ISO it booted.
pub const INFRA_ENV_LABEL: &str = "infraenvs.agent-install.openshift.io";
/// On an Agent, by its CAPI provider: the AgentMachine that has it, by name or by UID.
pub const BOUND_LABEL: &str = "agentMachineRef";

/// On a pool: each new value asks for a fresh ISO.
pub const FORCE_ISO_REFRESH: &str = "agent-forge.containeroo.ch/force-iso-refresh";
/// On a `VsphereAgent`: the name of its VM.
pub const VM_NAME: &str = "agent-forge.containeroo.ch/vm-name";
/// On a `VsphereAgent`: the `config.uuid` of an unmarked VM of that name that it may take over.
pub const ADOPT_VM: &str = "agent-forge.containeroo.ch/adopt-vm";
/// On a pool, `"true"`: Agents are approved that are known by their host name alone.
pub const APPROVE_BY_HOSTNAME: &str = "agent-forge.containeroo.ch/approve-by-hostname";
/// On a pool that is deleted, `"true"`: VMs go although nodes run in them.
pub const ALLOW_DESTROY_BOUND: &str = "agent-forge.containeroo.ch/allow-destroy-bound";
/// On an AgentMachine and a Machine: the NodePool, as `NAMESPACE/NAME`.
pub const NODE_POOL: &str = "hypershift.openshift.io/nodePool";

/// What the provider id of a bound AgentMachine begins with.
pub const PROVIDER_ID_PREFIX: &str = "agent://";

/// In the extra configuration of a VM: the UID of its pool.
pub const MARK_POOL: &str = "rookery.agents.pool";
/// In the extra configuration of a VM: the UID of its `VsphereAgent`.
pub const MARK_OWNER: &str = "rookery.agents.owner";

/// Keys of the Secret with the vCenter's credentials; the last three are optional.
pub mod secret {
    pub const SERVER: &str = "server";
    pub const USERNAME: &str = "username";
    pub const PASSWORD: &str = "password";
    pub const INSECURE: &str = "insecure";
    pub const CA_BUNDLE: &str = "caBundle";
    pub const THUMBPRINT: &str = "thumbprint";
}
