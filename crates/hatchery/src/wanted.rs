//! What is wanted, from the settings: the same values in the terms of planners and actors. Made once for each load.

use std::collections::BTreeMap;
use std::time::Duration;

use rookery_fleet::address::Network;
use rookery_fleet::capacity::Limits;
use rookery_fleet::flavor::Flavors;
use rookery_vim_client::DiskMove;
use secrecy::SecretString;

use crate::demand::Rules;
use crate::launch::config::{Addresses, HttpAddress, LogOptions};
use crate::launch::credentials::Configured;
use crate::plan::Desired;
use crate::settings::{Cleaning, Settings, SlowSpawn, Warm};

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The hatchery's name: whose machines they are.
    pub name: String,
    /// Which jobs are taken.
    pub rules: Rules,
    /// How much there may be.
    pub limits: Limits,
    /// Whether fewer workers start at once while CDS is slow.
    pub adapts_to_cds: bool,
    /// How many models may be registered at once.
    pub registering: Option<u32>,
    /// How often models to register are looked for.
    pub register_every: Duration,
    /// From when on a start is slow.
    pub slow_spawn: SlowSpawn,
    /// How often a start is tried.
    pub attempts: Option<u32>,
    /// The sizes.
    pub flavors: Flavors,
    /// The size of those who ask for none.
    pub default_flavor: Option<String>,
    /// Where addresses come from; none: from DHCP.
    pub networks: Vec<Network>,
    /// What is made ahead of time.
    pub warm: Warm,
    /// When machines go.
    pub cleaning: Cleaning,
    /// Who logs in to guests.
    pub credentials: Configured,
    /// What runs before a worker, by template.
    pub pre_start_scripts: BTreeMap<String, String>,
    /// What workers find in their environment.
    pub worker_env: BTreeMap<String, SecretString>,
    /// Where workers work.
    pub worker_basedir: String,
    /// How workers log.
    pub worker_logs: LogOptions,
    /// How disks of clones come about.
    pub disk_move: DiskMove,
    /// Another class for the network cards of clones.
    pub card_class: Option<String>,
}

impl Wanted {
    /// What the settings say.
    pub fn new(settings: &Settings) -> Self {
        let (queue, limits, worker) = (&settings.queue, &settings.limits, &settings.worker);
        Self {
            name: settings.identity.name.clone(),
            rules: Rules {
                region: queue.region.clone().unwrap_or_default(),
                ignore_job_with_no_region: queue.ignore_jobs_without_region,
                os_arch: settings.identity.os_arch.clone(),
                default_models: settings.models.defaults_v2.clone(),
                reads_v2_models: settings.api.token_v2.is_some(),
            },
            limits: *limits,
            adapts_to_cds: queue.adapts_to_cds,
            registering: queue.registering,
            register_every: queue.register_every,
            slow_spawn: queue.slow_spawn,
            attempts: queue.attempts,
            flavors: settings.flavors.clone(),
            default_flavor: settings.default_flavor.clone(),
            networks: settings.addresses.networks.clone(),
            warm: settings.warm.clone(),
            cleaning: settings.cleaning,
            credentials: settings.models.credentials.clone(),
            pre_start_scripts: settings.models.pre_start_scripts.clone(),
            worker_env: worker.env.clone(),
            worker_basedir: worker.basedir.clone(),
            worker_logs: worker.logs.clone(),
            disk_move: settings.vcenter.disk_move,
            card_class: settings.vcenter.card_class.clone(),
        }
    }
}

impl Wanted {
    /// What a plan is made for.
    pub fn desired(&self) -> Desired<'_> {
        Desired {
            owner: &self.name,
            limits: &self.limits,
            registering: self.registering,
            attempts: self.attempts,
            flavors: &self.flavors,
            default_flavor: self.default_flavor.as_deref(),
            networks: &self.networks,
            warm: &self.warm,
            cleaning: &self.cleaning,
        }
    }
}

/// Where workers find their servers, with what the API says of its CDN.
pub fn addresses(settings: &Settings, cdn: Option<&rookery_cds::Cdn>) -> Addresses {
    let api = HttpAddress {
        url: settings.api.url.to_string(),
        insecure: matches!(settings.api.trust, rookery_vim_client::Trust::Insecure),
    };
    let told = Addresses { api, cdn: cdn.cloned().unwrap_or_default() };
    let ours = Addresses { cdn: settings.cdn.clone(), ..Addresses::default() };
    told.overridden_by(&ours).overridden_by(&settings.worker.addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::settings;

    #[test]
    fn each_network_has_its_mask_and_gateway_and_all_have_the_name_servers() {
        let of = |fragment: &str| -> Vec<_> {
            let networks = settings(fragment).addresses.networks.into_iter();
            networks.map(|one| (one.prefix, one.gateway.map(|ip| ip.to_string()), one.dns.len())).collect()
        };
        assert_eq!(of(""), []);
        assert_eq!(of("iprange = '10.0.0.0/28'"), [(24, None, 0)]);
        let whole = "iprange = '10.0.0.0/28'\ngateway = '10.0.0.1'\nsubnetMask = '255.255.0.0'\ndns = '10.0.0.2,10.0.0.3'";
        assert_eq!(of(whole), [(16, Some("10.0.0.1".to_owned()), 2)]);
        let several = "dns = '10.0.0.2'
            [[networks]]
            iprange = '10.1.0.0/28'\ngateway = '10.1.0.14'\nsubnetMask = '255.255.255.240'
            [[networks]]
            iprange = '10.2.0.0/28'\ngateway = '10.2.0.1'\nsubnetMask = '255.255.255.0'";
        let gateways = ["10.1.0.14", "10.2.0.1"].map(|ip| Some(ip.to_owned()));
        let [first, second] = gateways;
        assert_eq!(of(several), [(28, first, 1), (24, second, 1)]);
    }

    #[test]
    fn workers_find_their_servers_where_cds_says_the_settings_say_or_the_settings_say_for_workers() {
        let cdn = rookery_cds::Cdn {
            tcp_url: "cdn:1".to_owned(),
            tcp_url_enable_tls: true,
            http_url: "http://cdn".to_owned(),
        };
        let of = |fragment: &str| {
            let found = addresses(&settings(fragment), Some(&cdn));
            let HttpAddress { url, insecure } = found.api;
            (url, insecure, found.cdn.http_url, found.cdn.tcp_url, found.cdn.tcp_url_enable_tls)
        };
        let told = |api: &str, insecure: bool, http: &str, tcp: &str, tls: bool| {
            (api.to_owned(), insecure, http.to_owned(), tcp.to_owned(), tls)
        };
        let cds = "https://cds.example.org/api";
        assert_eq!(of(""), told(cds, false, "http://cdn", "cdn:1", true));
        let trusting = "commonConfiguration.api.http.insecure = true";
        assert_eq!(of(trusting), told(cds, true, "http://cdn", "cdn:1", true));
        let own = "commonConfiguration.cdn = { url = 'http://own', tcp = { url = 'own:2' } }";
        assert_eq!(of(own), told(cds, false, "http://own", "own:2", false));
        let of_workers = "[commonConfiguration.provision]
            workerApiHttp = { url = 'http://inside', insecure = true }
            workerCdn = { tcp = { url = 'inside:3', enableTLS = true } }";
        assert_eq!(of(of_workers), told("http://inside", true, "http://cdn", "inside:3", true));
        assert_eq!(
            of(&format!("{own}\n{of_workers}")),
            told("http://inside", true, "http://own", "inside:3", true)
        );
    }
}
