//! The keys beside `user` and `endpoint`.

use rookery_fleet::address::Network;
use rookery_vim_client::{DiskMove, Trust};
use secrecy::SecretString;

use super::common::ca_file;
use super::{Key, key, list, mandatory, open, opt, reloading, seconds, secret, secrets};
use crate::launch::credentials::{Credentials, Source};
use crate::settings::addresses::{DEFAULT_MASK, mask};
use crate::settings::{ModelRef, Settings};

pub(super) const KEYS: &[Key] = &[
    mandatory("endpoint", "vCenter: host, host:port or https://host/sdk", |s| open(&s.vcenter.address)),
    reloading(mandatory("user", "who logs in there", |s| open(&s.vcenter.user))),
    reloading(mandatory(
        "password",
        "the password; percent-encoded as the Go hatchery needs it, or as it is",
        |s| secret(Some(&s.vcenter.password)),
    )),
    key("caFile", "", "PEM file of the authorities to trust for vCenter, instead of the system's", |s| {
        ca_file(&s.vcenter.trust)
    }),
    key("thumbprint", "", "SHA-256 of the only certificate of vCenter to trust", |s| {
        match &s.vcenter.trust {
            Trust::Thumbprint(thumbprint) => open(thumbprint),
            Trust::SystemRoots | Trust::CaFile(_) | Trust::Insecure => open(""),
        }
    }),
    key("insecure", "false", "whether any certificate of vCenter is trusted", |s| {
        open(s.vcenter.trust == Trust::Insecure)
    }),
    mandatory("datacenterString", "the datacenter", |s| open(&s.vcenter.datacenter)),
    key("datastoreString", "", "datastore of new machines; the template's if not set", |s| {
        opt(s.vcenter.datastore.as_ref())
    }),
    key("networkString", "", "network of new machines; the template's if not set", |s| {
        opt(s.vcenter.network.as_ref())
    }),
    key("resourcePool", "", "resource pool of new machines; the default one if not set", |s| {
        opt(s.vcenter.resource_pool.as_ref())
    }),
    key("folder", "", "folder of new machines; the template's if not set", |s| {
        opt(s.vcenter.folder.as_ref())
    }),
    key("cardName", "e1000", "only reported: it never changed the card of a machine, cardClass does", |s| {
        open(&s.vcenter.card_name)
    }),
    key(
        "cardClass",
        "",
        "class that the network card is given, such as `vmxnet3`; the template's if not set",
        |s| opt(s.vcenter.card_class.as_ref()),
    ),
    key(
        "diskMove",
        "auto",
        "`auto`: linked to the template's snapshot where there is one; `seed`: always a copy of its newest layer",
        |s| {
            open(match s.vcenter.disk_move {
                DiskMove::Auto => "auto",
                DiskMove::ChildMost => "seed",
            })
        },
    ),
    key("maxOperations", "32", "heavy operations, such as clones, that vCenter is asked for at once", |s| {
        open(s.vcenter.ceilings.total)
    }),
    key(
        "maxOperationsPerHost",
        "6",
        "how many of them on one host: starts, stops and deletions; where a clone will be is not known",
        |s| open(s.vcenter.ceilings.per_host),
    ),
    key(
        "maxOperationsPerDatastore",
        "6",
        "how many of them on one datastore, where it is known beforehand",
        |s| open(s.vcenter.ceilings.per_datastore),
    ),
    key(
        "iprange",
        "",
        "blocks of addresses for machines, with commas between them; without any they ask DHCP",
        |s| list(legacy(s).flat_map(|network| &network.ranges)),
    ),
    key("gateway", "", "way out of that network", |s| list(legacy(s).filter_map(|network| network.gateway))),
    key("subnetMask", DEFAULT_MASK, "mask of that network", |s| {
        open(legacy(s).next().map_or_else(|| DEFAULT_MASK.to_owned(), mask))
    }),
    key("dns", "", "name servers that are given with an address, with commas between them", |s| {
        list(&s.addresses.dns)
    }),
    mandatory(
        "networks[].iprange",
        "blocks of addresses of one of several networks; with networks, the keys above do not count",
        |s| list(several(s).flat_map(|network| &network.ranges)),
    ),
    mandatory("networks[].gateway", "way out of that network", |s| {
        list(several(s).filter_map(|network| network.gateway))
    }),
    mandatory("networks[].subnetMask", "mask of that network", |s| list(several(s).map(mask))),
    key("workerTTL", "120", "minutes that a worker may live", |s| open(s.cleaning.worker_ttl.as_secs() / 60)),
    key("workerRegistrationTTL", "10", "minutes that a worker may take to register", |s| {
        open(s.cleaning.registration_ttl.as_secs() / 60)
    }),
    key("killAwolServersInterval", "60", "seconds between two looks at machines that must go", |s| {
        seconds(s.cleaning.interval)
    }),
    key("finishedWorkerGracePeriod", "180", "seconds that a machine stays after its worker ended", |s| {
        seconds(s.cleaning.grace)
    }),
    key("workerProvisioningInterval", "120", "seconds between two looks at the warm machines", |s| {
        seconds(s.warm.interval)
    }),
    reloading(key(
        "workerProvisioningPoolSize",
        "1",
        "warm machines that are made at once; 0: as many as vCenter is asked for at once",
        |s| open(s.warm.concurrency.unwrap_or(0)),
    )),
    reloading(key(
        "workerProvisioning[].modelPath",
        "",
        "V1 model to keep warm, such as `group/model`",
        |s| list(s.warm.pools.iter().filter_map(|pool| v1(&pool.model))),
    )),
    reloading(key("workerProvisioning[].modelVMWare", "", "template of the V2 model to keep warm", |s| {
        list(s.warm.pools.iter().filter_map(|pool| v2(&pool.model)))
    })),
    reloading(key("workerProvisioning[].number", "0", "how many of it", |s| {
        list(s.warm.pools.iter().map(|pool| pool.number))
    })),
    reloading(key(
        "workerProvisioning[].flavor",
        "",
        "of which flavor; the template's size if not set",
        |s| list(s.warm.pools.iter().map(|pool| pool.flavor.as_deref().unwrap_or_default())),
    )),
    key(
        "resizeWarm",
        "true",
        "whether a warm machine without a flavor may be resized while it is off",
        |s| open(s.warm.resizing.unflavored),
    ),
    key("resizeNamedFlavors", "false", "whether a warm machine with a flavor may be resized, too", |s| {
        open(s.warm.resizing.named)
    }),
    key("warmMaxAge", "0", "seconds after which an unused warm machine is replaced; 0: never", |s| {
        seconds(s.warm.max_age.unwrap_or_default())
    }),
    key("refreshBudget", "1", "warm machines of an old template that are replaced at once", |s| {
        open(s.warm.refresh_budget)
    }),
    reloading(key("guestCredentials[].modelPath", "", "V1 model whose guests are logged in to", |s| {
        list(credentials(s, Source::GuestCredentials).filter_map(|(model, _)| v1(model)))
    })),
    reloading(key("guestCredentials[].modelVMWare", "", "template of the V2 model whose guests are", |s| {
        list(credentials(s, Source::GuestCredentials).filter_map(|(model, _)| v2(model)))
    })),
    reloading(mandatory("guestCredentials[].username", "who logs in", |s| {
        list(usernames(s, Source::GuestCredentials))
    })),
    reloading(mandatory("guestCredentials[].password", "the password", |s| {
        secrets(passwords(s, Source::GuestCredentials))
    })),
    mandatory("models[].modelVMWare", "template that the keys beside it are about", |s| {
        list(&s.models.templates)
    }),
    reloading(key("models[].username", "", "who logs in to its guests; wins over guestCredentials", |s| {
        list(usernames(s, Source::Models))
    })),
    reloading(key("models[].password", "", "the password", |s| secrets(passwords(s, Source::Models)))),
    key("models[].preStartScript", "", "what runs in a guest before the worker starts", |s| {
        list(s.models.pre_start_scripts.iter().map(|(template, script)| format!("{template}: {script}")))
    }),
    mandatory(
        "defaultWorkerModelsV2[].workerModelV2",
        "V2 model for V1 jobs, such as `PROJECT/vcs/org/repo/model`; the first for those that ask for no binary",
        |s| list(s.models.defaults_v2.iter().map(|model| &model.model)),
    ),
    key("defaultWorkerModelsV2[].binaries", "", "binaries that such a job must ask for, one of them", |s| {
        list(s.models.defaults_v2.iter().map(|model| model.binaries.join(" ")))
    }),
    reloading(key("maxCpus", "0", "CPUs of all our machines that are on; 0: no limit", |s| {
        open(s.limits.size.cpus.unwrap_or(0))
    })),
    reloading(key(
        "maxMemoryMB",
        "0",
        "megabytes of memory of all our machines that are on; 0: no limit",
        |s| open(s.limits.size.memory_mb.unwrap_or(0)),
    )),
    reloading(key(
        "adaptToCDS",
        "true",
        "whether fewer workers start at once while CDS answers slowly",
        |s| open(s.queue.adapts_to_cds),
    )),
    reloading(mandatory(
        "flavors[].name",
        "name of a flavor, whatever its case; `[flavors.NAME]` is the same",
        |s| list(s.flavors.iter().map(|flavor| &flavor.name)),
    )),
    reloading(key("flavors[].cpus", "0", "its CPUs; 0: the template's", |s| {
        list(s.flavors.iter().map(|flavor| flavor.hardware.cpus.unwrap_or_default()))
    })),
    reloading(key("flavors[].memoryMB", "0", "its megabytes of memory; 0: the template's", |s| {
        list(s.flavors.iter().map(|flavor| flavor.hardware.memory_mb.unwrap_or_default()))
    })),
    reloading(key(
        "flavors[].diskSizeGB",
        "0",
        "gigabytes that the first disk has at least; a smaller one is enlarged when it is cloned; 0: the template's",
        |s| list(s.flavors.iter().map(|flavor| flavor.disk_gb.unwrap_or_default())),
    )),
    reloading(key(
        "defaultFlavor",
        "",
        "flavor where model and job name none; the template's size if not set",
        |s| opt(s.default_flavor.as_ref()),
    )),
    reloading(key(
        "countSmallerFlavorToKeep",
        "0",
        "machines of the next smaller flavor that must still fit; 0: none",
        |s| open(s.limits.size.keep_smaller),
    )),
];

/// The single network in the keys beside `user`.
fn legacy(settings: &Settings) -> impl Iterator<Item = &Network> {
    settings.addresses.networks.iter().filter(|_| !settings.addresses.listed)
}

fn several(settings: &Settings) -> impl Iterator<Item = &Network> {
    settings.addresses.networks.iter().filter(|_| settings.addresses.listed)
}

fn v1(model: &ModelRef) -> Option<&str> {
    match model {
        ModelRef::V1(path) => Some(path),
        ModelRef::V2(_) => None,
    }
}

fn v2(model: &ModelRef) -> Option<&str> {
    match model {
        ModelRef::V2(template) => Some(template),
        ModelRef::V1(_) => None,
    }
}

fn usernames(settings: &Settings, source: Source) -> impl Iterator<Item = &str> {
    credentials(settings, source).map(|(_, credential)| credential.username.as_str())
}

fn passwords(settings: &Settings, source: Source) -> impl Iterator<Item = &SecretString> {
    credentials(settings, source).map(|(_, credential)| &credential.password)
}

fn credentials(settings: &Settings, source: Source) -> impl Iterator<Item = (&ModelRef, &Credentials)> {
    let all = settings.models.credentials.iter();
    all.filter(move |(_, (at, _))| *at == source).map(|(model, (_, credentials))| (model, credentials))
}
