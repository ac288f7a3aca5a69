//! The flags of `up` for a hatchery, and which of them make sense together. Pure.

#[cfg(feature = "sim")]
use std::net::SocketAddr;
#[cfg(feature = "sim")]
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "sim")]
use rookery_daemon::settings::Origin;
use rookery_daemon::settings::Problems;
use rookery_hatchery::settings::Url;

use crate::settings::Loaded;
use crate::up::Args;
use crate::up::follow::Options;
#[cfg(feature = "sim")]
use crate::up::vcenter::GuestMode;
use crate::vm::WrongArguments;

/// How often a job is fed if nobody says, without an end and with one.
#[cfg(feature = "sim")]
const STREAM: f64 = 2.0;
#[cfg(feature = "sim")]
const BATCH: f64 = 0.1;
/// How long no job ends before something must be wrong, if all is simulated.
#[cfg(feature = "sim")]
const PATIENCE: Duration = Duration::from_mins(5);
/// The same where machines take as long as they do.
const LONG_PATIENCE: Duration = Duration::from_mins(30);

/// What is simulated, and what becomes of it.
#[cfg(feature = "sim")]
#[derive(Debug, clap::Args)]
pub(in crate::up) struct Simulated {
    /// Feed this many sample jobs, instead of going on until Ctrl-C
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(in crate::up) jobs: Option<NonZeroU64>,
    /// Feed a job every so many seconds [default: 2, with --jobs 0.1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(in crate::up) every: Option<Duration>,
    /// Make each K-th job fail
    #[arg(long, value_name = "K", value_parser = positive)]
    pub(in crate::up) fail_every: Option<NonZeroU64>,
    /// Inject faults into what is simulated: lost answers, errors, slow and failing tasks, ended sessions
    #[arg(long)]
    pub(in crate::up) faults: bool,
    /// The seed of all that is random in sample jobs, simulators and their faults
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(in crate::up) seed: u64,
    /// What runs in the simulated guests
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(in crate::up) guests: GuestMode,
    /// Write the final state of the simulators into this folder
    #[arg(long, value_name = "DIR")]
    pub(in crate::up) dump: Option<PathBuf>,
}

/// What is not simulated.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Real servers in place of simulated ones")]
pub(in crate::up) struct Real {
    /// Work on this vCenter; its address may hold a user and a password, as in `GOVC_URL`
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    pub(in crate::up) vcenter: Option<String>,
    /// Serve this CDS; tokens, key and name are in the file of -c. Without --vcenter its jobs run on this machine, which
    /// has to be asked for with --guests real
    #[arg(long, value_name = "URL", requires = "hatchery")]
    pub(in crate::up) cds: Option<String>,
    /// The hatchery's settings, as `rookery hatchery run -c` reads them; what is simulated replaces what they say of it
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(in crate::up) hatchery: Option<PathBuf>,
    #[cfg(feature = "sim")]
    /// Where the simulated CDS listens beside a real vCenter, whose guests must reach it [default: 127.0.0.1:0]
    #[arg(long, value_name = "ADDRESS")]
    pub(in crate::up) listen: Option<SocketAddr>,
    #[cfg(feature = "sim")]
    /// A template that sample jobs run on, or that the simulated vCenter has; may be given several times [default: those
    /// of the file, or all of the vCenter]
    #[arg(long = "template", value_name = "NAME")]
    pub(in crate::up) templates: Vec<String>,
    #[cfg(feature = "sim")]
    /// Go on although the vCenter has machines of the name in the file: those that the simulated CDS does not know are
    /// deleted
    #[arg(long)]
    pub(in crate::up) take_over: bool,
}

#[cfg(feature = "sim")]
fn positive(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "a number of at least 1 is expected".to_owned())
}

#[cfg(feature = "sim")]
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "a number of seconds is expected, such as 0.5".to_owned())
}

#[cfg(feature = "sim")]
impl Simulated {
    pub(in crate::up) fn pace(&self) -> Duration {
        let usual = if self.jobs.is_some() { BATCH } else { STREAM };
        self.every.unwrap_or(Duration::from_secs_f64(usual))
    }
}

impl Args {
    /// Whether anything is started, and not only a vCenter looked at.
    #[cfg(feature = "sim")]
    pub(in crate::up) fn starts_parts(&self, loaded: &Loaded) -> bool {
        let real = self.real.vcenter.is_some() || self.real.cds.is_some();
        real || !loaded.names_a_vcenter() || self.simulated.jobs.is_some()
    }

    #[cfg(not(feature = "sim"))]
    pub(in crate::up) fn starts_parts(&self, _: &Loaded) -> bool {
        self.real.vcenter.is_some() || self.real.cds.is_some()
    }

    #[cfg(feature = "sim")]
    pub(in crate::up) fn options(&self) -> Options {
        let once = self.exit && self.simulated.jobs.is_none();
        let patience = if self.real.vcenter.is_some() { LONG_PATIENCE } else { PATIENCE };
        Options { exit: self.exit, once, patience, dump: self.simulated.dump.clone() }
    }

    #[cfg(not(feature = "sim"))]
    pub(in crate::up) fn options(&self) -> Options {
        Options { exit: self.exit, once: self.exit, patience: LONG_PATIENCE, dump: None }
    }

    /// Whether faults are injected into the simulators.
    pub(in crate::up) fn faults(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.simulated.faults;
        #[cfg(not(feature = "sim"))]
        false
    }
}

/// Refuses what cannot be meant, all of it at once.
pub(in crate::up) fn check(args: &Args) -> Result<(), WrongArguments> {
    let mut problems = Problems::new();
    refuse(args, &mut problems);
    if let Some(Err(error)) = args.real.cds.as_deref().map(str::parse::<Url>) {
        problems.push("--cds", error.to_string());
    }
    WrongArguments::unless(problems, Some(()))
}

#[cfg(not(feature = "sim"))]
fn refuse(args: &Args, problems: &mut Problems) {
    let (vcenter, cds) = (args.real.vcenter.is_some(), args.real.cds.is_some());
    let both = "this build simulates nothing: a hatchery needs --vcenter and --cds";
    if cds && !vcenter {
        problems.push("--cds", both);
    }
    if vcenter && !cds {
        problems.push("--vcenter", both);
    }
    if args.real.hatchery.is_some() && !vcenter && !cds {
        problems.push("-c", "is for --vcenter and --cds");
    }
}

#[cfg(feature = "sim")]
fn refuse(args: &Args, problems: &mut Problems) {
    let (real, simulated) = (&args.real, &args.simulated);
    let (vcenter, cds) = (real.vcenter.is_some(), real.cds.is_some());
    let mut refuse = |wrong: bool, flag: &str, why: &str| {
        if wrong {
            problems.push(flag, why);
        }
    };
    let own_jobs = "a real CDS has jobs of its own, and none are fed";
    refuse(cds && simulated.jobs.is_some(), "--jobs", own_jobs);
    refuse(cds && simulated.every.is_some(), "--every", own_jobs);
    refuse(cds && simulated.fail_every.is_some(), "--fail-every", own_jobs);
    refuse(
        simulated.faults && vcenter && cds,
        "--faults",
        "nothing is simulated that faults could be injected into",
    );
    refuse(
        simulated.dump.is_some() && vcenter && cds,
        "--dump",
        "nothing is simulated that could be written",
    );
    let own_guests = "Rookery cannot choose what runs in the guests of a real vCenter";
    refuse(vcenter && simulated.guests != GuestMode::Auto, "--guests", own_guests);
    let here = cds && !vcenter;
    let surprise = "the jobs of a real CDS would run on this machine, share its network and read files that anybody may \
                    read; say --guests real if that is meant, best on a throw-away machine, or name a --vcenter";
    refuse(here && simulated.guests == GuestMode::Auto, "--guests", surprise);
    let played = "played workers give up the jobs of a real CDS; --guests real runs them on this machine";
    refuse(here && simulated.guests == GuestMode::Scripted, "--guests", played);
    let neither = !vcenter && !cds;
    refuse(
        neither && real.hatchery.is_some(),
        "-c",
        "is for --vcenter or --cds: without them all is simulated",
    );
    refuse(neither && !real.templates.is_empty(), "--template", "is for --vcenter or --cds");
    refuse(
        vcenter && cds && !real.templates.is_empty(),
        "--template",
        "nothing is simulated: the jobs of CDS name their templates",
    );
    let take_over =
        "is for --vcenter with -c and a simulated CDS: others have no machines that it could harm";
    refuse(real.take_over && (!vcenter || cds || real.hatchery.is_none()), "--take-over", take_over);
    refuse(
        real.listen.is_some() && !vcenter,
        "--listen",
        "is for --vcenter: simulated guests reach this machine",
    );
    refuse(real.listen.is_some() && cds, "--listen", "no CDS is simulated");
    let nowhere = "guests cannot be told to turn to this address: name one of this machine that they reach";
    refuse(real.listen.is_some_and(|address| address.ip().is_unspecified()), "--listen", nowhere);
}

/// Refuses what would be ignored, since only the machines of a vCenter are shown, which is named at `origin`.
#[cfg(feature = "sim")]
pub(in crate::up) fn check_for_live_view(args: &Args, origin: Option<&Origin>) -> Result<(), WrongArguments> {
    let named = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
    let why = format!(
        "a vCenter is named{named}, and only its fleet is shown; name it with --vcenter to let a hatchery work there, \
         give --jobs to simulate it, or do not name it"
    );
    let mut problems = Problems::new();
    let flags = [
        (args.simulated.faults, "--faults"),
        (args.simulated.every.is_some(), "--every"),
        (args.simulated.fail_every.is_some(), "--fail-every"),
        (args.simulated.dump.is_some(), "--dump"),
        (args.simulated.guests != GuestMode::Auto, "--guests"),
    ];
    for (_, flag) in flags.into_iter().filter(|(given, _)| *given) {
        problems.push(flag, why.clone());
    }
    WrongArguments::unless(problems, Some(()))
}

#[cfg(test)]
#[cfg(feature = "sim")]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args(arguments: &str) -> Args {
        let arguments = ["rookery", "up"].into_iter().chain(arguments.split_whitespace());
        let Command::Up(args) = Cli::try_parse_from(arguments).expect("it can be parsed").command else {
            panic!("it is no other command")
        };
        args
    }

    fn check(arguments: &str, expected: &[&str]) {
        let args = args(arguments);
        let found = super::check(&args).map_err(|error| error.to_string());
        let found = found.err().unwrap_or_default();
        let found: Vec<_> =
            found.lines().skip(1).map(|line| line.split(':').next().unwrap_or("").trim()).collect();
        assert_eq!(found, expected, "{args:?}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_at_once() {
        check("--jobs 3 --exit --faults --dump d --guests real --every 1", &[]);
        check("--vcenter vc --jobs 3 --exit --fail-every 2 --faults --dump d --listen 192.0.2.1:80", &[]);
        check("--vcenter vc -c f --template a --template b --take-over", &[]);
        check("--cds http://cds -c f --exit --faults --dump d --guests real --template a", &[]);
        check("--vcenter vc --cds http://cds -c f", &[]);
        check(
            "--cds http://cds -c f --guests real --jobs 3 --every 1 --fail-every 2",
            &["--jobs", "--every", "--fail-every"],
        );
        check("--vcenter vc --cds http://cds -c f --faults --dump d", &["--faults", "--dump"]);
        check("--vcenter vc --guests real --take-over", &["--guests", "--take-over"]);
        check("-c f --template a --listen 127.0.0.1:0", &["-c", "--template", "--listen"]);
        check(
            "--vcenter vc --cds http://cds -c f --template a --take-over --listen 127.0.0.1:0",
            &["--template", "--take-over", "--listen"],
        );
        check("--vcenter vc --listen 0.0.0.0:80", &["--listen"]);
        check("--cds cds.example.org -c f --guests real", &["--cds"]);
        check("--cds https://me:secret@cds -c f --guests real", &["--cds"]);
    }

    #[test]
    fn jobs_of_a_real_cds_run_on_this_machine_only_if_somebody_says_so() {
        check("--cds http://cds -c f --guests real", &[]);
        check("--vcenter vc --cds http://cds -c f", &[]);
        let refused = |arguments: &str| {
            let error = super::check(&args(arguments)).expect_err("nobody asked for it");
            error.to_string()
        };
        for arguments in ["--cds http://cds -c f", "--cds http://cds -c f --guests auto"] {
            let why = refused(arguments);
            for word in ["--guests real", "network", "files", "throw-away machine"] {
                assert!(why.contains(word), "{why}");
            }
        }
        let why = refused("--cds http://cds -c f --guests scripted");
        assert!(why.contains("give up the jobs of a real CDS"), "{why}");
    }

    #[test]
    fn what_a_view_of_the_fleet_would_ignore_is_refused() {
        let check = |arguments: &str| {
            let origin = Origin::Environment("GOVC_URL".to_owned());
            check_for_live_view(&args(arguments), Some(&origin)).map_err(|error| error.to_string())
        };
        assert_eq!(check("--exit --seed 7"), Ok(()));
        let all = check("--faults --every 1 --fail-every 2 --dump d --guests real").expect_err("five flags");
        assert!(all.starts_with("5 problems"), "{all}");
        insta::assert_snapshot!(check("--faults").expect_err("one flag"), @r"
        1 problem in the arguments:
          --faults: a vCenter is named (environment GOVC_URL), and only its fleet is shown; name it with --vcenter to let a hatchery work there, give --jobs to simulate it, or do not name it
        ");
    }

    #[test]
    fn a_real_cds_needs_a_file_and_no_two_flags_name_the_vcenter() {
        for wrong in ["--cds http://cds", "--vcenter vc --endpoint vc"] {
            let arguments = ["rookery", "up"].into_iter().chain(wrong.split_whitespace());
            assert!(Cli::try_parse_from(arguments).is_err(), "{wrong}");
        }
    }
}
