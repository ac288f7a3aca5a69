//! `rookery vm create`.

use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use rookery_daemon::settings::{Problems, duration};
use rookery_vim_client::{
    BootDevice, Cdrom, CdromBus, CreateError, CreateOrder, Firmware, NewCard, NewDisk, Places, PowerChange,
    ScsiController, Uuid,
};

use super::arguments::{self, WrongArguments};
use super::changing::Changing;
use super::clone::{appears, backing, unfinished};
use super::site::{Finder, SiteArgs};
use crate::Ending;
use crate::output::{Did, Out, Subject, printable, showing_progress};
use crate::session::Session;

/// The arguments of `vm create`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The VM's name
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// The guest operating system, as vSphere calls it
    #[arg(long, value_name = "ID", default_value = "otherLinux64Guest")]
    guest_id: String,
    /// The firmware
    #[arg(long, value_enum, default_value = "bios")]
    firmware: FirmwareArg,
    /// Virtual CPUs
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    cpus: String,
    /// Memory, such as 8GiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    memory: String,
    /// A disk of this size, such as 40GiB; may be given several times
    #[arg(long, value_name = "SIZE")]
    disk: Vec<String>,
    /// Allocate all space of the disks at once
    #[arg(long)]
    thick: bool,
    /// The controller of the disks
    #[arg(long, value_enum, default_value = "pvscsi")]
    scsi: ScsiArg,
    /// A network card in this network; may be given several times
    #[arg(long, value_name = "NETWORK")]
    nic: Vec<String>,
    /// A CD drive with this image, such as "[datastore] iso/x.iso"
    #[arg(long, value_name = "PATH")]
    iso: Option<String>,
    /// A CD drive, and its controller [default: ide, if there is an image]
    #[arg(long, value_enum)]
    cdrom: Option<CdromArg>,
    /// The boot order, of cdrom, disk, disk2, network, network2 and so on
    #[arg(long, value_name = "DEVICES", value_delimiter = ',')]
    boot: Vec<String>,
    /// The UUID that its guest sees; with the same one the command may be repeated [default: a new one]
    #[arg(long, value_name = "UUID")]
    uuid: Option<String>,
    /// Its notes
    #[arg(long, value_name = "TEXT")]
    annotation: Option<String>,
    /// A setting such as disk.enableUUID=TRUE; may be given several times
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
    pub(super) changing: Changing,
}

/// What starts a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FirmwareArg {
    /// Legacy BIOS
    Bios,
    /// UEFI
    Efi,
    /// UEFI with secure boot
    EfiSecure,
}

/// The controller of the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScsiArg {
    /// VMware Paravirtual
    Pvscsi,
    /// LSI Logic Parallel
    Lsilogic,
}

/// What a CD drive is plugged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CdromArg {
    /// IDE
    Ide,
    /// SATA
    Sata,
}

/// What it takes no vCenter to check.
#[derive(Debug)]
pub(super) struct Checked {
    cpus: i32,
    memory_mb: i64,
    disks: Vec<NewDisk>,
    cdrom: Option<Cdrom>,
    boot: Vec<BootDevice>,
    uuid: Option<Uuid>,
    annotation: Option<String>,
    settings: Vec<(String, String)>,
}

impl Args {
    pub(super) fn check(&self) -> Result<Checked, WrongArguments> {
        let mut problems = Problems::new();
        problems.keep("NAME", arguments::name(&self.name));
        problems.keep("--guest-id", arguments::name(&self.guest_id));
        let annotation =
            self.annotation.as_deref().and_then(|text| problems.keep("--annotation", arguments::lines(text)));
        self.site.check(&mut problems);
        let cpus = problems.keep("--cpus", arguments::cpus(&self.cpus));
        let memory_mb = problems.keep("--memory", arguments::memory_mb(&self.memory));
        let thin = !self.thick;
        let disk = |text: &String| problems.keep("--disk", arguments::disk_kb(text));
        let sizes: Vec<_> = self.disk.iter().map(disk).collect();
        let iso = self.iso.as_deref().map(|text| problems.keep("--iso", image(text)));
        let boot: Vec<_> = self.boot.iter().map(|text| problems.keep("--boot", boot_device(text))).collect();
        let cdrom = self.cdrom.or(iso.as_ref().map(|_| CdromArg::Ide));
        let has = |device: BootDevice| match device {
            BootDevice::Cdrom => cdrom.is_some(),
            BootDevice::Disk(at) => at < sizes.len(),
            BootDevice::Network(at) => at < self.nic.len(),
        };
        for device in boot.iter().flatten().filter(|device| !has(**device)) {
            problems.push("--boot", format!("there is no {device} among the arguments"));
        }
        let uuid = self.uuid.as_deref().and_then(|text| problems.keep("--uuid", text.parse::<Uuid>()));
        let settings = arguments::settings(&self.set, &mut problems);
        let checked = cpus.zip(memory_mb).map(|(cpus, memory_mb)| Checked {
            cpus,
            memory_mb,
            disks: sizes.iter().flatten().map(|size_kb| NewDisk { size_kb: *size_kb, thin }).collect(),
            cdrom: cdrom.map(|bus| Cdrom {
                bus: match bus {
                    CdromArg::Ide => CdromBus::Ide,
                    CdromArg::Sata => CdromBus::Sata,
                },
                iso: iso.flatten(),
            }),
            boot: boot.into_iter().flatten().collect(),
            uuid,
            annotation,
            settings,
        });
        WrongArguments::unless(problems, checked)
    }

    fn firmware(&self) -> Firmware {
        match self.firmware {
            FirmwareArg::Bios => Firmware::Bios,
            FirmwareArg::Efi => Firmware::Efi { secure_boot: false },
            FirmwareArg::EfiSecure => Firmware::Efi { secure_boot: true },
        }
    }

    fn scsi(&self) -> ScsiController {
        match self.scsi {
            ScsiArg::Pvscsi => ScsiController::Paravirtual,
            ScsiArg::Lsilogic => ScsiController::LsiLogic,
        }
    }
}

/// A path that says which datastore it is on.
fn image(text: &str) -> Result<String, String> {
    let path = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match path {
        Some((datastore, path)) if !datastore.is_empty() && !path.trim().is_empty() => arguments::name(text),
        Some(_) | None => Err(format!("expected a path such as \"[datastore] iso/x.iso\", found {text:?}")),
    }
}

/// `cdrom`, `disk`, `disk2`, `network` and so on.
fn boot_device(text: &str) -> Result<BootDevice, String> {
    let kind = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = match &text[kind.len()..] {
        "" => Some(1),
        digits => digits.parse::<usize>().ok().filter(|number| *number > 0),
    };
    match (kind, number) {
        ("cdrom", Some(1)) => Ok(BootDevice::Cdrom),
        ("disk", Some(number)) => Ok(BootDevice::Disk(number - 1)),
        ("network", Some(number)) => Ok(BootDevice::Network(number - 1)),
        _ => Err(format!("expected cdrom, disk, disk2, network, network2 and so on, found {text:?}")),
    }
}

pub(super) async fn run(session: &Session, args: &Args, out: &mut Out) -> anyhow::Result<Ending> {
    let order = Box::pin(order(session, args)).await?;
    let mut report = args.changing.report(out);
    let mut subject = Subject { name: order.name.clone(), id: None, action: "create" };
    let did = if args.changing.dry_run {
        planned(session, &order).await
    } else {
        create(session, &order, args, &mut subject).await
    };
    report.tell(subject, did).await?;
    Ok(report.ending())
}

async fn create(
    session: &Session,
    order: &CreateOrder,
    args: &Args,
    subject: &mut Subject,
) -> anyhow::Result<Did> {
    let what = format!("making {}", printable(&order.name));
    let made = showing_progress(&what, async |progress| {
        Box::pin(session.machines().create_vm(order, args.wait, Some(progress))).await
    });
    let made = session.orders.during(format!("create {}", appears(&order.name)), made).await;
    // It may be there although not all that was wanted of it could be done.
    let there = made.as_ref().map_or_else(CreateError::left_behind, Some);
    subject.id = there.map(|vm| vm.id().to_owned());
    let vm = made.map_err(|error| unfinished(&order.name, error.left_behind().cloned(), error))?;
    if args.on {
        let started = session.machines().power(&vm, PowerChange::On, args.wait);
        let name = printable(&order.name);
        let what = format!("power on {name} ({0}); look with `rookery vm info {0}`", vm.id());
        let started = session.orders.during(what, started).await;
        started.with_context(|| {
            format!(
                "{:?} was created as {1}, but did not start; `rookery vm power on {1}` tries again",
                order.name,
                vm.id()
            )
        })?;
    }
    Ok(Did::done(format!("created as {}", vm.id())))
}

async fn planned(session: &Session, order: &CreateOrder) -> anyhow::Result<Did> {
    Ok(match Box::pin(session.machines().check_create(order)).await? {
        Some(vm) => Did::unchanged(format!("is there already as {}", vm.id())).with_id(vm.id()),
        None => Did::planned("would be created"),
    })
}

async fn order(session: &Session, args: &Args) -> anyhow::Result<CreateOrder> {
    let checked = args.check()?;
    let places = Places::load(session.client()).await.context("vCenter's inventory could not be read")?;
    let mut finder = Finder::new(&places, session.scope.clone());
    let folder = finder.folder(&args.site);
    // The folder says which datacenter is meant.
    if let Some(folder) = &folder {
        finder.stay_beside(folder);
    }
    let host = finder.host(&args.site);
    let pool = finder.pool(&args.site, host.as_ref(), None);
    let datastore = finder.datastore(&args.site);
    let networks: Vec<_> = args.nic.iter().filter_map(|name| finder.network(name)).collect();
    let ((folder, pool), datastore) = finder.unless_unclear(folder.zip(pool).zip(datastore))?;
    let mut cards = Vec::new();
    for network in &networks {
        let network = backing(session, network).await?;
        cards.push(NewCard { network, class: NewCard::VMXNET3.to_owned(), mac: None });
    }
    Ok(CreateOrder {
        name: args.name.clone(),
        folder,
        pool,
        host,
        datastore,
        guest_id: args.guest_id.clone(),
        firmware: args.firmware(),
        cpus: checked.cpus,
        cores_per_socket: None,
        memory_mb: checked.memory_mb,
        annotation: checked.annotation,
        extra_config: checked.settings,
        bios_uuid: checked.uuid,
        instance_uuid: None,
        scsi: Some(args.scsi()),
        disks: checked.disks,
        cards,
        cdrom: checked.cdrom,
        boot: checked.boot,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(arguments: &[&str]) -> Args {
        let line = [&["create", "nest"], arguments].concat();
        Line::try_parse_from(line).expect("clap takes it").args
    }

    fn checked(arguments: &[&str]) -> Result<Checked, String> {
        parsed(arguments).check().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn what_is_said_is_taken_and_the_rest_is_plain() {
        let plain = checked(&[]).expect("it is right");
        assert_eq!((plain.cpus, plain.memory_mb, parsed(&[]).firmware()), (1, 1024, Firmware::Bios));
        assert_eq!(
            (&plain.disks, &parsed(&[]).nic, &plain.cdrom, &plain.boot),
            (&vec![], &vec![], &None, &vec![])
        );

        let line = "--disk 40GiB --disk 1MiB --thick --nic a --nic b --boot network2,cdrom,disk2 --cdrom sata \
                    --firmware efi-secure --scsi lsilogic --uuid 564D1A2B-3c4d-4e5f-8a9b-0c1d2e3f4a5b";
        let mut line: Vec<_> = line.split_whitespace().collect();
        line.extend(["--iso", "[fast] iso/x.iso"]);
        let full = checked(&line).expect("it is right");
        let disk = |size_kb| NewDisk { size_kb, thin: false };
        assert_eq!(full.disks, [disk(40 << 20), disk(1 << 10)]);
        assert_eq!(full.boot, [BootDevice::Network(1), BootDevice::Cdrom, BootDevice::Disk(1)]);
        assert_eq!(full.cdrom, Some(Cdrom { bus: CdromBus::Sata, iso: Some("[fast] iso/x.iso".to_owned()) }));
        assert_eq!(
            (parsed(&line).firmware(), parsed(&line).scsi()),
            (Firmware::Efi { secure_boot: true }, ScsiController::LsiLogic)
        );
        assert_eq!(
            full.uuid.map(|uuid| uuid.to_string()).as_deref(),
            Some("564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b")
        );
        let drive = checked(&["--iso", "[fast] x.iso"]).expect("it is right").cdrom;
        assert_eq!(drive.map(|drive| drive.bus), Some(CdromBus::Ide));
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let line = "--cpus 0 --memory 8 --disk big --iso x.iso --boot floppy,disk2,network,disk0,cdrom2 --uuid u --set s";
        insta::assert_snapshot!(checked(&line.split_whitespace().collect::<Vec<_>>()).unwrap_err(), @r#"
        11 problems in the arguments:
          --cpus: expected a number of CPUs of at least 1, found "0"
          --memory: expected a size with its unit, such as "512MiB", "4GiB" or "2TiB" (the units are KiB, MiB, GiB and TiB), found "8"
          --disk: expected a size with its unit, such as "512MiB", "4GiB" or "2TiB" (the units are KiB, MiB, GiB and TiB), found "big"
          --iso: expected a path such as "[datastore] iso/x.iso", found "x.iso"
          --boot: expected cdrom, disk, disk2, network, network2 and so on, found "floppy"
          --boot: expected cdrom, disk, disk2, network, network2 and so on, found "disk0"
          --boot: expected cdrom, disk, disk2, network, network2 and so on, found "cdrom2"
          --boot: there is no disk 2 among the arguments
          --boot: there is no network card 1 among the arguments
          --uuid: expected a UUID such as "564d1a2b-3c4d-4e5f-8a9b-0c1d2e3f4a5b", found "u"
          --set: expected KEY=VALUE, found "s"
        "#);
    }
}
