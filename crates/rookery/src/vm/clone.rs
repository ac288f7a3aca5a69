//! `rookery vm clone`.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::{Problems, duration};
use rookery_vim::MoRef;
use rookery_vim_client::{
    Change, CloneError, CloneOrder, DiskMove, GuestSetup, NetworkBacking, Places, Vm, network_backing,
};

use super::arguments::{self, WrongArguments};
use super::changing::Changing;
use super::marks;
use super::pick;
use super::run::quoted;
use super::site::{Finder, SiteArgs};
use crate::Ending;
use crate::output::{Did, Out, Subject, printable, showing_progress};
use crate::session::Session;

/// The arguments of `vm clone`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to clone: a VM or template, by its name or its id such as vm-63
    source: String,
    /// The clone's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// How its disks are made
    #[arg(long, value_enum, default_value = "auto")]
    disks: Disks,
    /// The network of its first card [default: the source's]
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    /// Virtual CPUs [default: as the source]
    #[arg(long, value_name = "NUMBER")]
    cpus: Option<String>,
    /// Memory, such as 8GiB [default: as the source]
    #[arg(long, value_name = "SIZE")]
    memory: Option<String>,
    /// Its notes [default: the source's, unless those make that a machine of a hatchery]
    #[arg(long, value_name = "TEXT")]
    annotation: Option<String>,
    /// A setting such as guestinfo.nest=twigs; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Start it
    #[arg(long)]
    on: bool,
    /// How long to wait for it
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration)]
    wait: Duration,
    #[command(flatten)]
    site: SiteArgs,
    #[command(flatten)]
    guest: GuestArgs,
    #[command(flatten)]
    pub(super) changing: Changing,
}

/// How its guest is set up when it first starts.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Setting up a Linux guest (only with --ip or --dhcp)")]
struct GuestArgs {
    /// The address of its first card, with the prefix length: 192.0.2.17/24
    #[arg(long, value_name = "CIDR")]
    ip: Option<String>,
    /// Get its address by DHCP
    #[arg(long)]
    dhcp: bool,
    /// The default gateway
    #[arg(long, value_name = "ADDRESS")]
    gateway: Option<String>,
    /// Name servers
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    dns: Vec<String>,
    /// The guest's DNS domain
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
}

/// How disks are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Disks {
    /// Linked to the source's snapshot if there is one within reach, else full copies
    Auto,
    /// Full copies
    Copy,
}

impl Args {
    /// What it takes no vCenter to check: what is to be changed, and how the guest is set up.
    pub(super) fn check(&self) -> Result<(Change, GuestSetup), WrongArguments> {
        let mut problems = Problems::new();
        let cpus = self.cpus.as_deref().and_then(|text| problems.keep("--cpus", arguments::cpus(text)));
        let memory_mb =
            self.memory.as_deref().and_then(|text| problems.keep("--memory", arguments::memory_mb(text)));
        problems.keep("NAME", arguments::name(&self.name));
        let extra_config = arguments::settings(&self.set, &mut problems);
        let guest = self.guest.check(&mut problems);
        let annotation =
            self.annotation.as_deref().and_then(|text| problems.keep("--annotation", arguments::lines(text)));
        self.site.check(&mut problems);
        let change = Change { name: None, annotation, instance_uuid: None, cpus, memory_mb, extra_config };
        WrongArguments::unless(problems, guest.map(|guest| (change, guest)))
    }
}

impl GuestArgs {
    fn check(&self, problems: &mut Problems) -> Option<GuestSetup> {
        let Self { ip, dhcp, gateway, dns, domain } = self;
        let servers: Vec<_> = dns.iter().map(|text| problems.keep("--dns", text.parse::<IpAddr>())).collect();
        let dns = servers.iter().flatten().map(ToString::to_string).collect();
        let domain = domain.as_deref().and_then(|text| problems.keep("--domain", arguments::line(text)));
        let domain = domain.unwrap_or_default();
        if *dhcp && ip.is_some() {
            problems.push("--dhcp", "an address is either asked for or given with --ip");
        }
        if gateway.is_some() && ip.is_none() {
            problems.push("--gateway", "only an address that is given with --ip has a gateway");
        }
        if let Some(cidr) = ip {
            let address = arguments::address(cidr, gateway.as_deref(), problems)?;
            return Some(GuestSetup::Linux { address: Some(address), dns, domain });
        }
        if *dhcp {
            return Some(GuestSetup::Linux { address: None, dns, domain });
        }
        if !servers.is_empty() || self.domain.is_some() {
            problems.push("--dns, --domain", "the guest is only set up with --ip or --dhcp");
        }
        Some(GuestSetup::AsIs)
    }
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let source = pick(session.first.vms(), &args.source)?;
    let order = Box::pin(order(session, source, args)).await?;
    let mut report = args.changing.report(out);
    let mut subject = Subject { name: order.name.clone(), id: None, action: "clone" };
    let did = if args.changing.dry_run {
        planned(session, source, &order).await
    } else {
        let what = format!("cloning {}", printable(&order.name));
        let cloned = showing_progress(&what, async |progress| {
            Box::pin(session.machines().clone_vm(&order, args.wait, Some(progress))).await
        });
        let look = appears(&order.name);
        let what = format!("clone {} ({}) as {look}", printable(&source.name), source.id.id());
        let cloned = session.orders.during(what, cloned).await;
        let there = cloned.as_ref().map_or_else(CloneError::left_behind, Some);
        subject.id = there.map(|vm| vm.id().to_owned());
        cloned
            .map(|vm| Did::done(format!("cloned as {}", vm.id())))
            .map_err(|error| unfinished(&order.name, error.left_behind().cloned(), error))
    };
    report.tell(subject, did).await?;
    Ok(report.ending())
}

async fn planned(session: &Session, source: &Vm, order: &CloneOrder) -> anyhow::Result<Did> {
    match Box::pin(session.machines().check_clone(order)).await? {
        Some(holder) => bail!("the name {:?} is taken by {}", order.name, holder.id()),
        None => Ok(Did::planned(format!("would be cloned from {} ({})", source.name, source.id.id()))),
    }
}

async fn order(session: &Session, source: &Vm, args: &Args) -> anyhow::Result<CloneOrder> {
    let (mut change, guest) = args.check()?;
    let places = Places::load(session.client()).await.context("vCenter's inventory could not be read")?;
    let mut finder = Finder::new(&places, session.scope.clone());
    if let Some(folder) = &source.parent {
        finder.stay_beside(folder);
    }
    let site = &args.site;
    let beside = source.parent.clone().filter(|_| site.folder.is_none());
    let folder = beside.or_else(|| finder.folder(site));
    let host = finder.host(site);
    let pool = finder.pool(site, host.as_ref(), source.resource_pool.as_ref());
    let datastore = finder.named_datastore(site);
    let network = args.network.as_ref().and_then(|name| finder.network(name));
    let (folder, pool) = finder.unless_unclear(folder.zip(pool))?;
    let network = match network {
        Some(id) => Some(backing(session, &id).await?),
        None => None,
    };
    if change.annotation.is_none() {
        change.annotation = unmarked(&source.name, source.config.annotation.as_deref());
    }
    Ok(CloneOrder {
        source: source.id.clone(),
        name: args.name.clone(),
        folder,
        pool,
        host,
        datastore,
        disks: match args.disks {
            Disks::Auto => DiskMove::Auto,
            Disks::Copy => DiskMove::ChildMost,
        },
        network,
        card_class: None,
        first_disk_kb: None,
        change,
        guest,
        power_on: args.on,
    })
}

/// What to do about a VM that is there, but not as it was wanted.
pub(super) fn unfinished(
    name: &str,
    left: Option<MoRef>,
    error: impl std::error::Error + Send + Sync + 'static,
) -> anyhow::Error {
    let error = anyhow::Error::new(error);
    match left {
        Some(vm) => error.context(format!(
            "{name:?} exists, but not as it was ordered; correct it, or remove it with `rookery vm destroy {}`",
            vm.id()
        )),
        None => error,
    }
}

/// The name of a new VM, and how to look for it.
pub(super) fn appears(name: &str) -> String {
    format!("{}; look with `rookery vm ls {}`", printable(name), quoted(&printable(name)))
}

/// The notes of a clone, if those of its source say whose machine that is: the clone is nobody's.
fn unmarked(source: &str, notes: Option<&str>) -> Option<String> {
    let hatchery = marks::hatchery(notes)?;
    Some(format!("copy of {source}, a machine of the hatchery {hatchery}"))
}

/// What a card must be told to be in a network.
pub(super) async fn backing(session: &Session, network: &MoRef) -> anyhow::Result<NetworkBacking> {
    let read = network_backing(session.client(), network).await;
    read.with_context(|| format!("the network {} could not be read", network.id()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use rookery_vim_client::FixedAddress;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(arguments: &[&str]) -> Args {
        let line = [&["clone", "template", "nest"], arguments].concat();
        Line::try_parse_from(line).expect("clap takes it").args
    }

    fn checked(arguments: &[&str]) -> Result<(Change, GuestSetup), String> {
        parsed(arguments).check().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn nothing_is_changed_unless_it_is_said() {
        let args = parsed(&[]);
        assert_eq!(args.check().expect("it is right"), (Change::default(), GuestSetup::AsIs));
        assert_eq!((args.disks, args.on), (Disks::Auto, false));
    }

    #[test]
    fn all_that_is_said_is_taken() {
        let line = "--cpus 4 --memory 8GiB --annotation a --set b=c --set d= --disks copy --on --ip 192.0.2.17/24 \
                    --gateway 192.0.2.1 --dns 192.0.2.53,2001:db8::53 --domain example.com";
        let args = parsed(&line.split_whitespace().collect::<Vec<_>>());
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let change = Change {
            name: None,
            annotation: Some("a".to_owned()),
            instance_uuid: None,
            cpus: Some(4),
            memory_mb: Some(8192),
            extra_config: vec![pair("b", "c"), pair("d", "")],
        };
        let guest = GuestSetup::Linux {
            address: Some(FixedAddress {
                ip: "192.0.2.17".to_owned(),
                mask: "255.255.255.0".to_owned(),
                gateway: Some("192.0.2.1".to_owned()),
            }),
            dns: vec!["192.0.2.53".to_owned(), "2001:db8::53".to_owned()],
            domain: "example.com".to_owned(),
        };
        assert_eq!(args.check().expect("it is right"), (change, guest));
        assert_eq!((args.disks, args.on), (Disks::Copy, true));
        let (_, guest) = checked(&["--dhcp"]).expect("it is right");
        assert_eq!(guest, GuestSetup::Linux { address: None, dns: Vec::new(), domain: String::new() });
    }

    #[test]
    fn a_vm_that_is_not_finished_is_told_with_what_to_do_about_it() {
        let told = |left| format!("{:#}", unfinished("nest", left, std::io::Error::other("no notes")));
        let vm = MoRef::new("VirtualMachine", "vm-70");
        assert_eq!(
            told(Some(vm)),
            "\"nest\" exists, but not as it was ordered; correct it, or remove it with `rookery vm destroy vm-70`: \
             no notes"
        );
        assert_eq!(told(None), "no notes");
    }

    #[test]
    fn the_clone_of_a_machine_of_a_hatchery_is_nobodys() {
        let notes = unmarked("w", Some(r#"{"hatchery_name":"h1","worker_name":"w"}"#)).expect("other notes");
        let owner = marks::hatchery(Some(&notes));
        assert_eq!((notes.as_str(), owner), ("copy of w, a machine of the hatchery h1", None));
        for others in [None, Some(""), Some("a database"), Some(r#"{"backup":"daily"}"#)] {
            assert_eq!(unmarked("w", others), None, "they are copied as they are: {others:?}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let line = "--cpus none --memory 8GB --set x --ip 192.0.2.17 --dhcp --dns here";
        insta::assert_snapshot!(checked(&line.split_whitespace().collect::<Vec<_>>()).unwrap_err(), @r#"
        6 problems in the arguments:
          --cpus: expected a number of CPUs of at least 1, found "none"
          --memory: expected a size with its unit, such as "512MiB", "4GiB" or "2TiB" (the units are KiB, MiB, GiB and TiB), found "8GB"
          --set: expected KEY=VALUE, found "x"
          --dns: invalid IP address syntax
          --dhcp: an address is either asked for or given with --ip
          --ip: expected an IPv4 address with its prefix length, such as 192.0.2.17/24, found "192.0.2.17"
        "#);
        insta::assert_snapshot!(checked(&["--gateway", "192.0.2.1", "--domain", "x"]).unwrap_err(), @r"
        2 problems in the arguments:
          --gateway: only an address that is given with --ip has a gateway
          --dns, --domain: the guest is only set up with --ip or --dhcp
        ");
    }
}
