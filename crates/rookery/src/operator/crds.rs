//! `rookery operator crds`: what a cluster has to know before it can store our resources.

use serde::Serialize;
use serde_json::Value;

use crate::Ending;
use crate::output::{Format, Out, OutputError, table};

/// The arguments of `operator crds`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to show them: documents for kubectl as YAML, or one List of them as JSON
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml", value_parser = Format::of_one())]
    output: Format,
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    out.line(&render(&args.output)?).await?;
    Ok(Ending::Done)
}

/// Without the last line break.
fn render(format: &Format) -> Result<String, OutputError> {
    let definitions: Vec<Value> =
        rookery_crds::definitions().iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let name = |definition: &Value| text(&definition["metadata"]["name"]);
    if *format == Format::Yaml {
        let documents = definitions.iter().map(|one| format.render_item(one, &name(one), String::new));
        return Ok(documents.collect::<Result<Vec<_>, _>>()?.join("\n"));
    }
    let list = List { api_version: "v1", kind: "List", items: &definitions };
    format.render(&list, definitions.iter().map(name), || {
        table(["name", "kind", "short", "version"], definitions.iter().map(row))
    })
}

/// As kubectl takes several objects in one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'d> {
    api_version: &'static str,
    kind: &'static str,
    items: &'d [Value],
}

fn row(definition: &Value) -> [String; 4] {
    let spec = &definition["spec"];
    let names = &spec["names"];
    [
        text(&definition["metadata"]["name"]),
        text(&names["kind"]),
        text(&names["shortNames"][0]),
        text(&spec["versions"][0]["name"]),
    ]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
