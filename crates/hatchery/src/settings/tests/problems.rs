//! What is wrong is told, all of it, with its key; what is odd is a warning.

use super::*;

/// Minimal file and fragment: exactly these problems.
fn check(fragment: &str, expected: &[&str]) {
    assert_eq!(lines(&with(fragment).to_string()), expected, "{fragment}");
}

/// Minimal file and fragment: fine, with exactly these warnings.
fn check_warnings(fragment: &str, expected: &[&str]) {
    let loaded =
        read(&with(fragment).to_string()).unwrap_or_else(|problems| panic!("{fragment}: {problems}"));
    assert_eq!(warnings(&loaded), expected, "{fragment}");
}

#[test]
fn addresses_that_are_not_encrypted_are_warned_about() {
    let told =
        "http:// is not encrypted: anybody on the way can read credentials and change answers; use https://";
    check_warnings("endpoint = 'http://vc.example.com'", &[&format!("endpoint: {told}")]);
    check_warnings(
        "commonConfiguration.api.http.url = 'http://cds.example.com'",
        &[&format!("commonConfiguration.api.http.url: {told}")],
    );
    check_warnings("endpoint = 'https://vc.example.com'", &[]);
    check_warnings("endpoint = 'vc.example.com'", &[]);
}

#[test]
fn everything_is_told_at_once() {
    let file = "
        endpoint = 'ftp://vc'
        user = 7
        workerTTL = -1
        usr = 'x'
        [commonConfiguration]
        name = ' x'
        [commonConfiguration.api]
        token = ['secret-token']
        [commonConfiguration.provision]
        maxWorker = 'many'";
    assert_eq!(
        lines(file),
        [
            "endpoint: ftp:// is not supported: use https:// (or http:// for a simulator)",
            "user: expected text in quotes, found a number",
            "password: is not set, and neither is passwordFile",
            "datacenterString: is not set",
            "commonConfiguration.name: begins or ends with a space, or holds a control character",
            "commonConfiguration.rsaPrivateKey: is not set, and neither is rsaPrivateKeyFile",
            "commonConfiguration.api.token: expected text in quotes, found a list",
            "commonConfiguration.api.http.url: is not set",
            "commonConfiguration.provision.maxWorker: expected a whole number, found text in quotes",
            "workerTTL: -1 is negative",
            "usr: unknown key; did you mean user?",
        ]
    );
}

#[test]
fn a_text_that_is_no_toml_is_told_with_its_place_and_without_its_content() {
    let problems =
        read("user = 'x'\npassword = hunter2").map(|loaded| loaded.settings).unwrap_err().to_string();
    assert!(problems.contains("file h.toml: is not valid TOML at line 2"), "{problems}");
    assert!(!problems.contains("hunter2"), "{problems}");
}

// A misspelt section was as good as none, and the pool that it should have filled was emptied.
#[test]
fn a_key_or_section_close_to_a_known_one_is_refused_and_others_are_only_told() {
    for (fragment, expected) in [
        ("endpiont = 'x'", "endpiont: unknown key; did you mean endpoint?"),
        (
            "[[workerProvisionning]]\nmodelVMWare = 'a'\nnumber = 1",
            "workerProvisionning: unknown key; did you mean workerProvisioning?",
        ),
        (
            "[commonConfiguration.provison]\nmaxWorker = 3",
            "commonConfiguration.provison: unknown key; did you mean provision?",
        ),
        (
            "[commonConfiguration.provision]\nmaxWorkers = 3",
            "commonConfiguration.provision.maxWorkers: unknown key; did you mean maxWorker?",
        ),
    ] {
        check(fragment, &[expected]);
    }
    let fragment = "
        wholly = 1
        [[models]]
        modelVMWare = 'a'
        image = 'b'";
    let loaded = read(&with(fragment).to_string()).unwrap();
    let unknown: Vec<_> = loaded.unknown.iter().map(ToString::to_string).collect();
    assert_eq!(unknown, ["models[0].image: unknown key", "wholly: unknown key"]);
    assert_eq!(loaded.warnings, []);
}

#[test]
fn keys_are_read_whatever_their_case_and_numbers_also_in_quotes() {
    let mut file = with("workerttl = '7'\ninsecure = 'true'");
    let loaded = read(&file.to_string()).unwrap();
    assert_eq!(warnings(&loaded), ["workerttl: read as workerTTL; write it that way"]);
    assert_eq!(loaded.settings.cleaning.worker_ttl, std::time::Duration::from_mins(7));
    assert_eq!(loaded.settings.vcenter.trust, rookery_vim_client::Trust::Insecure);
    file.insert("workerTTL".to_owned(), Value::Integer(8));
    assert_eq!(lines(&file.to_string()), ["workerttl: unknown key; did you mean workerTTL?"]);
}

#[test]
fn limits_stay_below_the_number_of_workers_unless_that_has_none() {
    let provision = |text: &str| format!("[commonConfiguration.provision]\n{text}");
    check(
        &provision("maxWorker = 5\nmaxConcurrentProvisioning = 6\nmaxConcurrentRegistering = 7"),
        &[
            "commonConfiguration.provision.maxConcurrentProvisioning: 6 is more than maxWorker, which is 5",
            "commonConfiguration.provision.maxConcurrentRegistering: 7 is more than maxWorker, which is 5",
        ],
    );
    check(
        &provision("maxConcurrentProvisioning = 11"),
        &["commonConfiguration.provision.maxConcurrentProvisioning: 11 is more than maxWorker, which is 10"],
    );
    check_warnings(
        &provision("maxWorker = 5\nmaxConcurrentProvisioning = 5\nmaxConcurrentRegistering = 5"),
        &[],
    );
    check_warnings(&provision("maxWorker = 1\nmaxConcurrentRegistering = -1"), &[]);
    check_warnings(
        &provision("maxWorker = 0\nmaxConcurrentProvisioning = 60\nmaxConcurrentRegistering = 70"),
        &[],
    );
    check(
        &provision("maxWorker = -1\nmaxConcurrentRegistering = -2"),
        &[
            "commonConfiguration.provision.maxWorker: -1 is negative",
            "commonConfiguration.provision.maxConcurrentRegistering: \
             -2 is neither -1, which means off, nor at most 4294967295",
        ],
    );
}

#[test]
fn ranges_are_blocks_of_ipv4_that_do_not_overlap() {
    check("iprange = '10.0.0.0'", &["iprange: \"10.0.0.0\" is one address; write 10.0.0.0/32 for it"]);
    check("iprange = '10.0.0.0/33'", &["iprange: \"10.0.0.0/33\" is not a range such as 10.0.0.0/24"]);
    check(
        "iprange = 'fd00::/64'",
        &["iprange: \"fd00::/64\" is a range of IPv6; only IPv4 can be handed out"],
    );
    check(
        "iprange = '10.0.0.0/24 ,10.0.0.128/25'",
        &["iprange: 10.0.0.128/25 and 10.0.0.0/24 of iprange have addresses in common"],
    );
    check(
        "iprange = '10.0.0.0/16,10.1.0.0/32'\ngateway = '10.0.0.1'",
        &["iprange: 65537 addresses are more than 65536: give only this hatchery's share of the network"],
    );
    check(
        "iprange = '0.0.0.0/0'",
        &[
            "iprange: 4294967296 addresses are more than 65536: give only this hatchery's share of the network",
        ],
    );
    check(
        "iprange = '10.0.0.0/24'\ngateway = 'gw'\nsubnetMask = '255.0.255.0'\ndns = '1.1.1.1, one'",
        &[
            "dns: \"one\" is not an address",
            "gateway: \"gw\" is not an address of IPv4",
            "subnetMask: \"255.0.255.0\" is not a mask such as 255.255.255.0",
        ],
    );
}

#[test]
fn odd_networks_are_only_warned_about() {
    check_warnings(
        "iprange = '10.0.0.5/24'\ngateway = '10.0.1.1'",
        &[
            "iprange: 10.0.0.5/24 means 10.0.0.0/24",
            "gateway: by its mask, 10.0.1.1 is not in one network with 10.0.0.0/24",
        ],
    );
    check_warnings(
        "iprange = '10.0.0.0/24'",
        &["gateway: is not set, so machines reach nothing outside their own network"],
    );
    check_warnings("gateway = '10.0.0.1'", &["gateway: has no effect without iprange: machines ask DHCP"]);
}

#[test]
fn each_of_several_networks_says_all_three_and_they_win() {
    let network = "[[networks]]\niprange = '10.0.0.0/24'\ngateway = '10.0.0.1'\nsubnetMask = '255.255.255.0'";
    check_warnings(
        &format!("iprange = '10.9.0.0/24'\n{network}\n[[networks]]"),
        &["iprange: has no effect beside networks"],
    );
    check(
        &format!("{network}\n[[networks]]\niprange = '10.0.0.0/25'"),
        &["networks[1].gateway: is not set", "networks[1].subnetMask: is not set"],
    );
    check(
        &format!("{network}\n{}", network.replace("10.0.0.0/24", "10.0.0.0/25")),
        &["networks[1].iprange: 10.0.0.0/25 and 10.0.0.0/24 of networks[0].iprange have addresses in common"],
    );
}

#[test]
fn flavors_are_known_and_of_different_names() {
    check(
        "
        defaultFlavor = 'huge'
        flavors = { small = { cpus = 2, memoryMB = 4096 }, Small = { cpus = 2, memoryMB = 4096 } }",
        &[
            "flavors.small: there is \"Small\" already, and names are the same whatever their case",
            "defaultFlavor: \"huge\" is no flavor; there are small",
        ],
    );
    check("defaultFlavor = 'huge'", &["defaultFlavor: \"huge\" is no flavor: there are none in flavors"]);
    check(
        "flavors.a = { cpus = -1 }\nflavors.b = 1",
        &["flavors.b: expected a table with cpus, memoryMB or diskSizeGB", "flavors.a.cpus: -1 is negative"],
    );
    check("flavors = 1", &["flavors: expected a list of tables, found a number"]);
    check_warnings(
        "maxCpus = 1\nflavors.a = { cpus = 2, memoryMB = 5 }",
        &[
            "flavors.a.memoryMB: is not a multiple of 4, which vSphere refuses",
            "flavors: \"a\" is larger than maxCpus or maxMemoryMB allows, so it never fits",
        ],
    );
}

#[test]
fn warm_machines_are_of_one_known_model_and_flavor_each() {
    check(
        "
        [[workerProvisioning]]
        number = 1
        [[workerProvisioning]]
        modelPath = 'group/model'
        modelVMWare = 'debian12'
        [[workerProvisioning]]
        modelVMWare = 'debian12'
        number = -1
        flavor = 'huge'
        [[workerProvisioning]]
        modelPath = 'model'
        ",
        &[
            "workerProvisioning[0]: needs modelPath, for V1, or modelVMWare, for V2",
            "workerProvisioning[1]: has both modelPath, which is for V1, and modelVMWare, which is for V2",
            "workerProvisioning[2].number: -1 is negative",
            "workerProvisioning[2].flavor: \"huge\" is no flavor: there are none in flavors",
            "workerProvisioning[3].modelPath: \"model\" is not the path of a model, such as group/model",
        ],
    );
    let twice = |one: &str, other: &str| {
        format!(
            "flavors = {{ s = {{ cpus = 1, memoryMB = 4 }}, l = {{ cpus = 2, memoryMB = 4 }} }}
            [[workerProvisioning]]\nmodelVMWare = 'a'\nnumber = 1\nflavor = '{one}'
            [[workerProvisioning]]\nmodelVMWare = 'a'\nnumber = 2\nflavor = '{other}'"
        )
    };
    check(
        &twice("s", "S"),
        &["workerProvisioning[1]: workerProvisioning[0] is of the same model and flavor; keep one of them"],
    );
    check_warnings(&twice("s", "l"), &[]);
    check_warnings(&twice("s", ""), &[]);
}

#[test]
fn credentials_are_complete_and_models_named_once() {
    check(
        "
        [[guestCredentials]]
        modelVMWare = 'a'
        password = 'x'
        [[guestCredentials]]
        username = 'x'
        password = 'x'
        [[models]]
        modelVMWare = 'a'
        username = 'x'
        [[models]]
        modelVMWare = 'a'
        [[models]]
        preStartScript = 'x'
        ",
        &[
            "guestCredentials[0].username: is not set",
            "guestCredentials[1]: needs modelPath, for V1, or modelVMWare, for V2",
            "models[0].password: is not set, and neither is passwordFile",
            "models[1].modelVMWare: there is an entry for a already",
            "models[2].modelVMWare: is not set",
        ],
    );
    check(
        "[[guestCredentials]]\nmodelVMWare = 'a'\nusername = 'x'\npassword = 'x'\n".repeat(2).as_str(),
        &["guestCredentials[1]: there are credentials for a already"],
    );
}

#[test]
fn models_win_over_older_credentials() {
    let old = "[[guestCredentials]]\nmodelVMWare = 'a'\nusername = 'old'\npassword = 'x'";
    let new = "[[models]]\nmodelVMWare = 'a'\nusername = 'new'\npassword = 'y'";
    let user = |fragment: &str| {
        let settings = read(&with(fragment).to_string()).unwrap().settings;
        settings
            .models
            .credentials
            .values()
            .map(|(_, credential)| credential.username.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(user(&format!("{old}\n{new}")), ["new"]);
    assert_eq!(user(&format!("{old}\n[[models]]\nmodelVMWare = 'a'\nusername = ''\npassword = ''")), ["old"]);
}

#[test]
fn default_models_are_references() {
    let default = |text: &str| format!("[[defaultWorkerModelsV2]]\nworkerModelV2 = '{text}'");
    for fine in ["P/vcs/org/repo/model", "P/vcs/repo/model@a/b"] {
        check_warnings(&default(fine), &[]);
    }
    for wrong in ["model", "P/vcs/model@a/b/c", "P//org/model"] {
        let expected = format!(
            "defaultWorkerModelsV2[0].workerModelV2: {wrong:?} is not a model such as PROJECT/vcs/org/repo/model"
        );
        check(&default(wrong), &[&expected]);
    }
}

#[test]
fn variables_without_a_value_are_left_out() {
    check_warnings(
        "commonConfiguration.provision.injectEnvVars = ['secret', '=x', 'A=1', 'A=2']",
        &[
            "commonConfiguration.provision.injectEnvVars[0]: has no = and is left out",
            "commonConfiguration.provision.injectEnvVars[1]: has no name before its = and is left out",
            "commonConfiguration.provision.injectEnvVars[3]: sets A again; the last one counts",
        ],
    );
}

#[test]
fn a_server_is_trusted_for_one_reason() {
    check("insecure = true\ncaFile = '/ca'", &["caFile: contradicts insecure; keep one of them"]);
    check(
        "thumbprint = 'ab'",
        &[
            "thumbprint: a thumbprint is the certificate's SHA-256: 64 hexadecimal digits, with or without colons",
        ],
    );
    check(
        "commonConfiguration.api.http = { insecure = true, caFile = '/ca' }",
        &[
            "commonConfiguration.api.http.caFile: insecure is set too, which trusts any certificate: keep one of them",
        ],
    );
}

#[test]
fn other_values_are_checked_too() {
    check("diskMove = 'copy'", &["diskMove: \"copy\" is neither \"auto\" nor \"seed\""]);
    assert!(
        lines(&with("cardClass = 'fast'").to_string())[0]
            .starts_with("cardClass: \"fast\" is none of Virtual")
    );
    check("commonConfiguration.http.port = 70000", &["commonConfiguration.http.port: 70000 is not a port"]);
    check("workerTTL = 4294967296", &["workerTTL: 4294967296 is more than 2147483647"]);
    check(
        "commonConfiguration.osArch = ['linux']",
        &["commonConfiguration.osArch: \"linux\" is not a system such as \"linux/amd64\""],
    );
    check(
        &format!("commonConfiguration.name = '{}'", "x".repeat(129)),
        &["commonConfiguration.name: has 129 characters, at most 128 are possible"],
    );
    check(
        "commonConfiguration.cdn.tcp.url = 'tcp://cdn:1'",
        &["commonConfiguration.cdn.tcp.url: is not an address such as host:4545"],
    );
    check(
        "commonConfiguration.provision.workerLogsOptions.syslog.protocol = 'icmp'",
        &[
            "commonConfiguration.provision.workerLogsOptions.syslog.protocol: \"icmp\" is neither \"tcp\" nor \"udp\"",
        ],
    );
}

#[test]
fn odd_log_settings_do_not_keep_a_hatchery_from_starting() {
    check_warnings(
        "log = { level = 'loud', format = 'xml', textFields = ['a'], graylog = { host = 'g' } }",
        &[
            "log.level: \"loud\" is no level; \"info\" is used",
            "log.format: \"xml\" is neither \"text\" nor \"json\"; \"text\" is used",
            "log.textFields: has no effect: fields are always shown",
            "log.graylog: has no effect: log lines go to standard error, from where a collector takes them",
        ],
    );
    let quiet = read(&with("log = { level = 'debug', format = 'discard' }").to_string()).unwrap();
    assert_eq!(quiet.settings.log.level, super::super::Level::Off);
}
