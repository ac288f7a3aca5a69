//! What may be concluded from an operation that gave no result.

use rookery_vim_client::{OperationError, TaskError};

/// Whether it may have been carried out all the same: then its effect decides.
pub(super) fn is_open(error: &OperationError) -> bool {
    match error {
        OperationError::Call(error) => error.may_have_happened(),
        OperationError::Task(TaskError::Unknown { .. }) => true,
        OperationError::Task(TaskError::Failed(_) | TaskError::TimedOut { .. } | TaskError::Stopped) => false,
    }
}
