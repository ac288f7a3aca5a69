//! What planners and workers get of the settings.

use super::*;
use crate::launch::config::HttpAddress;

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
        let found = settings(fragment).worker_addresses(Some(&cdn));
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
