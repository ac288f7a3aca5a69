//! Why something did not happen inside a guest, and what to do about it.

use rookery_vim::{Fault, FaultKind, MoRef};

use super::web::GuestFileError;
use crate::error::CallError;

/// Why something did not happen inside a guest.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// vCenter or the guest refused, or the answer was lost.
    #[error("cannot {action} in the guest of {}{}", vm.id(), advice(source))]
    Refused { action: String, vm: MoRef, source: Box<CallError> },
    /// A program was sent on its way, and whether it started is not known.
    #[error(
        "{program} may have started in the guest of {}: look for it there before you start it again",
        vm.id()
    )]
    MayHaveStarted { program: String, vm: MoRef, source: Box<CallError> },
    /// The server has no object for this.
    #[error("this server cannot {action} in guests: it has no {manager}")]
    Unsupported { action: String, manager: String },
    /// A text that would arrive changed.
    #[error(
        "{place} cannot be sent to the guest as given: vCenter's protocol has no {character:?}; \
         put such content into a file and upload that"
    )]
    Unwritable { place: &'static str, character: char },
    /// No guest would understand it.
    #[error("{name:?} is not a name for a variable: it is empty or contains `=`")]
    Variable { name: String },
    /// The program has not ended yet.
    #[error("process {pid} in the guest of {} has not ended yet", vm.id())]
    StillRunning { pid: i64, vm: MoRef },
    /// The guest does not list the program.
    #[error(
        "the guest of {} does not know process {pid} any more: \
         its exit code was kept for some minutes, or the guest has restarted",
        vm.id()
    )]
    Forgotten { pid: i64, vm: MoRef },
    /// A file's content did not get through.
    #[error("cannot {action} in the guest of {}", vm.id())]
    Transfer { action: String, vm: MoRef, source: Box<GuestFileError> },
}

impl GuestError {
    /// What a failed call means; `manager` is the object that it was made on.
    pub(super) fn of_call(action: &str, vm: &MoRef, manager: &MoRef, error: CallError) -> Self {
        let missing = error.fault().filter(|fault| fault.kind() == FaultKind::ManagedObjectNotFound);
        let action = action.to_owned();
        if missing.and_then(|fault| fault.field("obj")) == Some(manager.id()) {
            return Self::Unsupported { action, manager: manager.kind().to_owned() };
        }
        Self::Refused { action, vm: vm.clone(), source: Box::new(error) }
    }

    /// The same about a program that was to be started.
    pub(super) fn of_start(self, program: &str) -> Self {
        if let Self::Refused { vm, source, .. } = &self
            && source.may_have_happened()
        {
            return Self::MayHaveStarted {
                program: program.to_owned(),
                vm: vm.clone(),
                source: source.clone(),
            };
        }
        self
    }

    /// The fault, if there is one.
    pub fn fault(&self) -> Option<&Fault> {
        self.call()?.fault()
    }

    /// Whether the same may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { source, .. } => source.is_transient(),
            Self::Transfer { source, .. } => source.is_transient(),
            Self::StillRunning { .. } => true,
            Self::MayHaveStarted { .. }
            | Self::Unsupported { .. }
            | Self::Unwritable { .. }
            | Self::Variable { .. }
            | Self::Forgotten { .. } => false,
        }
    }

    /// Whether it may have happened all the same, in whole or in part: look for its effect before repeating it.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Refused { source, .. } => source.may_have_happened(),
            Self::MayHaveStarted { .. } | Self::Transfer { .. } => true,
            Self::Unsupported { .. }
            | Self::Unwritable { .. }
            | Self::Variable { .. }
            | Self::StillRunning { .. }
            | Self::Forgotten { .. } => false,
        }
    }

    fn call(&self) -> Option<&CallError> {
        match self {
            Self::Refused { source, .. } | Self::MayHaveStarted { source, .. } => Some(source),
            Self::Transfer { source, .. } => source.call(),
            Self::Unsupported { .. }
            | Self::Unwritable { .. }
            | Self::Variable { .. }
            | Self::StillRunning { .. }
            | Self::Forgotten { .. } => None,
        }
    }
}

/// What a person can do, as the end of a sentence.
fn advice(error: &CallError) -> &'static str {
    match error.fault().map(Fault::kind) {
        Some(FaultKind::InvalidGuestLogin) => {
            " (it refuses the user or the password; during a customization the password may not be set yet)"
        }
        Some(FaultKind::GuestPermissionDenied) => " (its user may not do that: take another one)",
        Some(FaultKind::GuestOperationsUnavailable | FaultKind::ToolsUnavailable) => {
            " (VMware Tools do not run in it, or not yet: wait until guest operations are ready)"
        }
        Some(FaultKind::TooManyGuestLogons) => " (too many are logged in there: try again later)",
        Some(FaultKind::TaskInProgress) => " (another operation on the VM is under way: try again later)",
        Some(FaultKind::InvalidPowerState) => " (the VM must be on)",
        Some(FaultKind::GuestComponentsOutOfDate) => " (its VMware Tools are too old: update them)",
        Some(FaultKind::OperationDisabledByGuest) => {
            " (the guest's own configuration forbids it: see tools.conf there)"
        }
        Some(FaultKind::OperationNotSupportedByGuest) => " (this kind of guest cannot do it)",
        Some(FaultKind::FileNotFound) => " (there is no such file)",
        Some(FaultKind::GuestProcessNotFound) => " (there is no such process)",
        Some(_) | None => "",
    }
}
