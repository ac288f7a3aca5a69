//! `rookery vm watch`.

use std::sync::Arc;

use jiff::Timestamp;
use rookery_vim_client::Vm;
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::Value;
use tokio::time::Instant;

use super::change::FieldChange;
use super::{Event, Glob, Row, changes};
use crate::Ending;
use crate::output::{Format, LocalTime, Out, remark};
use crate::session::{Reachability, Session};

/// The arguments of `vm watch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only VMs whose name fits, before or after the change; `*` is any text, `?` any one character
    pub(super) pattern: Option<Glob>,
    /// How to show changes; json gives one object per line
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

/// Goes on until it is dropped.
pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let fits = |vm: &Vm| args.pattern.as_ref().is_none_or(|pattern| pattern.matches(&vm.name));
    let time = LocalTime::system();
    let mut reachability = Reachability::default();
    let mut seen = Arc::clone(&session.first);
    let watched = seen.vms().filter(|vm| fits(vm)).count();
    remark(&format!("watching {watched} VMs of {}; Ctrl-C ends", session.client().endpoint()));
    loop {
        let latest = session.inventory.until(|s| s.revision() > seen.revision()).await?;
        if let Some(news) = reachability.note(latest.completeness(), Instant::now()) {
            remark(&format!("{} {news}", time.of_day(time.now())));
        }
        for event in changes(seen.vms(), latest.vms(), fits) {
            let change = Stamped { time: time.now(), event };
            let line = || format!("{} {}", time.of_day(change.time), change.event.line());
            out.line(&args.output.render_item(&change, &change.event.vm().name, line)?).await?;
        }
        seen = latest;
    }
}

/// An event for programs.
#[derive(Debug)]
struct Stamped {
    time: Timestamp,
    event: Event,
}

impl Serialize for Stamped {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let vm = self.event.vm();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time", &self.time)?;
        map.serialize_entry("event", self.event.kind())?;
        map.serialize_entry("id", vm.id.id())?;
        map.serialize_entry("name", &vm.name)?;
        match &self.event {
            Event::Appeared(vm) | Event::Gone(vm) => map.serialize_entry("vm", &Row::of(vm))?,
            Event::Changed { .. } => map.serialize_entry("changes", &Changes(self.event.changed_fields()))?,
        }
        map.end()
    }
}

/// `{ FIELD: { "old": …, "new": … } }`
struct Changes(Vec<FieldChange>);

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Values<'a> {
            old: &'a Value,
            new: &'a Value,
        }
        serializer.collect_map(self.0.iter().map(|(name, old, new)| (name, Values { old, new })))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{running, vm};
    use super::*;

    fn json(event: Event) -> String {
        let time = "2031-02-03T04:05:06Z".parse().unwrap();
        Format::Json.render_item(&Stamped { time, event }, "", String::new).unwrap()
    }

    #[test]
    fn a_change_carries_old_and_new_values() {
        let old = Arc::new(vm("vm-1", "a \"b\""));
        let mut new = vm("vm-1", "a \"b\"");
        new.power = running("vm-1", "", "").power;
        new.guest.ip = Some("10.0.0.7".to_owned());
        insta::assert_snapshot!(json(Event::Changed { old, new: Arc::new(new) }), @r#"{"time":"2031-02-03T04:05:06Z","event":"changed","id":"vm-1","name":"a \"b\"","changes":{"power":{"old":"off","new":"on"},"ip":{"old":null,"new":"10.0.0.7"}}}"#);
    }

    #[test]
    fn who_comes_or_goes_is_told_whole() {
        let appeared = json(Event::Appeared(Arc::new(vm("vm-1", "x"))));
        let start =
            r#"{"time":"2031-02-03T04:05:06Z","event":"appeared","id":"vm-1","name":"x","vm":{"id":"vm-1","#;
        assert!(appeared.starts_with(start), "{appeared}");
        assert!(json(Event::Gone(Arc::new(vm("vm-1", "x")))).contains(r#""event":"gone""#));
    }
}
