//! Whether a VM has a guest that can be asked anything.

use rookery_vim::objects::{PowerState, ToolsRunning};
use rookery_vim_client::{GuestError, GuestUser, Guests, Vm};

/// Why it makes no sense to ask.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoGuest {
    #[error("{vm:?} is not on, so nothing can be done inside it; start it with `rookery vm power on`")]
    NotOn { vm: String },
    #[error(
        "VMware Tools do not run in the guest of {vm:?}, so nothing can be done inside it; wait until it has started, or \
         install them (open-vm-tools) there"
    )]
    NoTools { vm: String },
}

/// Refuses what is known to be impossible. What vCenter has not told, the guest will tell.
pub(super) fn has_guest(vm: &Vm) -> Result<(), NoGuest> {
    let name = || vm.name.clone();
    match (&vm.power, &vm.guest.tools) {
        (Some(PowerState::Off | PowerState::Suspended), _) => Err(NoGuest::NotOn { vm: name() }),
        (_, Some(ToolsRunning::NotRunning)) => Err(NoGuest::NoTools { vm: name() }),
        (
            Some(PowerState::On | PowerState::Other(_)) | None,
            Some(ToolsRunning::Running | ToolsRunning::ExecutingScripts | ToolsRunning::Other(_)) | None,
        ) => Ok(()),
    }
}

/// Whether the guest takes the user and the password. That a server cannot tell is no reason against it.
pub(super) async fn takes(guests: &Guests, vm: &Vm, user: &GuestUser) -> Result<(), GuestError> {
    match guests.validate(&vm.id, user).await {
        Err(GuestError::Unsupported { .. }) => Ok(()),
        checked => checked,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{running, vm};
    use super::*;

    #[test]
    fn only_what_is_known_to_be_impossible_is_refused() {
        let mut guest = running("vm-1", "a", "10.0.0.7");
        assert_eq!(has_guest(&guest), Ok(()));
        guest.guest.tools = Some(ToolsRunning::NotRunning);
        assert_eq!(has_guest(&guest), Err(NoGuest::NoTools { vm: "a".to_owned() }));
        guest.guest.tools = Some(ToolsRunning::Running);
        guest.power = None;
        assert_eq!(has_guest(&guest), Ok(()));
        assert_eq!(has_guest(&vm("vm-1", "a")), Err(NoGuest::NotOn { vm: "a".to_owned() }));
    }
}
