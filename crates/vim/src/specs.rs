//! What a VM should be like: one row a type, members in schema order.

use crate::Node;
use crate::wire::objects;

objects! {
    /// What to change of a VM; what is unset stays as it is.
    #[derive(Default)]
    VirtualMachineConfigSpec {
        /// If set, the change is refused when the VM was changed since this version was read.
        change_version: Option<String> = "changeVersion",
        name: Option<String> = "name",
        annotation: Option<String> = "annotation",
        cpus: Option<i32> = "numCPUs",
        memory_mb: Option<i64> = "memoryMB",
        extra_config: Vec<OptionValue> = "extraConfig",
    }

    /// A setting by name. Its value states its own type.
    OptionValue {
        key: String = "key",
        value: Node = "value",
    }
}
