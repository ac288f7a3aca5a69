//! `rookery doctor`: everything that is wrong, in one run.

use rookery_daemon::Supervisor;
use rookery_kit::{Govc, Outcome, Program, Proxy, Terminal, Vcsim, VcsimOptions, eventually, rookery};
use serde_json::Value;
use tokio::net::TcpListener;

use super::{id_of, json};

const TEMPLATE: &str = "DC0_C0_RP1_VM0";

/// A cluster with a pool of its own, and a cluster of datastores.
fn world() -> VcsimOptions {
    VcsimOptions::default().with("-pool=1").with("-pod=1").with("-ds=2").with("-tls=false")
}

/// A VM as one wants it for linked clones.
async fn prepare(govc: &Govc) {
    govc.run(&["vm.power", "-off", TEMPLATE]).await;
    govc.run(&["vm.change", "-vm", TEMPLATE, "-e", "SET.guest.toolsVersionStatus2=guestToolsCurrent"]).await;
    govc.run(&["snapshot.create", "-vm", TEMPLATE, "-m=false", "base"]).await;
}

const RIGHT: [&str; 13] = [
    "doctor",
    "--datacenter",
    "DC0",
    "--datastore=LocalDS_0",
    "--network=VM Network",
    "--network=DC0_DVPG0",
    "--pool=DC0_C0_RP1",
    "--folder=/DC0/vm",
    "--template",
    TEMPLATE,
    "--template",
    "/DC0/vm/DC0_C0_RP1_VM0",
    "-ojson",
];

/// Of a check, its state and what was seen.
fn check<'a>(checks: &'a Value, check: &str, about: &str) -> (&'a str, &'a str) {
    let mut all = checks.as_array().expect("a list").iter();
    let is_it = |row: &&Value| row["check"] == check && row["about"].as_str().unwrap_or_default() == about;
    let row = all.find(is_it).unwrap_or_else(|| panic!("no {check} {about} in {checks:#}"));
    (row["state"].as_str().expect("a state"), row["seen"].as_str().expect("a text"))
}

/// The checks that are in a state, by what they are and what they are about.
fn of_state(checks: &Value, state: &str) -> Vec<String> {
    let rows = checks.as_array().expect("a list").iter().filter(|row| row["state"] == state);
    let name = |row: &Value| {
        format!("{} {}", row["check"].as_str().expect("a name"), row["about"].as_str().unwrap_or_default())
    };
    rows.map(|row| name(row).trim_end().to_owned()).collect()
}

fn with_code(outcome: Outcome, code: i32) -> String {
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(code), ""), "{}", outcome.stdout);
    outcome.stdout
}

#[tokio::test]
async fn where_everything_is_right_there_are_no_problems() {
    let options = VcsimOptions::default().with("-pool=1").with("-pod=1").with("-ds=2").with("-issue=valid");
    let vcsim = Vcsim::start(options).await;
    let govc = Govc::new(&vcsim);
    prepare(&govc).await;
    let authority = vcsim.ca_file().to_str().expect("a plain path").to_owned();
    let program = Program::against(&vcsim, &RIGHT).without("GOVC_INSECURE").and(&["--ca-file", &authority]);
    let checks = json(program.run().await);
    assert_eq!(of_state(&checks, "problem"), Vec::<String>::new(), "{checks:#}");
    assert_eq!(of_state(&checks, "skipped"), Vec::<String>::new(), "{checks:#}");
    // Its certificate is for two days, and vcsim speaks 6.5.
    let about = govc.json(&["about"]).await;
    let is_old = about["about"]["apiVersion"].as_str().expect("a version").starts_with("6.5");
    let warnings: &[&str] = if is_old { &["TLS", "API version"] } else { &["TLS"] };
    assert_eq!(of_state(&checks, "warning"), warnings, "{checks:#}");
    let (_, tls) = check(&checks, "TLS", "");
    let thumbprint = govc.run(&["about.cert", "-k", "-thumbprint"]).await;
    let thumbprint = thumbprint.split_whitespace().last().expect("a thumbprint");
    for word in [
        "verified by the authorities in ",
        &authority,
        "a certificate for 127.0.0.1, ",
        thumbprint,
        "it expires soon",
    ] {
        assert!(tls.contains(word), "{word} is not in {tls}");
    }
    let free = govc.json(&["datastore.info", "LocalDS_0"]).await;
    let free = free["datastores"][0]["summary"]["freeSpace"].as_i64().expect("bytes") >> 30;
    let (_, seen) = check(&checks, "datastore", "LocalDS_0");
    assert!(seen.contains(&format!("{free} GiB free of ")), "{seen}");
    assert_eq!(check(&checks, "snapshot", TEMPLATE).0, "ok");
    assert_eq!(check(&checks, "disks", TEMPLATE).1, "1 on LocalDS_0");
    assert_eq!(check(&checks, "VMware Tools", "/DC0/vm/DC0_C0_RP1_VM0").0, "ok");
    assert_eq!(check(&checks, "VirtualMachine.Inventory.Delete", "/DC0/vm").0, "ok");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_in_one_run() {
    let vcsim = Vcsim::start(world().without_tools()).await;
    let govc = Govc::new(&vcsim);
    let about = govc.json(&["about"]).await;
    let product = about["about"]["fullName"].as_str().expect("a name");
    let supervisor = Supervisor::new();
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    proxy.rewrite("CurrentTime", "<returnval>20", "<returnval>19");
    proxy.rewrite("RetrieveServiceContent", ">VirtualCenter<", ">HostAgent<");
    let program = Program::against(&vcsim, &["doctor", "--datacenter=DC9", "--datastore=LocalDS_9"])
        .with("GOVC_URL", proxy.address())
        .and(&["--network=VM Netwrok", "--network=other", "--pool=DC0_C0_RP9", "--folder=datastore"])
        .and(&["--template=DC0_H0_VM7", "--template=DC0_H0_VM0"]);
    let told = with_code(program.clone().run().await, 1);
    for words in [
        &format!("\nPROBLEM  product: {product} is a single ESXi host, which cannot clone\n"),
        "\nPROBLEM  clock: vCenter is 31",
        "\nPROBLEM  datacenter DC9: there is none of this name\n           there are: /DC0\n",
        "\nPROBLEM  datastore LocalDS_9: there is none of this name\n           there are: /DC0/datastore/LocalDS_",
        "\nPROBLEM  network VM Netwrok: there is none of this name\n           there are: /DC0/network/VM Network, ",
        "\nPROBLEM  network other: there is none of this name\n",
        "\nPROBLEM  resource pool DC0_C0_RP9: there is none of this name\n           there are: /DC0/host/DC0_C0/",
        "\nPROBLEM  folder datastore: /DC0/datastore is no folder for VMs\n",
        "\nPROBLEM  template DC0_H0_VM7: there is no VM or template of this name\n           perhaps one of these is meant: DC0_H0_VM0, ",
        "\nwarning  template DC0_H0_VM0: /DC0/vm/DC0_H0_VM0, a VM that is on",
        "\n           `rookery vm power off DC0_H0_VM0`\n",
        "\nPROBLEM  template DC0_H0_VM0, VMware Tools: not installed\n",
        "\n           `rookery vm snapshot take DC0_H0_VM0 base`\n",
        "\nskipped  privileges on DC0_C0_RP9: not checked, because it was not found\n",
        "\n10 problems, ",
    ] {
        assert!(told.contains(words), "{words:?} is not in {told}");
    }
    let checks: Value =
        serde_json::from_str(&with_code(program.and(&["-o", "json"]).run().await, 1)).expect("JSON");
    assert_eq!(of_state(&checks, "problem").len(), 10, "{checks:#}");
    assert_eq!(govc.sessions().await, Vec::<String>::new());
}

#[tokio::test]
async fn each_missing_privilege_is_told_by_name_and_only_problems_fail() {
    let vcsim = Vcsim::start(world()).await;
    let supervisor = Supervisor::new();
    let doctor = async |privileges: &[&str], code| {
        let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
        for privilege in privileges {
            let granted = |is: bool| format!("<privId>{privilege}</privId><isGranted>{is}</isGranted>");
            proxy.rewrite("HasPrivilegeOnEntities", &granted(true), &granted(false));
        }
        let program = Program::against(&vcsim, &["doctor"]).with("GOVC_URL", proxy.address());
        with_code(program.run().await, code)
    };
    // Nothing is named: all is asked of the datacenter.
    let told = doctor(&[], 0).await;
    assert!(told.contains("privileges on /DC0: granted\n") && told.contains("\n0 problems, "), "{told}");
    let told = doctor(&["Datastore.Browse"], 0).await;
    let words =
        "\nwarning  Datastore.Browse on /DC0: missing; only needed for finding ISO images on the datastore\n";
    assert!(told.contains(words) && told.contains("\n0 problems, "), "{told}");
    let told = doctor(&["Network.Assign", "VirtualMachine.Inventory.Delete"], 1).await;
    for words in [
        "\nPROBLEM  Network.Assign on /DC0: missing; needed for connecting VMs to the network\n           add it to the",
        "\nPROBLEM  VirtualMachine.Inventory.Delete on /DC0: missing; needed for removing VMs\n",
        "\n2 problems, ",
    ] {
        assert!(told.contains(words), "{words:?} is not in {told}");
    }
    // A server that knows nothing of such questions has not granted anything.
    let proxy = Proxy::start(vcsim.socket(), &supervisor).await;
    proxy.rewrite("RetrieveServiceContent", "authorizationManager", "somethingElse");
    let told =
        with_code(Program::against(&vcsim, &["doctor"]).with("GOVC_URL", proxy.address()).run().await, 0);
    assert!(told.contains("\nwarning  privileges on /DC0: unknown: this server cannot be asked\n"), "{told}");
    assert!(!told.contains("granted"), "{told}");
}

#[tokio::test]
async fn the_way_to_vcenter_is_examined_even_if_it_leads_nowhere() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let govc = Govc::new(&vcsim);
    let doctor = Program::against(&vcsim, &["doctor", "--datastore=LocalDS_0"]);
    let check = async |program: Program, words: &[&str]| {
        let told = with_code(program.run().await, 1);
        for word in words {
            assert!(told.contains(word), "{word:?} is not in {told}");
        }
        assert!(
            told.contains("\nskipped  datastore LocalDS_0: not checked, because there is no session\n"),
            "{told}"
        );
        assert!(told.contains("\n1 problem, "), "{told}");
        assert_eq!(govc.sessions().await, Vec::<String>::new());
    };
    let words = ["ok       address: ", "PROBLEM  login: vCenter refused the user name or password of user\n"];
    check(doctor.clone().with("GOVC_PASSWORD", "wrong"), &words).await;

    let thumbprint = govc.run(&["about.cert", "-k", "-thumbprint"]).await;
    let thumbprint = thumbprint.split_whitespace().last().expect("a thumbprint");
    let pin = format!("vcenter.thumbprint = \"{thumbprint}\"");
    let words =
        ["PROBLEM  TLS: the server's certificate ", " it shows a certificate for ", &pin, "skipped  login: "];
    check(doctor.clone().without("GOVC_INSECURE"), &words).await;
    let wrong = doctor.clone().without("GOVC_INSECURE").and(&["--thumbprint", &"ab".repeat(32)]);
    check(wrong, &["PROBLEM  TLS: the server is not the one that was pinned; it shows ", thumbprint]).await;

    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let socket = listener.local_addr().expect("bound").to_string();
    drop(listener);
    let closed = format!("PROBLEM  address: {socket} does not accept connections");
    check(doctor.clone().with("GOVC_URL", &socket), &[&closed, "skipped  TLS: ", "skipped  login: "]).await;

    // A web server, which is no vCenter.
    let supervisor = Supervisor::new();
    let other = Vcsim::start(VcsimOptions::plain(1)).await;
    let proxy = Proxy::start(other.socket(), &supervisor).await;
    proxy.rewrite("RetrieveServiceContent", "Envelope", "html");
    let words = ["PROBLEM  login: something answers, but not as a vCenter does"];
    check(doctor.with("GOVC_URL", proxy.address()), &words).await;
}

#[tokio::test]
async fn blind_trust_is_a_warning_with_the_pin_that_ends_it() {
    let vcsim = Vcsim::start(VcsimOptions::tls(1)).await;
    let told = with_code(Program::against(&vcsim, &["doctor"]).run().await, 0);
    let pin = told.split("vcenter.thumbprint = \"").nth(1).and_then(|rest| rest.split('"').next());
    let pinned = Program::against(&vcsim, &["doctor", "-o", "json"]).without("GOVC_INSECURE");
    let checks = json(pinned.and(&["--thumbprint", pin.expect("a pin")]).run().await);
    assert_eq!(check(&checks, "TLS", "").0, "ok", "{checks:#}");
}

/// Where the same names are in two datacenters.
#[tokio::test]
async fn a_name_means_what_it_means_in_its_datacenter() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1).with("-dc=2")).await;
    let govc = Govc::new(&vcsim);
    for datacenter in ["DC0", "DC1"] {
        let id = id_of(&govc, &format!("{datacenter}_H0_VM0")).await;
        govc.run(&["object.rename", &format!("VirtualMachine:{id}"), "golden"]).await;
    }
    let doctor = async |arguments: &[&str]| {
        let program =
            Program::against(&vcsim, &["doctor", "-ojson", "--network=VM Network", "--template=golden"]);
        serde_json::from_str::<Value>(&program.and(arguments).run().await.stdout).expect("JSON")
    };
    let checks = doctor(&["--datacenter=DC1"]).await;
    assert!(check(&checks, "network", "VM Network").1.starts_with("/DC1/network/VM Network"), "{checks:#}");
    assert!(check(&checks, "template", "golden").1.starts_with("/DC1/vm/golden"), "{checks:#}");
    let checks = doctor(&[]).await;
    assert_eq!(check(&checks, "network", "VM Network").0, "problem");
    assert_eq!(check(&checks, "template", "golden").1, "2 VMs have this name");
    let checks = doctor(&["--datacenter=DC2"]).await;
    assert_eq!(of_state(&checks, "problem"), ["datacenter DC2"], "{checks:#}");
    assert_eq!(check(&checks, "network", "VM Network").0, "skipped");
    assert_eq!(check(&checks, "template", "golden").0, "skipped");
}

#[tokio::test]
async fn a_template_and_a_vm_are_cloned_by_different_privileges() {
    let vcsim = Vcsim::start(VcsimOptions::plain(2).without_tools()).await;
    let govc = Govc::new(&vcsim);
    govc.run(&["vm.power", "-off", "DC0_H0_VM0"]).await;
    govc.run(&["vm.markastemplate", "DC0_H0_VM0"]).await;
    let program =
        Program::against(&vcsim, &["doctor", "-ojson", "--template=DC0_H0_VM0", "--template=DC0_H0_VM1"]);
    let checks: Value = serde_json::from_str(&with_code(program.run().await, 1)).expect("JSON");
    assert_eq!(check(&checks, "template", "DC0_H0_VM0"), ("ok", "/DC0/vm/DC0_H0_VM0, a template"));
    assert_eq!(check(&checks, "template", "DC0_H0_VM1").0, "warning", "it is on");
    let granted = of_state(&checks, "ok");
    let is_asked = |privilege: &str, name: &str| {
        granted.contains(&format!("VirtualMachine.Provisioning.{privilege} /DC0/vm/{name}"))
    };
    assert!(is_asked("DeployTemplate", "DC0_H0_VM0") && !is_asked("Clone", "DC0_H0_VM0"), "{granted:?}");
    assert!(is_asked("Clone", "DC0_H0_VM1") && !is_asked("DeployTemplate", "DC0_H0_VM1"), "{granted:?}");
}

#[tokio::test]
async fn a_cluster_of_datastores_is_taken_for_a_datastore() {
    let vcsim = Vcsim::start(world()).await;
    let govc = Govc::new(&vcsim);
    let program = Program::against(&vcsim, &["doctor", "-ojson", "--datastore=DC0_POD0"]);
    let empty: Value = serde_json::from_str(&with_code(program.clone().run().await, 1)).expect("JSON");
    assert!(check(&empty, "datastore", "DC0_POD0").1.contains("without datastores"), "{empty:#}");
    govc.run(&["object.mv", "/DC0/datastore/LocalDS_1", "/DC0/datastore/DC0_POD0"]).await;
    let checks = json(program.run().await);
    assert!(check(&checks, "datastore", "DC0_POD0").1.contains("DC0_POD0, "), "{checks:#}");
}

#[tokio::test]
async fn every_privilege_that_is_asked_for_exists() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let roles = Govc::new(&vcsim)
        .json(&["object.collect", "AuthorizationManager:AuthorizationManager", "roleList"])
        .await;
    let roles = roles[0]["val"]["_value"].as_array().expect("a list").clone();
    let admin = roles.iter().find(|role| role["name"] == "Admin").expect("an administrator");
    let known: Vec<&str> =
        admin["privilege"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    // Nothing is named: all of them are asked of the datacenter.
    let checks = json(rookery(&vcsim, &["doctor", "-o", "json"]).await);
    let asked = checks.as_array().expect("a list").iter().filter(|row| row["group"] == "privileges");
    let asked: Vec<&str> = asked.filter_map(|row| row["check"].as_str()).collect();
    assert!(asked.len() > 30, "{asked:?}");
    let strange: Vec<_> = asked.iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(strange, Vec::<&&str>::new());
}

#[tokio::test]
async fn a_terminal_shows_marks() {
    let vcsim = Vcsim::start(VcsimOptions::plain(1)).await;
    let program = Program::against(&vcsim, &["doctor"]).with("TERM", "xterm-256color");
    let shown = async |program: &Program| {
        let terminal = Terminal::start(program, 120, 50);
        eventually("it has ended", || async { terminal.exit_code().is_some() }).await;
        assert_eq!(terminal.exit_code(), Some(0));
        terminal.screen()
    };
    let screen = shown(&program).await;
    for line in ["\n✓ login: as user\n", "\n! TLS: ", "\n– datastore: "] {
        assert!(screen.contains(line), "{line:?} is not in {screen}");
    }
    let warnings = screen.lines().filter(|line| line.starts_with("! ")).count();
    assert!(screen.contains(&format!("\n0 problems, {warnings} warning")), "{screen}");
    let screen = shown(&program.with("NO_COLOR", "1")).await;
    assert!(screen.contains("\nok       login: as user\n"), "{screen}");
}
