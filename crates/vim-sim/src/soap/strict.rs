//! Reading calls as strictly as a vCenter does: members that the schema has, in its order, and required ones there.

use rookery_vim::Node;
use rookery_vim::methods::Method;

use super::schema;
use crate::refusal::Refusal;

pub(super) fn read<M: Method>(content: Node) -> Result<M, Refusal> {
    let refused = |why: String| Refusal::invalid_request(format!("{why}\n\nwhile parsing call {}", M::NAME));
    schema::check(&content, M::NAME).map_err(|wrong| refused(wrong.to_string()))?;
    M::read(content).map_err(|error| refused(error.to_string()))
}
