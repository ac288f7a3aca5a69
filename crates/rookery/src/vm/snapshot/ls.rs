//! `rookery vm snapshot ls`.

use jiff::Timestamp;
use rookery_vim::MoRef;
use rookery_vim_client::VmSnapshot;
use serde::Serialize;

use crate::Ending;
use crate::output::{Column, Columns, Format, Out, printable};
use crate::session::Session;
use crate::vm::pick::pick;
use crate::vm::words::{moment, power_word};

/// The arguments of `vm snapshot ls`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// How to show them; table=name,id shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&SNAPSHOTS))]
    output: Format,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    let rows = rows(&session.machines().snapshots(&vm.id).await?);
    out.lines(&args.output.list(&SNAPSHOTS, &rows)?).await?;
    Ok(Ending::Done)
}

/// A snapshot for programs.
#[derive(Debug, Clone, Serialize)]
pub(in crate::vm) struct Row {
    id: String,
    pub(in crate::vm) name: String,
    description: String,
    pub(in crate::vm) created: Option<Timestamp>,
    power: Option<String>,
    parent: Option<String>,
    pub(in crate::vm) current: bool,
    /// How many snapshots it stands on.
    #[serde(skip)]
    pub(in crate::vm) depth: usize,
}

const SNAPSHOTS: Columns<Row> = Columns {
    name: "name",
    all: &[
        Column::usual("name")
            .shown(|row: &Row| format!("{}{}", "  ".repeat(row.depth), printable(&row.name))),
        Column::usual("created").shown(|row: &Row| moment(row.created)),
        Column::usual("current"),
        Column::usual("id"),
        Column::more("description"),
        Column::more("power"),
        Column::more("parent"),
    ],
};

/// Each behind the one that it stands on.
pub(in crate::vm) fn rows(snapshots: &[VmSnapshot]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for one in snapshots {
        let parent = one.parent.as_ref().map(|id| MoRef::id(id).to_owned());
        let below = rows.iter().find(|row| Some(&row.id) == parent.as_ref());
        rows.push(Row {
            id: one.id.id().to_owned(),
            name: one.name.clone(),
            description: one.description.clone(),
            created: one.created,
            power: one.power.as_ref().map(|power| power_word(power).to_owned()),
            depth: below.map_or(0, |row| row.depth + 1),
            current: one.current,
            parent,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::tests::forest;
    use super::*;

    #[test]
    fn snapshots_are_shown_as_a_tree() {
        let shown = Format::default().list(&SNAPSHOTS, &rows(&forest())).unwrap();
        insta::assert_snapshot!(shown, @r"
        NAME        CREATED               CURRENT  ID
        base        2031-02-03 04:05:06Z  no       s-1
          before    2031-02-03 04:05:06Z  no       s-2
            before  2031-02-03 04:05:06Z  no       s-3
          aside     2031-02-03 04:05:06Z  no       s-4
        ");
    }
}
