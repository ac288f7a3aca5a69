//! `rookery vm info`.

use rookery_vim_client::Vm;

use super::words::memory;
use super::{Row, pick};
use crate::Ending;
use crate::output::{Format, Out, printable_lines, table, value_text};
use crate::session::Session;

/// The arguments of `vm info`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    pub(super) vm: String,
    /// How to show it
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_one())]
    pub(super) output: Format,
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    out.line(&args.output.render(&Row::of(vm), [&vm.name], || as_table(vm))?).await?;
    Ok(Ending::Done)
}

fn as_table(vm: &Vm) -> String {
    let row = Row::of(vm);
    let lines = row.fields().map(|(name, value)| {
        let text = match (name, vm.config.memory_mb) {
            ("memory_mb", Some(megabytes)) => memory(megabytes),
            _ => printable_lines(&value_text(value, "\n")),
        };
        [name.trim_end_matches("_mb").replace('_', " "), text]
    });
    table(["", ""], lines)
}

#[cfg(test)]
mod tests {
    use rookery_vim_client::Nic;

    use super::super::tests::running;
    use super::*;

    #[test]
    fn all_fields_are_shown_one_below_the_other() {
        let mut vm = running("vm-63", "größe/日本 100%", "10.0.0.7");
        vm.guest.nics = vec![
            Nic {
                network: Some("VM Network".to_owned()),
                mac: None,
                ips: vec!["10.0.0.7".to_owned()],
                device: None,
            },
            Nic { network: None, mac: Some("00:0c:29:36:63:62".to_owned()), ips: Vec::new(), device: None },
        ];
        vm.config.annotation = Some("first line\n\x1b[2Jsecond line".to_owned());
        vm.unreadable.insert("guest.net".to_owned());
        insta::assert_snapshot!(as_table(&vm), @r"
        id                      vm-63
        name                    größe/日本 100%
        template                no
        power                   on
        ip                      10.0.0.7
        cpus                    2
        memory                  4 GiB
        host                    -
        folder                  group-v3
        resource pool           -
        connection              -
        question                -
        boot time               -
        created                 -
        uuid                    -
        instance uuid           -
        pending customization   -
        tools                   -
        guest operations ready  -
        guest host name         -
        guest state             -
        nics                    10.0.0.7  VM Network
                                00:0c:29:36:63:62
        annotation              first line
                                \u{1b}[2Jsecond line
        unreadable              guest.net
        ");
    }
}
