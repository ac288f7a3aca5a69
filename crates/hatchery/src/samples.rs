//! A machine for tests.

use crate::machine::Machine;
use rookery_fleet::{MachineId, Power, Role};

/// A VM that runs; what a test is about differs.
pub(crate) fn vm(id: &str, name: &str, notes: Notes) -> Machine {
    Machine {
        id: MachineId::new(id),
        name: name.to_owned(),
        role: Role::Vm,
        power: Some(Power::On),
        notes,
        hardware: None,
        addresses: Vec::new(),
        created: None,
        awaits_setup: false,
        incarnation: None,
        reachable: true,
        is_outside: false,
    }
}
