//! `rookery hatchery check`: the file, then what vCenter and CDS say to it.

mod cds;
mod machines;

use std::time::Duration;

use rookery_daemon::Clock;
use rookery_daemon::settings::Problems;
use rookery_hatchery::settings::{self, Loaded, ModelRef, Settings};

use super::File;
use crate::Ending;
use crate::doctor::{self, CHECKS, Check, Finding, Group, Scope, Source, State};
use crate::output::{Format, Out};
use crate::session::with_vcenter;
use crate::vcenter::Vcenter;
pub(super) use cds::client;

/// The arguments of `hatchery check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    file: File,
    /// Only the file; ask neither vCenter nor CDS
    #[arg(long)]
    offline: bool,
    /// How to show what was found
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = Format::of_list(&CHECKS))]
    output: Format,
}

pub(super) async fn run(args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let loaded = match settings::load_file(args.file.path()?) {
        Ok(loaded) => loaded,
        Err(problems) => return doctor::tell(&of_problems(&problems), &args.output, out).await,
    };
    let mut checks = of_file(&loaded);
    if args.offline {
        return doctor::tell(&checks, &args.output, out).await;
    }
    let settings = &loaded.settings;
    let (vcenter, scope) = (vcenter_of(settings), scope(settings));
    let ended = with_vcenter(&vcenter, "hatchery check", async |connected| {
        let logged_in = connected.as_ref().ok().cloned();
        checks.extend(doctor::look_at(&vcenter, connected, &scope, &Clock::system()).await);
        if let Some(logged_in) = &logged_in {
            checks.extend(machines::checks(logged_in, settings).await);
        }
        checks.extend(cds::checks(settings).await?);
        doctor::tell(&checks, &args.output, out).await
    });
    Ok(ended.await?.unwrap_or(Ending::Interrupted))
}

fn of_problems(problems: &Problems) -> Vec<Check> {
    let check = |problem: &rookery_daemon::settings::Problem| {
        let about = match &problem.origin {
            Some(origin) if problem.path.is_empty() => origin.to_string(),
            _ => problem.path.clone(),
        };
        let finding = Finding { state: State::Problem, ..Finding::ok(problem.message.clone()) };
        Check::new(Group::Settings, "settings", Some(&about), finding)
    };
    problems.as_slice().iter().map(check).collect()
}

fn of_file(loaded: &Loaded) -> Vec<Check> {
    let check = |about: Option<&str>, finding| Check::new(Group::Settings, "settings", about, finding);
    let mut checks = vec![check(None, Finding::ok("the file can be used"))];
    for unknown in &loaded.unknown {
        let problem = unknown.to_problem();
        let advice = "correct or remove it: what is not known has no effect";
        checks.push(check(Some(&problem.path), Finding::problem(problem.message, advice)));
    }
    let noted = |message: &String| Finding { state: State::Warning, ..Finding::ok(message) };
    let warnings = loaded.warnings.iter().map(|one| check(Some(&one.path), noted(&one.message)));
    checks.extend(warnings.chain(loaded.notices.iter().map(|notice| check(None, noted(notice)))));
    checks
}

/// The vCenter that settings name.
pub(crate) fn vcenter_of(settings: &Settings) -> Vcenter {
    let ours = &settings.vcenter;
    Vcenter {
        endpoint: ours.endpoint.clone(),
        user: ours.user.clone(),
        password: ours.password.clone(),
        datacenter: Some(ours.datacenter.clone()),
        trust: ours.trust.clone(),
        call_timeout: Duration::from_secs(15),
        load_timeout: Duration::from_mins(5),
        calls_per_second: None,
    }
}

/// Where machines go, and the templates that the file names.
fn scope(settings: &Settings) -> Scope {
    let ours = &settings.vcenter;
    let pooled = settings.warm.pools.iter().filter_map(|pool| match &pool.model {
        ModelRef::V2(template) => Some(template.clone()),
        ModelRef::V1(_) => None,
    });
    let mut templates: Vec<String> = settings.models.templates.iter().cloned().chain(pooled).collect();
    templates.sort();
    templates.dedup();
    Scope {
        datacenter: Some(ours.datacenter.clone()),
        datastore: ours.datastore.clone(),
        networks: ours.network.iter().cloned().collect(),
        pool: ours.resource_pool.clone(),
        folder: ours.folder.clone(),
        templates,
        source: Source::Hatchery,
    }
}
