//! Taking over a template of another hatchery, because somebody asks for it.

use std::sync::Arc;

use tracing::info;

use super::start::about;
use super::{Reconciler, Reply};
use crate::act::Ending;
use crate::plan::adoptable;
use crate::plan::running::Work;

impl Reconciler {
    /// Sets the template of another hatchery aside that stands in the way of a model.
    pub(super) fn adopt(&mut self, model: &str, reply: Reply) {
        if let Err((why, reply)) = self.start_adoption(model, reply) {
            reply.send(Err(why)).ok();
        }
    }

    fn start_adoption(&mut self, model: &str, reply: Reply) -> Result<(), (String, Reply)> {
        let owner = self.context.owner();
        let models = self.state.models.as_deref();
        let adoption = match adoptable(&self.state.view, &owner, models, model) {
            Ok(adoption) => adoption,
            Err(why) => return Err((why, reply)),
        };
        let machine = self.state.view.machines.get(&adoption.template).map(Arc::clone);
        let free = machine.filter(|machine| !self.state.running.index().has(machine));
        let Some(machine) = free.filter(|_| !self.state.running.registers(model)) else {
            return Err((
                format!("the template of {model} is being worked on; try again in a moment"),
                reply,
            ));
        };
        info!(template = %adoption.name, hatchery = %adoption.from, "template of another hatchery is adopted");
        let work = Work::Adopt { model: model.to_owned() };
        let (context, id) = (self.context.clone(), self.track(about(&machine, work)));
        self.fly("adoption of a template", id, async move {
            let ending = context.adopt(&adoption).await;
            let told = match &ending {
                Ending::Failed(failure) => Err(failure.error.clone()),
                Ending::CutOff => Err("it was cut off in the middle".to_owned()),
                Ending::Done | Ending::Lost | Ending::NotHeld { .. } | Ending::Unprepared { .. } => Ok(format!(
                    "{} of hatchery {} is called {} now; a new template of {} is made, and the old one is deleted \
                     when nothing hangs on it",
                    adoption.name,
                    adoption.from,
                    adoption.aside(),
                    adoption.model
                )),
            };
            reply.send(told).ok();
            ending
        });
        Ok(())
    }
}
