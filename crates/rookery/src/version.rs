//! `rookery version`.

use serde::Serialize;

use crate::Ending;
use crate::output::{Format, Out, table};

/// The arguments of `version`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How to show it
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    output: Format,
}

/// What this program is.
#[derive(Debug, Serialize)]
struct Build {
    version: &'static str,
    /// The commit that it was built from, if that was known.
    commit: Option<&'static str>,
    /// The features that it was built with.
    features: Vec<&'static str>,
    compiler: Option<&'static str>,
}

impl Build {
    fn of_this_program() -> Self {
        let known = |text: &'static str| Some(text).filter(|text| !text.is_empty());
        let features = [
            ("fulfillment", cfg!(feature = "fulfillment")),
            ("hatchery", cfg!(feature = "hatchery")),
            ("operator", cfg!(feature = "operator")),
            ("sim", cfg!(feature = "sim")),
        ];
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: known(env!("ROOKERY_BUILT_FROM")),
            features: features.into_iter().filter_map(|(name, is_on)| is_on.then_some(name)).collect(),
            compiler: known(env!("ROOKERY_COMPILER")),
        }
    }

    fn lines(&self) -> String {
        let unknown = "-";
        let rows = [
            ["rookery", self.version],
            ["commit", self.commit.unwrap_or(unknown)],
            ["features", &self.features.join(", ")],
            ["compiler", self.compiler.unwrap_or(unknown)],
        ];
        table(["", ""], rows.map(|row| row.map(str::to_owned)))
    }
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let build = Build::of_this_program();
    out.line(&args.output.render(&build, [build.version], || build.lines())?).await?;
    Ok(Ending::Done)
}
