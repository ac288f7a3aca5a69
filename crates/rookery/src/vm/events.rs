//! `rookery vm events`.

use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use rookery_daemon::settings::duration;
use rookery_vim::envelope::service_instance;
use rookery_vim::methods::CurrentTime;
use rookery_vim_client::{Event, EventFilter, events};
use serde::Serialize;

use super::pick;
use super::words::moment;
use crate::Ending;
use crate::output::{Column, Columns, Format, Out};
use crate::session::Session;

const KIND_HELP: &str = "Only events of this class, such as VmPoweredOffEvent; may be given several times";

/// The arguments of `vm events`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    pub(super) vm: String,
    /// Which classes of events.
    #[arg(long, value_name = "CLASS", help = KIND_HELP)]
    kind: Vec<String>,
    /// Only events of this last time, such as 2h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    since: Option<Duration>,
    /// How to show them; table=time,message shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&EVENTS))]
    output: Format,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let since = match args.since {
        // vCenter's clock stamps the events; ours may be another.
        Some(while_ago) => {
            let now = session.client().call(&CurrentTime { this: service_instance() }).await?;
            Some(now.checked_sub(while_ago).context("--since reaches back too far")?)
        }
        None => None,
    };
    let filter = EventFilter { about: vm.id.clone(), kinds: args.kind.clone(), since };
    let found = events(session.client(), &filter).await?;
    let rows: Vec<_> = found.into_iter().map(Row::of).collect();
    out.lines(&args.output.list(&EVENTS, &rows)?).await?;
    Ok(Ending::Done)
}

/// An event for programs.
#[derive(Debug, Serialize)]
struct Row {
    key: i32,
    time: Option<Timestamp>,
    kind: String,
    user: Option<String>,
    message: Option<String>,
}

impl Row {
    fn of(event: Event) -> Self {
        let Event { key, at: time, kind, user, message, .. } = event;
        Self { key, time, kind, user, message }
    }
}

const EVENTS: Columns<Row> = Columns {
    name: "key",
    all: &[
        Column::usual("time").shown(|row: &Row| moment(row.time)),
        Column::usual("kind"),
        Column::usual("user"),
        Column::usual("message"),
        Column::more("key"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_with_the_time_of_vcenter() {
        let row = Row {
            key: 7,
            time: Some("2031-02-03T07:31:02.9Z".parse().unwrap()),
            kind: "VmPoweredOffEvent".to_owned(),
            user: None,
            message: Some("web-1 is off\x1b[2J".to_owned()),
        };
        insta::assert_snapshot!(Format::default().list(&EVENTS, &[row]).unwrap(), @r"
        TIME                  KIND               USER  MESSAGE
        2031-02-03 07:31:02Z  VmPoweredOffEvent  -     web-1 is off\u{1b}[2J
        ");
    }
}
