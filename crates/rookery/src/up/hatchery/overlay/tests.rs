use super::*;

fn table(text: &str) -> Table {
    text.parse().expect("TOML")
}

fn check(file: &str, lay: impl FnOnce(&mut Table), expected: &str) {
    let mut laid = table(file);
    lay(ours(&mut laid).expect("it has our table"));
    assert_eq!(laid, table(expected), "{laid:#}");
}

fn check_simulated_cds(file: &str, vcenter: &RealVcenter, expected: &str) {
    let sign_in = SignIn {
        name: "up-here".to_owned(),
        region: "here".to_owned(),
        tokens: ("one".to_owned(), "two".to_owned()),
        key: "KEY".into(),
    };
    let lay = |ours: &mut Table| {
        lay_vcenter(ours, vcenter);
        lay_simulated_cds(ours, "http://cds", &sign_in, "http://pages");
    };
    check(file, lay, expected);
}

fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: password.into() }
}

/// Only its address is another one.
fn elsewhere() -> RealVcenter {
    let (endpoint, _) = Endpoint::parse("https://vc:443").expect("an address");
    RealVcenter { endpoint, login: None, trust: None, datacenter: None, guests: vec![] }
}

const CDS: &str = r#"
[commonConfiguration]
url = "http://pages"
rsaPrivateKey = "KEY"
name = "up-here"
[commonConfiguration.api]
token = "one"
tokenV2 = "two"
[commonConfiguration.api.http]
url = "http://cds"
[commonConfiguration.provision]
region = "here"
"#;

#[test]
fn a_simulated_cds_takes_the_place_of_the_real_one_and_all_about_vsphere_stays() {
    let file = r#"
EndPoint = "https://old"
user = "prod"
passwordFile = "/run/secret"
insecure = true
datacenterString = "Paris"
networkString = "ci"
[[defaultWorkerModelsV2]]
workerModelV2 = "A/b/c/d/e"
[[guestCredentials]]
modelVMWare = "debian"
username = "ci"
password = "x"
[commonConfiguration]
Name = "prod-1"
rsaPrivateKeyFile = "/run/key"
[commonConfiguration.cdn]
url = "https://cdn"
[commonConfiguration.api]
tokenFile = "/run/token"
tokenV2 = "old"
requestTimeout = 7
[commonConfiguration.api.HTTP]
url = "https://prod"
insecure = true
[commonConfiguration.provision]
region = "paris"
maxWorker = 3
[commonConfiguration.provision.workerApiHttp]
url = "https://prod"
[commonConfiguration.provision.workerCdn]
url = "https://prod"
"#;
    let expected = r#"
endpoint = "https://vc:443"
user = "prod"
passwordFile = "/run/secret"
insecure = true
datacenterString = "Paris"
networkString = "ci"
[[guestCredentials]]
modelVMWare = "debian"
username = "ci"
password = "x"
[commonConfiguration]
Name = "prod-1"
url = "http://pages"
rsaPrivateKey = "KEY"
[commonConfiguration.api]
token = "one"
tokenV2 = "two"
requestTimeout = 7
[commonConfiguration.api.http]
url = "http://cds"
[commonConfiguration.provision]
region = "paris"
maxWorker = 3
"#;
    check_simulated_cds(file, &elsewhere(), expected);
}

#[test]
fn who_logs_in_and_why_it_is_trusted_replaces_what_the_file_says() {
    let vcenter = |trust| RealVcenter {
        login: Some(login("me@vsphere.local", "50%41")),
        trust,
        datacenter: Some("DC1".to_owned()),
        guests: vec![("debian".to_owned(), login("ci", "g%41"))],
        ..elsewhere()
    };
    let file = "user = \"prod\"\npasswordFile = \"/run/secret\"\ncaFile = \"ca.pem\"\n";
    let expected = |trust: &str| {
        format!(
            "endpoint = \"https://vc:443\"\nuser = \"me@vsphere.local\"\npassword = \"50%2541\"\n\
             datacenterString = \"DC1\"\n{trust}\n[[guestCredentials]]\nmodelVMWare = \"debian\"\nusername = \"ci\"\n\
             password = \"g%41\"\n{CDS}"
        )
    };
    check_simulated_cds(file, &vcenter(Some(Trust::Insecure)), &expected("insecure = true"));
    check_simulated_cds(file, &vcenter(Some(Trust::SystemRoots)), &expected(""));
    check_simulated_cds(file, &vcenter(None), &expected("caFile = \"ca.pem\""));
}

#[test]
fn a_simulated_vcenter_has_none_of_the_places_in_the_file() {
    let file = r#"
[api]
url = "somebody else's"
[hatchery.vsphere]
user = "prod"
passwordFile = "/run/secret"
endpoint = "https://prod"
thumbprint = "AA"
datacenterString = "Paris"
folder = "ci"
resourcePool = "small"
DatastoreString = "fast"
networkString = "ci"
iprange = "192.0.2.0/28"
[[hatchery.vsphere.defaultWorkerModelsV2]]
workerModelV2 = "A/b/c/d/e"
[hatchery.vsphere.commonConfiguration]
name = "prod-1"
[hatchery.vsphere.commonConfiguration.api]
token = "t"
[hatchery.vsphere.commonConfiguration.api.http]
url = "https://prod"
caFile = "ca.pem"
"#;
    let expected = r#"
[api]
url = "somebody else's"
[hatchery.vsphere]
user = "me"
password = "simulated"
endpoint = "http://127.0.0.1:1"
datacenterString = "Rook"
iprange = "192.0.2.0/28"
[[hatchery.vsphere.defaultWorkerModelsV2]]
workerModelV2 = "A/b/c/d/e"
[hatchery.vsphere.commonConfiguration]
name = "prod-1"
url = "http://pages"
[hatchery.vsphere.commonConfiguration.api]
token = "t"
[hatchery.vsphere.commonConfiguration.api.http]
url = "https://cds"
caFile = "ca.pem"
"#;
    let lay = |ours: &mut Table| {
        lay_simulated_vcenter(ours, "http://127.0.0.1:1");
        lay_cds(ours, "https://cds", "http://pages");
    };
    check(file, lay, expected);
}

#[test]
fn a_file_without_our_table_has_nothing_to_lay_over() {
    assert!(ours(&mut table("[hatchery.swarm]\nname = \"x\"")).is_none());
    assert!(ours(&mut table("hatchery = 1")).is_none());
}

#[test]
fn texts_are_found_whatever_the_case_of_their_keys() {
    let file = table("User = \"me\"\nname = \" \"\n[CommonConfiguration.Provision]\nRegion = \"eu\"");
    assert_eq!((text(&file, "user"), text(&file, "name"), text(&file, "none")), (Some("me"), None, None));
    assert_eq!(common(&file, &["provision"], "region"), Some("eu"));
    assert_eq!(common(&file, &["api"], "token"), None);
}
