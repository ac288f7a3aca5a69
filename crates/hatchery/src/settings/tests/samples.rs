//! For each key something that is not its default, and what acts then.

/// The path of a key, a piece of a file that sets it, and the value that acts.
pub(super) type Sample = (&'static str, &'static str, &'static str);

pub(super) const SAMPLES: &[Sample] = &[
    ("endpoint", r#"endpoint = "https://other/sdk""#, "https://other/sdk"),
    ("user", r#"user = "somebody""#, "somebody"),
    ("password", r#"password = "other-password""#, "other-password"),
    ("caFile", r#"caFile = "/etc/ca.pem""#, "/etc/ca.pem"),
    (
        "thumbprint",
        r#"thumbprint = "0000000000000000000000000000000000000000000000000000000000000001""#,
        "00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:01",
    ),
    ("insecure", "insecure = true", "true"),
    ("datacenterString", r#"datacenterString = "DC1""#, "DC1"),
    ("datastoreString", r#"datastoreString = "ssd""#, "ssd"),
    ("networkString", r#"networkString = "lan""#, "lan"),
    ("resourcePool", r#"resourcePool = "ci""#, "ci"),
    ("folder", r#"folder = "workers""#, "workers"),
    ("cardName", r#"cardName = "vmxnet3""#, "vmxnet3"),
    ("cardClass", r#"cardClass = "vmxnet3""#, "VirtualVmxnet3"),
    ("diskMove", r#"diskMove = "seed""#, "seed"),
    ("maxOperations", "maxOperations = 16", "16"),
    ("maxOperationsPerHost", "maxOperationsPerHost = 4", "4"),
    ("maxOperationsPerDatastore", "maxOperationsPerDatastore = 8", "8"),
    ("iprange", r#"iprange = "10.0.0.0/30, 10.0.1.0/30""#, "10.0.0.0/30, 10.0.1.0/30"),
    ("gateway", "iprange = '10.0.0.0/30'\ngateway = '10.0.0.254'", "10.0.0.254"),
    ("subnetMask", "iprange = '10.0.0.0/30'\nsubnetMask = '255.255.0.0'", "255.255.0.0"),
    ("dns", r#"dns = "10.0.0.53, 10.1.0.53""#, "10.0.0.53, 10.1.0.53"),
    ("networks[].iprange", NETWORK, "10.0.0.0/30"),
    ("networks[].gateway", NETWORK, "10.0.0.254"),
    ("networks[].subnetMask", NETWORK, "255.255.0.0"),
    ("workerTTL", "workerTTL = 121", "121"),
    ("workerRegistrationTTL", "workerRegistrationTTL = 11", "11"),
    ("killAwolServersInterval", "killAwolServersInterval = 61", "61"),
    ("finishedWorkerGracePeriod", "finishedWorkerGracePeriod = 181", "181"),
    ("workerProvisioningInterval", "workerProvisioningInterval = 121", "121"),
    ("workerProvisioningPoolSize", "workerProvisioningPoolSize = 2", "2"),
    ("workerProvisioning[].modelPath", "[[workerProvisioning]]\nmodelPath = 'group/model'", "group/model"),
    ("workerProvisioning[].modelVMWare", POOL, "debian12"),
    ("workerProvisioning[].number", POOL, "3"),
    ("workerProvisioning[].flavor", POOL, "Small"),
    ("resizeWarm", "resizeWarm = false", "false"),
    ("resizeNamedFlavors", "resizeNamedFlavors = true", "true"),
    ("warmMaxAge", "warmMaxAge = 3600", "3600"),
    ("refreshBudget", "refreshBudget = 2", "2"),
    ("guestCredentials[].modelPath", CREDENTIAL_V1, "group/model"),
    ("guestCredentials[].modelVMWare", CREDENTIAL_V2, "debian12"),
    ("guestCredentials[].username", CREDENTIAL_V2, "worker"),
    ("guestCredentials[].password", CREDENTIAL_V2, "guest-password"),
    ("models[].modelVMWare", MODEL, "debian12"),
    ("models[].username", "[[models]]\nmodelVMWare = 'debian12'\nusername = 'me'\npassword = 'x'", "me"),
    ("models[].password", "[[models]]\nmodelVMWare = 'debian12'\nusername = 'me'\npassword = 'x'", "x"),
    ("models[].preStartScript", MODEL, "debian12: mount /data"),
    ("defaultWorkerModelsV2[].workerModelV2", DEFAULT_MODEL, "P/vcs/org/repo/model@main"),
    ("defaultWorkerModelsV2[].binaries", DEFAULT_MODEL, "git make"),
    ("maxCpus", "maxCpus = 64", "64"),
    ("maxMemoryMB", "maxMemoryMB = 131072", "131072"),
    ("adaptToCDS", "adaptToCDS = false", "false"),
    ("flavors[].name", FLAVOR, "Small"),
    ("flavors[].cpus", FLAVOR, "2"),
    ("flavors[].memoryMB", FLAVOR, "4096"),
    ("flavors[].diskSizeGB", FLAVOR, "40"),
    ("defaultFlavor", "defaultFlavor = 'small'\n[flavors.Small]\ncpus = 2\nmemoryMB = 4096", "Small"),
    ("countSmallerFlavorToKeep", "countSmallerFlavorToKeep = 2", "2"),
    ("commonConfiguration.name", "commonConfiguration.name = 'other'", "other"),
    ("commonConfiguration.osArch", "commonConfiguration.osArch = ['windows/amd64']", "windows/amd64"),
    (
        "commonConfiguration.rsaPrivateKey",
        r#"commonConfiguration.rsaPrivateKey = "-----BEGIN PRIVATE KEY-----\nS2V5S2V5\n-----END PRIVATE KEY-----""#,
        "-----BEGIN PRIVATE KEY-----\nS2V5S2V5\n-----END PRIVATE KEY-----",
    ),
    (
        "commonConfiguration.url",
        "commonConfiguration.url = 'https://h.example.org/'",
        "https://h.example.org",
    ),
    ("commonConfiguration.http.addr", "commonConfiguration.http.addr = '127.0.0.1'", "127.0.0.1"),
    ("commonConfiguration.http.port", "commonConfiguration.http.port = 8086", "8086"),
    (
        "commonConfiguration.http.headerXForwardedFor",
        "commonConfiguration.http.headerXForwardedFor = 'X-Real-IP'",
        "X-Real-IP",
    ),
    ("commonConfiguration.api.http.url", "commonConfiguration.api.http.url = 'http://cds'", "http://cds"),
    ("commonConfiguration.api.http.insecure", "commonConfiguration.api.http.insecure = true", "true"),
    (
        "commonConfiguration.api.http.caFile",
        "commonConfiguration.api.http.caFile = '/etc/ca.pem'",
        "/etc/ca.pem",
    ),
    ("commonConfiguration.api.token", "commonConfiguration.api.token = 'token-of-v1'", "token-of-v1"),
    ("commonConfiguration.api.tokenV2", "commonConfiguration.api.tokenV2 = 'token-of-v2'", "token-of-v2"),
    ("commonConfiguration.api.requestTimeout", "commonConfiguration.api.requestTimeout = 11", "11"),
    (
        "commonConfiguration.api.maxHeartbeatFailures",
        "commonConfiguration.api.maxHeartbeatFailures = 11",
        "11",
    ),
    ("commonConfiguration.cdn.url", "commonConfiguration.cdn.url = 'http://cdn'", "http://cdn"),
    ("commonConfiguration.cdn.tcp.url", "commonConfiguration.cdn.tcp.url = 'cdn:4545'", "cdn:4545"),
    ("commonConfiguration.cdn.tcp.enableTLS", "commonConfiguration.cdn.tcp.enableTLS = true", "true"),
    (
        "commonConfiguration.logOptions.spawnOptions.thresholdCritical",
        "commonConfiguration.logOptions.spawnOptions.thresholdCritical = 481",
        "481",
    ),
    (
        "commonConfiguration.logOptions.spawnOptions.thresholdWarning",
        "commonConfiguration.logOptions.spawnOptions.thresholdWarning = 361",
        "361",
    ),
    ("log.level", "log.level = 'debug'", "debug"),
    ("log.format", "log.format = 'json'", "json"),
    ("commonConfiguration.provision.maxWorker", "commonConfiguration.provision.maxWorker = 0", "0"),
    (
        "commonConfiguration.provision.maxConcurrentProvisioning",
        "commonConfiguration.provision.maxConcurrentProvisioning = 4",
        "4",
    ),
    (
        "commonConfiguration.provision.maxConcurrentRegistering",
        "commonConfiguration.provision.maxConcurrentRegistering = -1",
        "-1",
    ),
    (
        "commonConfiguration.provision.registerFrequency",
        "commonConfiguration.provision.registerFrequency = 61",
        "61",
    ),
    (
        "commonConfiguration.provision.maxAttemptsNumberBeforeFailure",
        "commonConfiguration.provision.maxAttemptsNumberBeforeFailure = -1",
        "-1",
    ),
    ("commonConfiguration.provision.region", "commonConfiguration.provision.region = 'rbx'", "rbx"),
    (
        "commonConfiguration.provision.ignoreJobWithNoRegion",
        "commonConfiguration.provision.ignoreJobWithNoRegion = true",
        "true",
    ),
    (
        "commonConfiguration.provision.disableV2QueuePolling",
        "commonConfiguration.provision.disableV2QueuePolling = true",
        "true",
    ),
    (
        "commonConfiguration.provision.injectEnvVars",
        "commonConfiguration.provision.injectEnvVars = ['B=x=y', 'A=']",
        "A=\nB=x=y",
    ),
    (
        "commonConfiguration.provision.workerApiHttp.url",
        "commonConfiguration.provision.workerApiHttp.url = 'http://inner'",
        "http://inner",
    ),
    (
        "commonConfiguration.provision.workerApiHttp.insecure",
        "commonConfiguration.provision.workerApiHttp = { url = 'http://inner', insecure = true }",
        "true",
    ),
    (
        "commonConfiguration.provision.workerCdn.url",
        "commonConfiguration.provision.workerCdn.url = 'http://c'",
        "http://c",
    ),
    (
        "commonConfiguration.provision.workerCdn.tcp.url",
        "commonConfiguration.provision.workerCdn.tcp.url = 'c:1'",
        "c:1",
    ),
    (
        "commonConfiguration.provision.workerCdn.tcp.enableTLS",
        "commonConfiguration.provision.workerCdn.tcp.enableTLS = true",
        "true",
    ),
    (
        "commonConfiguration.provision.workerBasedir",
        "commonConfiguration.provision.workerBasedir = '/ci'",
        "/ci",
    ),
    ("commonConfiguration.provision.workerLogsOptions.level", LOGS, "debug"),
    ("commonConfiguration.provision.workerLogsOptions.graylog.host", LOGS, "gray"),
    ("commonConfiguration.provision.workerLogsOptions.graylog.port", LOGS, "12201"),
    ("commonConfiguration.provision.workerLogsOptions.graylog.protocol", LOGS, "udp"),
    ("commonConfiguration.provision.workerLogsOptions.graylog.extraKey", LOGS, "X-Token"),
    ("commonConfiguration.provision.workerLogsOptions.graylog.extraValue", LOGS, "gray-token"),
    ("commonConfiguration.provision.workerLogsOptions.syslog.host", LOGS, "sys"),
    ("commonConfiguration.provision.workerLogsOptions.syslog.port", LOGS, "514"),
    ("commonConfiguration.provision.workerLogsOptions.syslog.protocol", LOGS, "udp"),
    ("commonConfiguration.provision.workerLogsOptions.syslog.extraTag", LOGS, "ci"),
];

const NETWORK: &str =
    "[[networks]]\niprange = '10.0.0.0/30'\ngateway = '10.0.0.254'\nsubnetMask = '255.255.0.0'";

const FLAVOR: &str = "[[flavors]]\nname = 'Small'\ncpus = 2\nmemoryMB = 4096\ndiskSizeGB = 40";

const POOL: &str = "
[[workerProvisioning]]
modelVMWare = 'debian12'
number = 3
flavor = 'small'
[flavors.Small]
cpus = 2
memoryMB = 4096";

const CREDENTIAL_V1: &str = "
[[guestCredentials]]
modelPath = 'group/model'
username = 'worker'
password = 'guest-password'";

const CREDENTIAL_V2: &str = "
[[guestCredentials]]
modelVMWare = 'debian12'
username = 'worker'
password = 'guest-password'";

const MODEL: &str = "[[models]]\nmodelVMWare = 'debian12'\npreStartScript = 'mount /data'";

const DEFAULT_MODEL: &str =
    "[[defaultWorkerModelsV2]]\nworkerModelV2 = 'P/vcs/org/repo/model@main'\nbinaries = ['git', 'make']";

const LOGS: &str = "
[commonConfiguration.provision.workerLogsOptions]
level = 'debug'
graylog = { host = 'gray', port = 12201, protocol = 'udp', extraKey = 'X-Token', extraValue = 'gray-token' }
syslog = { host = 'sys', port = 514, protocol = 'udp', extraTag = 'ci' }";
