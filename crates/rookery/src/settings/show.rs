//! `rookery settings`: the effective values and the layer that each came from.

use clap::Args;
use rookery_daemon::settings::{Key, Kind};
use serde::Serialize;

use super::{KEYS, Loaded, NO_VCENTER};
use crate::Ending;
use crate::cli::Connect;
use crate::output::{Column, Columns, Format, Out, remark};
use crate::vcenter::address;

/// The arguments of `settings`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// How to show them; table=key,value shows these columns
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&SHOWN))]
    pub output: Format,
    /// How to reach vCenter.
    #[command(flatten)]
    pub connect: Connect,
}

/// One setting, as it is shown.
#[derive(Debug, Serialize)]
struct Shown {
    key: String,
    value: Option<String>,
    origin: Option<String>,
    about: &'static str,
}

const SHOWN: Columns<Shown> = Columns {
    name: "key",
    all: &[Column::usual("key"), Column::usual("value"), Column::usual("origin"), Column::more("about")],
};

/// Shows every setting, also those that nobody set; then what is wrong with them.
pub async fn show(loaded: &Loaded, args: &ShowArgs, out: &mut Out) -> anyhow::Result<Ending> {
    let rows = rows(loaded);
    out.line(&args.output.list(&SHOWN, &rows)?).await?;
    if !loaded.names_a_vcenter() {
        remark(NO_VCENTER);
        return Ok(Ending::Done);
    }
    loaded.problems.clone().into_result(Ending::Done).map_err(Into::into)
}

fn rows(loaded: &Loaded) -> Vec<Shown> {
    let explained = loaded.settings.explain();
    let row = |path: String, about| {
        let set = explained.iter().find(|setting| setting.path == path);
        Shown {
            value: set.map(|setting| address::without_password(&setting.path, &setting.value)),
            origin: set.map(|setting| setting.origin.to_string()),
            key: path,
            about,
        }
    };
    let with_companion = |key: &Key| {
        let file = (key.kind == Kind::Secret).then(|| row(format!("{}-file", key.path), key.doc));
        [Some(row(key.path.to_owned(), key.doc)), file]
    };
    KEYS.iter().flat_map(with_companion).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Sources, load};

    #[test]
    fn no_password_is_shown_wherever_it_stands() {
        let vars = [("GOVC_URL", "https://me:hunter2@vc:8443/sdk"), ("GOVC_INSECURE", "1")];
        let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let loaded = load(&Sources { vars, ..Sources::default() });
        insta::assert_snapshot!(Format::default().list(&SHOWN, &rows(&loaded)).unwrap(), @r"
        KEY                       VALUE                       ORIGIN
        vcenter.endpoint          https://me:***@vc:8443/sdk  environment GOVC_URL
        vcenter.user              me                          environment GOVC_URL
        vcenter.password          ***                         environment GOVC_URL
        vcenter.password-file     -                           -
        vcenter.datacenter        -                           -
        vcenter.ca-file           -                           -
        vcenter.thumbprint        -                           -
        vcenter.insecure          1                           environment GOVC_INSECURE
        vcenter.call-timeout      15s                         default
        vcenter.load-timeout      5m                          default
        vcenter.calls-per-second  -                           -
        guest.user                -                           -
        guest.password            -                           -
        guest.password-file       -                           -
        ");
        assert!(!serde_json::to_string(&rows(&loaded)).unwrap().contains("hunter2"));
    }
}
