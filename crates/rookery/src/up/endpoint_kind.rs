//! What is simulated and what is real, and which flags make sense with it. Pure.

use rookery_daemon::settings::{Origin, Problems};
use rookery_hatchery::settings::Url;

use super::Args;
use super::guests::GuestMode;
use crate::vm::WrongArguments;

/// What is at one end of the hatchery.
#[derive(Debug, Clone, Copy)]
pub(super) enum EndpointKind<S, R> {
    /// In this process.
    Simulated(S),
    /// Somebody's own.
    Real(R),
}

impl<S, R> EndpointKind<S, R> {
    pub(super) fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    pub(super) fn simulated(&self) -> Option<&S> {
        match self {
            Self::Simulated(side) => Some(side),
            Self::Real(_) => None,
        }
    }
}

/// Refuses what cannot be meant, all of it at once.
pub(super) fn check(args: &Args) -> Result<(), WrongArguments> {
    let mut problems = Problems::new();
    let real = &args.real;
    let (vcenter, cds) = (real.vcenter.is_some(), real.cds.is_some());
    let mut refuse = |wrong: bool, flag: &str, why: &str| {
        if wrong {
            problems.push(flag, why);
        }
    };
    let own_jobs = "a real CDS has jobs of its own, and none are fed";
    refuse(cds && args.jobs.is_some(), "--jobs", own_jobs);
    refuse(cds && args.every.is_some(), "--every", own_jobs);
    refuse(cds && args.fail_every.is_some(), "--fail-every", own_jobs);
    refuse(args.faults && vcenter && cds, "--faults", "nothing is simulated that could get into trouble");
    refuse(args.dump.is_some() && vcenter && cds, "--dump", "nothing is simulated that could be written");
    let own_guests = "what runs in the guests of a real vCenter is not for us to choose";
    refuse(vcenter && args.guests != GuestMode::Auto, "--guests", own_guests);
    let here = cds && !vcenter;
    let surprise = "the jobs of a real CDS would run on this machine, share its network and read files that anybody may \
                    read; say --guests real if that is meant, best on a throw-away machine, or name a --vcenter";
    refuse(here && args.guests == GuestMode::Auto, "--guests", surprise);
    let played = "played workers give up the jobs of a real CDS; --guests real runs them on this machine";
    refuse(here && args.guests == GuestMode::Scripted, "--guests", played);
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
    if let Some(Err(error)) = real.cds.as_deref().map(str::parse::<Url>) {
        problems.push("--cds", error.to_string());
    }
    WrongArguments::unless(problems, Some(()))
}

/// Refuses what would be ignored, since only the fleet of a vCenter is shown, which is named at `origin`.
pub(super) fn check_for_fleet(args: &Args, origin: Option<&Origin>) -> Result<(), WrongArguments> {
    let named = origin.map_or_else(String::new, |origin| format!(" ({origin})"));
    let why = format!(
        "a vCenter is named{named}, and only its fleet is shown; name it with --vcenter to let a hatchery work there, \
         give --jobs to simulate it, or do not name it"
    );
    let mut problems = Problems::new();
    let flags = [
        (args.faults, "--faults"),
        (args.every.is_some(), "--every"),
        (args.fail_every.is_some(), "--fail-every"),
        (args.dump.is_some(), "--dump"),
        (args.guests != GuestMode::Auto, "--guests"),
    ];
    for (_, flag) in flags.into_iter().filter(|(given, _)| *given) {
        problems.push(flag, why.clone());
    }
    WrongArguments::unless(problems, Some(()))
}

#[cfg(test)]
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
            check_for_fleet(&args(arguments), Some(&origin)).map_err(|error| error.to_string())
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
