//! `rookery man`: the help of each command as a manual page.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap_mangen::Man;

use crate::Ending;
use crate::cli;
use crate::output::Out;

/// The arguments of `man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder, which is made if it does not exist; pages of these names are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let folder = &args.folder;
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let mut root = cli::command().disable_help_subcommand(true);
    root.build();
    let written = write(&root, folder)?;
    out.line(&format!("{written} pages in {}", crate::output::printable(&folder.display().to_string())))
        .await?;
    Ok(Ending::Done)
}

/// Writes the page of a command and those of its own commands; how many.
fn write(command: &clap::Command, folder: &Path) -> anyhow::Result<usize> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let man = Man::new(command.clone()).title(name.to_uppercase());
    let path = folder.join(man.get_filename());
    let page = || -> io::Result<()> {
        let mut page = vec![];
        man.render(&mut page)?;
        fs::write(&path, page)
    };
    page().with_context(|| format!("{} cannot be written", path.display()))?;
    let inner = command.get_subcommands().filter(|command| !command.is_hide_set());
    inner.map(|command| write(command, folder)).try_fold(1, |sum, written| Ok(sum + written?))
}
