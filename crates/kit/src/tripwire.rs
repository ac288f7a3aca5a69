use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Dispatch, Event, Metadata, Subscriber};

/// Lets a task of the product panic in the middle of its work: whichever logs a certain line next. For tests whose tasks
/// all run on their own thread.
#[derive(Debug)]
pub struct Tripwire {
    wire: Wire,
    _set: DefaultGuard,
    // With a single one, a line that another thread logs first would never be told to this thread's.
    _second: Dispatch,
}

#[derive(Debug, Clone, Default)]
struct Wire(Arc<Mutex<Option<(&'static str, &'static str)>>>);

impl Tripwire {
    /// Sets one for this thread. Nothing happens yet.
    pub fn set() -> Self {
        let wire = Wire::default();
        Self { _set: set_default(wire.clone()), _second: Dispatch::new(wire.clone()), wire }
    }

    /// Whoever next logs this message, with this text in one of its fields, panics.
    pub fn panic_at(&self, message: &'static str, about: &'static str) {
        *self.wire.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((message, about));
    }
}

/// The message and the fields of an event.
#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let into = if field.name() == "message" { &mut self.message } else { &mut self.fields };
        write!(into, "{value:?} ").expect("it is a string");
    }
}

impl Subscriber for Wire {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let mut said = Said::default();
        event.record(&mut said);
        let is_meant = |(message, about): &mut (&str, &str)| {
            said.message.trim_end() == *message && said.fields.contains(*about)
        };
        let cut = self.0.lock().unwrap_or_else(PoisonError::into_inner).take_if(is_meant);
        if let Some((message, about)) = cut {
            panic!("on purpose, at {message:?} {about}");
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
