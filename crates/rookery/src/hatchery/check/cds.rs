//! What CDS says to the settings.

use rookery_cds::{Cds, CdsError, HatcheryKey, MODEL_TYPE, ModelPath, Service, V1, V2};
use rookery_daemon::telemetry::chain;
use rookery_daemon::{Clock, Lease};
use rookery_hatchery::run::sign_up;
use rookery_hatchery::settings::{ModelRef, Settings};

use crate::VERSION;
use crate::doctor::{Check, Finding, Group, State};
use crate::hatchery::parts::cds_dial;
use crate::session::random;

fn check(name: &'static str, about: Option<&str>, finding: Finding) -> Check {
    Check::new(Group::Cds, name, about, finding)
}

/// CDS as the settings name it. Nothing is asked yet.
pub(crate) fn client(settings: &Settings, key: &HatcheryKey) -> anyhow::Result<Cds> {
    let (dial, clock, lease) = (cds_dial(settings)?, Clock::system(), Lease::unlimited());
    Ok(sign_up(settings, dial, key, &clock, VERSION, &lease, random()?)?)
}

pub(super) async fn checks(settings: &Settings) -> anyhow::Result<Vec<Check>> {
    let key = match HatcheryKey::from_pem(&settings.identity.private_key) {
        Ok(key) => key,
        Err(error) => {
            let advice = "make another one: openssl genrsa 4096";
            return Ok(vec![check("key", None, Finding::problem(chain(&error), advice))]);
        }
    };
    let cds = client(settings, &key)?;
    let unserved = |name, why: &str| vec![check(name, None, Finding::skipped(why))];
    let mut checks = match cds.v1() {
        Some(v1) => of_v1(v1, settings).await,
        None => unserved("V1 sign-in", "there is no token: V1 jobs are not served"),
    };
    checks.extend(match cds.v2() {
        Some(v2) => of_v2(v2, settings).await,
        None => unserved("V2 sign-in", "there is no tokenV2: V2 jobs are not served"),
    });
    let is_in = !checks.iter().any(|check| check.check.ends_with("sign-in") && check.state == State::Problem);
    let cdn = if is_in { cdn(&cds, settings).await } else { unasked_cdn(settings) };
    checks.push(check("CDN", None, cdn));
    if let Some(v1) = cds.v1() {
        v1.sign_out().await.ok();
    }
    Ok(checks)
}

fn refused(error: &CdsError, key: &str) -> Finding {
    let advice = if error.is_forbidden() || error.is_unauthorized() {
        format!(
            "CDS does not take commonConfiguration.api.{key}, or not for this name: make a new one in CDS"
        )
    } else if error.is_transient() {
        "is commonConfiguration.api.http right, and does CDS run?".to_owned()
    } else {
        "CDS says why; its log says more".to_owned()
    };
    Finding::problem(chain(error), advice)
}

async fn of_v1(v1: &V1, settings: &Settings) -> Vec<Check> {
    let service = match v1.service().await {
        Ok(service) => service,
        Err(error) => return vec![check("V1 sign-in", None, refused(&error, "token"))],
    };
    let signed = Finding::ok(format!("signed in as service {}", service.id));
    let mut checks =
        vec![check("V1 sign-in", None, signed), check("V1 region", None, first_region(&service, settings))];
    let models = match v1.models().await {
        Ok(models) => models,
        Err(error) => {
            let finding = Finding::problem(chain(&error), "the token needs the scope WorkerModel");
            checks.push(check("V1 models", None, finding));
            return checks;
        }
    };
    let usable = models.iter().filter(|model| model.kind == MODEL_TYPE).count();
    checks.push(check("V1 models", None, Finding::ok(format!("{usable} of type {MODEL_TYPE}"))));
    for pool in &settings.warm.pools {
        let ModelRef::V1(path) = &pool.model else { continue };
        let finding = match models.iter().find(|model| model.path() == *path) {
            Some(model) if model.kind == MODEL_TYPE => Finding::ok("CDS has it"),
            Some(model) => Finding::problem(
                format!("it is of type {:?}", model.kind),
                format!("only models of type {MODEL_TYPE:?} can be made warm"),
            ),
            None => Finding::problem(
                "CDS has no such model, or not for the groups of this token",
                "correct workerProvisioning, or make the model in CDS",
            ),
        };
        checks.push(check("V1 model", Some(path), finding));
    }
    checks
}

/// CDS keeps what the first sign-in of a name said.
fn first_region(service: &Service, settings: &Settings) -> Finding {
    let region = |region: Option<&str>| match region.filter(|region| !region.is_empty()) {
        Some(region) => format!("region {region:?}"),
        None => "no region".to_owned(),
    };
    let jobs = |ignores: bool| {
        if ignores { "jobs that name none are left alone" } else { "jobs that name none are served" }
    };
    let words = |given: Option<&str>, ignores| format!("{}; {}", region(given), jobs(ignores));
    let queue = &settings.queue;
    let ours = words(queue.region.as_deref(), queue.ignore_jobs_without_region);
    let theirs = words(service.region.as_deref(), service.ignore_job_with_no_region);
    if ours == theirs {
        return Finding::ok(ours);
    }
    Finding::warning(
        format!("CDS knows this hatchery with {theirs} (the file says {ours})"),
        "CDS keeps what the first sign-in said: have the service deleted in CDS, or take another name",
    )
}

async fn of_v2(v2: &V2, settings: &Settings) -> Vec<Check> {
    let region = match v2.region().await {
        Ok(region) => region,
        Err(error) => return vec![check("V2 sign-in", None, refused(&error, "tokenV2"))],
    };
    let own = settings.queue.region.as_deref().filter(|_| settings.api.token.is_some());
    let seen = format!("CDS says {region:?}");
    let finding = match own {
        Some(own) if own != region => Finding::warning(
            format!("{seen}, but V1 jobs are taken for {own:?}"),
            "that works; if it is not meant, correct commonConfiguration.provision.region or the right in CDS",
        ),
        Some(_) | None => Finding::ok(seen),
    };
    let mut checks =
        vec![check("V2 sign-in", None, Finding::ok("signed in")), check("V2 region", None, finding)];
    for default in &settings.models.defaults_v2 {
        let finding = match default.model.parse::<ModelPath>() {
            Err(refusal) => Finding::problem(refusal.to_string(), "PROJECT/vcs/org/repository/model@branch"),
            Ok(path) => match v2.model(&path).await {
                Ok(_) => Finding::ok("CDS has it"),
                Err(error) => Finding::problem(chain(&error), "correct the path, or push the model"),
            },
        };
        checks.push(check("default model", Some(&default.model), finding));
    }
    checks
}

/// Where logs go, without CDS.
fn unasked_cdn(settings: &Settings) -> Finding {
    said_cdn(settings).unwrap_or_else(|| Finding::skipped("not checked, because the sign-in to CDS failed"))
}

fn said_cdn(settings: &Settings) -> Option<Finding> {
    let is_said = !settings.cdn.http_url.is_empty() && !settings.cdn.tcp_url.is_empty();
    is_said.then(|| Finding::ok("the file says where logs go"))
}

async fn cdn(cds: &Cds, settings: &Settings) -> Finding {
    if let Some(said) = said_cdn(settings) {
        return said;
    }
    let told = match (cds.v2(), cds.v1()) {
        (Some(v2), _) => v2.cdn().await,
        (None, Some(v1)) => v1.cdn().await,
        (None, None) => return Finding::skipped("there is no token"),
    };
    match told {
        Ok(cdn) if cdn.tcp_url.is_empty() => Finding::warning(
            "CDS does not say where logs go: workers have nowhere to send them",
            "is there a CDN service? or set commonConfiguration.cdn",
        ),
        Ok(cdn) => Finding::ok(format!("logs go to {}", cdn.tcp_url)),
        Err(error) => {
            Finding::problem(chain(&error), "is there a CDN service? or set commonConfiguration.cdn")
        }
    }
}
