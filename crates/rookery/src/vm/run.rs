//! `rookery vm run`: a program inside a guest, with its output and its exit code.

mod quote;

use std::iter::successors;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::Problems;
use rookery_daemon::telemetry::chain;
use rookery_vim::MoRef;
use rookery_vim_client::{GuestUser, Guests, Program};

use super::arguments::{WrongArguments, for_guest, pair};
use super::changing::{Changing, subject};
use super::guest::{has_guest, takes};
use super::pick;
use crate::Ending;
use crate::output::{Did, Format, Out, PIECE, printable, remark};
use crate::session::Session;
use quote::join;
pub(in crate::vm) use quote::quoted;

/// How soon, and at most how often from then on, the end of the program is looked for.
const LOOKS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// The arguments of `vm run`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name, or its id such as vm-63
    vm: String,
    /// The program's path in the guest, and its arguments, each of which arrives as it is
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    command: Vec<String>,
    /// More text after the arguments, byte for byte: the guest's shell takes it apart
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    shell: Option<String>,
    /// A variable of the program; if there are any, it gets no others, not even PATH
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    environment: Vec<(String, String)>,
    /// The program's working directory
    #[arg(long = "dir", value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    directory: Option<String>,
    /// Do not wait for its end: print its process id, and leave its output alone
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    pub(super) changing: Changing,
}

impl Args {
    pub(super) fn check(&self) -> Result<(), WrongArguments> {
        let mut problems = Problems::new();
        let words = self.command.iter().map(|word| ("PROGRAM", word));
        let variables = self.environment.iter().flat_map(|(name, value)| [("--env", name), ("--env", value)]);
        let options = [("--shell", &self.shell), ("--dir", &self.directory)];
        let options = options.into_iter().filter_map(|(flag, text)| Some((flag, text.as_ref()?)));
        for (place, text) in words.chain(variables).chain(options) {
            problems.keep(place, for_guest(text));
        }
        // Otherwise the results are the program's.
        let tells_itself = self.detach || self.changing.dry_run;
        if !tells_itself && self.changing.output != Format::default() {
            let why = "standard output is that of the program, unless there is --detach or --dry-run";
            problems.push("--output", why);
        }
        WrongArguments::unless(problems, Some(()))
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    pair(text).ok_or_else(|| "a variable is written NAME=VALUE".to_owned())
}

pub(super) async fn run(
    session: &Session,
    user: GuestUser,
    args: &Args,
    out: &mut Out,
) -> anyhow::Result<Ending> {
    let vm = pick(session.first.vms(), &args.vm)?;
    has_guest(vm)?;
    let guest = Guest { guests: Guests::new(session.client().clone()), vm: vm.id.clone(), user };
    let path = args.command.first().map_or("", String::as_str);
    let order = format!(
        "{} in the guest of {} ({}): if it has started it goes on, and what it prints stays in files there",
        printable(path),
        printable(&vm.name),
        vm.id.id()
    );
    if args.detach || args.changing.dry_run {
        let did = if args.changing.dry_run {
            let taken = takes(&guest.guests, vm, &guest.user).await.map_err(Into::into);
            taken.map(|()| Did::planned(format!("{} would be run", program(args, None).path)))
        } else {
            let started = session.orders.during(order, guest.start(program(args, None))).await;
            started.map(|pid| Did::done(format!("process {pid}")).giving(pid.to_string()))
        };
        let mut report = args.changing.report(out);
        report.tell(subject(vm, "run"), did).await?;
        return Ok(report.ending());
    }
    let mut files = Vec::new();
    let ended = session.orders.during(order, guest.run(args, &mut files, out)).await;
    guest.remove(&files).await;
    ended.map(|code| Ending::Exited(shown(code))).with_context(|| vm.name.clone())
}

/// What a process of this machine can end with; what does not fit is a failure all the same.
fn shown(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// The program as it is sent. Guests show nothing of what a program prints: it goes to files there.
fn program(args: &Args, output: Option<(&str, &str)>) -> Program {
    let (path, rest) = args.command.split_first().map_or(("", &[][..]), |(path, rest)| (path.as_str(), rest));
    let redirected = output.map(|(out, err)| format!("1>{} 2>{}", quoted(out), quoted(err)));
    let words = [Some(join(rest)).filter(|text| !text.is_empty()), args.shell.clone(), redirected];
    Program {
        path: path.to_owned(),
        arguments: words.into_iter().flatten().collect::<Vec<_>>().join(" "),
        environment: args.environment.clone(),
        directory: args.directory.clone(),
    }
}

struct Guest {
    guests: Guests,
    vm: MoRef,
    user: GuestUser,
}

impl Guest {
    async fn start(&self, program: Program) -> anyhow::Result<i64> {
        Ok(self.guests.start(&self.vm, &self.user, &program).await?)
    }

    /// Runs the program to its end and prints what it printed. `files` is what must be removed however this ends.
    async fn run(&self, args: &Args, files: &mut Vec<String>, out: &mut Out) -> anyhow::Result<i32> {
        let Self { guests, vm, user } = self;
        for suffix in ["-out", "-err"] {
            files.push(guests.temporary_file(vm, user, "rookery-", suffix).await?);
        }
        let [printed, said] = files.as_slice() else { return Ok(0) };
        let pid = self.start(program(args, Some((printed, said)))).await?;
        let (first, cap) = LOOKS;
        let delays = successors(Some(first), |delay| Some((*delay * 2).min(cap)));
        let code = guests.ended(vm, user, pid, delays).await?;
        self.show(printed, out).await?;
        self.show(said, &mut Out::stderr()).await?;
        Ok(code)
    }

    /// Prints a file of the guest as it comes.
    async fn show(&self, path: &str, out: &mut Out) -> anyhow::Result<()> {
        let (mut into, from) = tokio::io::duplex(PIECE);
        let fetch = async move { self.guests.download(&self.vm, &self.user, path, &mut into).await };
        let (fetched, printed) = tokio::join!(fetch, out.copy(from));
        // Whoever cannot print stops fetching: that is the reason, and not what follows from it.
        printed?;
        fetched?;
        Ok(())
    }

    async fn remove(&self, files: &[String]) {
        for file in files {
            if let Err(error) = self.guests.delete_file(&self.vm, &self.user, file).await {
                remark(&format!("{file} stays in the guest: {}", chain(&error)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn check(line: &[&str], output: Option<(&str, &str)>, path: &str, arguments: &str) {
        let line = Line::try_parse_from(["run", "vm"].iter().chain(line)).unwrap();
        let program = program(&line.args, output);
        assert_eq!((program.path.as_str(), program.arguments.as_str()), (path, arguments));
    }

    #[test]
    fn arguments_are_quoted_and_the_text_for_the_shell_is_not() {
        check(&["--", "/bin/true"], None, "/bin/true", "");
        check(&["--", "/bin/echo", "a b", "-c", ""], None, "/bin/echo", "'a b' -c ''");
        check(
            &["--shell", "-n ;echo \"$A\"\r\n", "--", "/bin/echo"],
            None,
            "/bin/echo",
            "-n ;echo \"$A\"\r\n",
        );
        check(&["--shell", "&& true", "--", "/bin/x", "$A"], None, "/bin/x", "'$A' && true");
        check(&["--", "/bin/x", "y"], Some(("/tmp/o", "/tmp/e e")), "/bin/x", "y 1>/tmp/o 2>'/tmp/e e'");
        check(&["--", "/bin/x"], Some(("/o", "/e")), "/bin/x", "1>/o 2>/e");
    }

    // `--dry-run` said that it would be run, and without that it was refused as a failure, after a login.
    #[test]
    fn what_cannot_be_sent_is_refused_wherever_it_stands() {
        let told = |line: &[&str]| {
            let line = Line::try_parse_from(["run", "vm"].iter().chain(line)).unwrap();
            line.args.check().map_err(|wrong| wrong.to_string())
        };
        for (line, place) in [
            (&["--", "/bin/\u{1}"][..], "PROGRAM: "),
            (&["--dry-run", "--", "/bin/x", "a\u{1}"], "PROGRAM: "),
            (&["--env", "A\u{1}=b", "--", "/bin/x"], "--env: "),
            (&["--env", "A=\u{1}", "--", "/bin/x"], "--env: "),
            (&["--shell", "\u{1}", "--", "/bin/x"], "--shell: "),
            (&["--dir", "\u{1}", "--", "/bin/x"], "--dir: "),
        ] {
            let told = told(line).unwrap_err();
            assert!(told.contains(place) && told.contains("U+0001"), "{line:?}: {told}");
        }
        assert_eq!(told(&["--env", "A=b\nc", "--", "/bin/x", "a\nb\tc"]), Ok(()));
    }

    #[test]
    fn variables_have_names() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        assert!(variable("A").is_err() && variable("=b").is_err());
    }

    #[test]
    fn a_code_that_does_not_fit_is_still_a_failure() {
        assert_eq!([0, 7, 255, 256, -1, i32::MIN].map(shown), [0, 7, 255, 255, 255, 255]);
    }
}
