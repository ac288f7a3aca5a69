//! Taking over a template of another hatchery, because somebody asks for it.

use std::sync::Arc;

use super::holding::Completion;
use super::{Reconciler, Reply};
use crate::machine::Machine;
use crate::plan::{Action, adoptable};

impl Reconciler {
    /// Sets the template of another hatchery aside that stands in the way of a model.
    pub(super) fn adopt(&mut self, model: &str, reply: Reply) {
        let started = self.start_adoption(model);
        self.answer(reply, started);
    }

    fn start_adoption(&mut self, model: &str) -> Result<(String, Vec<Completion>), String> {
        let owner = self.context.owner();
        let models = self.state.cds.models.as_deref();
        let adoption = adoptable(&self.state.vsphere.view, &owner, models, model)?;
        let machine = self.state.vsphere.view.machines.get(&adoption.template).map(Arc::clone);
        let is_busy = |machine: &Arc<Machine>| self.state.running.index().has(machine);
        if machine.is_none_or(|machine| is_busy(&machine)) || self.state.running.registers(model) {
            return Err(format!("the template of {model} is being worked on; try again in a moment"));
        }
        let told = format!(
            "{} of hatchery {} is called {} now; a new template of {} is made, and the old one is deleted when nothing \
             hangs on it",
            adoption.name,
            adoption.from,
            adoption.aside(),
            adoption.model
        );
        Ok((told, vec![self.start_asked(Action::Adopt(adoption))]))
    }
}
