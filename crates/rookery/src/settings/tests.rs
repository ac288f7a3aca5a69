//! Which layer wins, what a URL implies, and that all problems are told at once.

use std::fs;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt as _;

use rookery_vim_client::Trust;
use secrecy::ExposeSecret;

use super::*;

fn vars(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn from_env(pairs: &[(&str, &str)]) -> Loaded {
    load(&Sources { vars: vars(pairs), ..Sources::default() })
}

/// A settings file where it is looked for by default, and variables beside it.
fn from_file(toml: &str, pairs: &[(&str, &str)], flags: Connect) -> (tempfile::TempDir, Loaded) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".config/rookery");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("rookery.toml");
    fs::write(&file, toml).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let mut vars = vars(pairs);
    vars.insert("HOME".to_owned(), home.path().to_str().unwrap().to_owned());
    let loaded = load(&Sources { flags, vars, ..Sources::default() });
    (home, loaded)
}

fn check_credentials(loaded: &Loaded, user: &str, password: &str) {
    let vcenter = loaded.vcenter().unwrap();
    assert_eq!((vcenter.user.as_str(), vcenter.password.expose_secret()), (user, password));
}

fn origin(loaded: &Loaded, key: &str) -> String {
    loaded.settings.origin(key).map(ToString::to_string).unwrap_or_default()
}

#[test]
fn govc_variables_are_enough() {
    let url = ("GOVC_URL", "https://administrator@vsphere.local:p%40ss@vc.example.com/sdk");
    let loaded = from_env(&[url, ("GOVC_INSECURE", "true"), ("GOVC_DATACENTER", "/DC0")]);
    let vcenter = loaded.vcenter().unwrap();
    assert_eq!(vcenter.endpoint.to_string(), "https://vc.example.com:443");
    assert_eq!(vcenter.trust, Trust::Insecure);
    assert_eq!(vcenter.datacenter.as_deref(), Some("DC0"));
    check_credentials(&loaded, "administrator@vsphere.local", "p@ss");
    assert_eq!(origin(&loaded, "vcenter.password"), "environment GOVC_URL");

    let loaded = from_env(&[url, ("GOVC_USERNAME", "other"), ("GOVC_PASSWORD", "secret")]);
    check_credentials(&loaded, "other", "secret");
    assert_eq!(loaded.vcenter().unwrap().trust, Trust::SystemRoots);

    let ours = ("ROOKERY_VCENTER__USER", "ours");
    check_credentials(&from_env(&[url, ("GOVC_USERNAME", "other"), ours]), "ours", "p@ss");
}

#[test]
fn a_flag_beats_a_variable_and_a_variable_beats_the_file() {
    let toml =
        "[vcenter]\nendpoint = \"file.example\"\nuser = \"file\"\npassword = \"file\"\ncall-timeout = \"3s\"";
    let (_home, loaded) = from_file(toml, &[], Connect::default());
    check_credentials(&loaded, "file", "file");
    assert_eq!(loaded.vcenter().unwrap().call_timeout.as_secs(), 3);

    let (_home, loaded) =
        from_file(toml, &[("GOVC_URL", "https://url:url@env.example/sdk")], Connect::default());
    assert_eq!(loaded.vcenter().unwrap().endpoint.host(), "env.example");
    check_credentials(&loaded, "url", "url");

    let flags = Connect {
        endpoint: Some("flag.example".to_owned()),
        user: Some("flag".to_owned()),
        ..Connect::default()
    };
    let (_home, loaded) = from_file(toml, &[("GOVC_URL", "https://url:url@env.example/sdk")], flags);
    assert_eq!(loaded.vcenter().unwrap().endpoint.host(), "flag.example");
    check_credentials(&loaded, "flag", "file");
    assert_eq!(origin(&loaded, "vcenter.user"), "flag --user");
}

#[test]
fn credentials_in_the_url_of_a_flag_beat_every_variable_but_not_a_flag_of_their_own() {
    let vars = [("GOVC_USERNAME", "env"), ("GOVC_PASSWORD", "env"), ("ROOKERY_VCENTER__USER", "ours")];
    let endpoint = Some("https://url:inside@flag.example".to_owned());
    let (_home, loaded) = from_file("", &vars, Connect { endpoint: endpoint.clone(), ..Connect::default() });
    check_credentials(&loaded, "url", "inside");
    assert_eq!(origin(&loaded, "vcenter.password"), "flag --endpoint");
    let user = Some("flag".to_owned());
    let (_home, loaded) = from_file("", &vars, Connect { endpoint, user, ..Connect::default() });
    check_credentials(&loaded, "flag", "inside");
}

#[test]
fn credentials_in_the_url_of_a_file_fill_only_what_it_leaves_open() {
    let toml = "[vcenter]\nendpoint = \"https://url:inside@vc\"\nuser = \"written-out\"";
    let (_home, loaded) = from_file(toml, &[], Connect::default());
    check_credentials(&loaded, "written-out", "inside");
    let warning = loaded.warnings().next().unwrap();
    assert!(warning.ends_with("holds a password and others may read it (mode 644)"), "{warning}");
}

#[test]
fn a_known_host_is_trusted_by_its_thumbprint_unless_something_else_decides() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known_hosts");
    let print = "AB:".repeat(31) + "AB";
    fs::write(&file, format!("vc:443 {print}\n")).unwrap();
    let env = [("GOVC_URL", "https://u:p@vc/sdk"), ("GOVC_TLS_KNOWN_HOSTS", file.to_str().unwrap())];
    let loaded = from_env(&env);
    assert_eq!(loaded.vcenter().unwrap().trust, Trust::Thumbprint(print.parse().unwrap()));
    assert!(origin(&loaded, "vcenter.thumbprint").ends_with("known_hosts (GOVC_TLS_KNOWN_HOSTS)"));

    let loaded = from_env(&[env[0], env[1], ("GOVC_INSECURE", "1")]);
    assert_eq!(loaded.vcenter().unwrap().trust, Trust::Insecure);

    let loaded = from_env(&[env[0], ("GOVC_TLS_KNOWN_HOSTS", "/nowhere")]);
    assert_eq!(loaded.vcenter().unwrap().trust, Trust::SystemRoots);
    assert_eq!(loaded.warnings().count(), 1);
}

#[test]
fn all_problems_are_told_at_once() {
    let toml = "[vcenter]\ncall-timeout = \"0s\"\nthumbprint = \"AA:BB\"\nendpiont = \"x\"";
    let env = [("GOVC_URL", "ftp://vc"), ("GOVC_INSECURE", "1"), ("GOVC_TLS_CA_CERTS", "/nowhere/ca.pem")];
    let (home, loaded) = from_file(toml, &env, Connect::default());
    let text = loaded.vcenter().unwrap_err().to_string().replace(home.path().to_str().unwrap(), "HOME");
    insta::assert_snapshot!(text, @r"
    8 problems in the settings:
      vcenter.endpiont (file HOME/.config/rookery/rookery.toml): unknown key; did you mean vcenter.endpoint?
      vcenter.endpoint (environment GOVC_URL): ftp:// is not supported: use https:// (or http:// for a simulator)
      vcenter.user: is not set; give --user, GOVC_USERNAME, ROOKERY_VCENTER__USER or the key in a settings file
      vcenter.password: is not set; give --password-file, GOVC_PASSWORD, ROOKERY_VCENTER__PASSWORD or the key in a settings file
      vcenter.ca-file (environment GOVC_TLS_CA_CERTS): /nowhere/ca.pem cannot be read: No such file or directory (os error 2)
      vcenter.thumbprint (file HOME/.config/rookery/rookery.toml): a thumbprint is the certificate's SHA-256: 64 hexadecimal digits, with or without colons
      vcenter.ca-file (environment GOVC_TLS_CA_CERTS): contradicts vcenter.thumbprint (file HOME/.config/rookery/rookery.toml) and vcenter.insecure (environment GOVC_INSECURE): keep only one of them
      vcenter.call-timeout (file HOME/.config/rookery/rookery.toml): must be more than zero
    ");
}

#[test]
fn a_limit_of_calls_is_a_whole_number_above_nothing() {
    let with = |limit: &str| {
        let variable = ("ROOKERY_VCENTER__CALLS_PER_SECOND", limit);
        let loaded = from_env(&[("GOVC_URL", "https://me:secret@vc"), variable]);
        loaded.vcenter().map(|vcenter| vcenter.calls_per_second.map(NonZeroU32::get)).ok()
    };
    assert_eq!(with(""), Some(None));
    assert_eq!(with("20"), Some(Some(20)));
    for wrong in ["0", "-1", "2.5", "4294967296", "many"] {
        assert_eq!(with(wrong), None, "{wrong}");
    }
}

#[test]
fn a_secret_that_cannot_be_read_is_not_reported_as_missing_too() {
    let flags = Connect { password_file: Some("/nowhere/password".to_owned()), ..Connect::default() };
    let vars = vars(&[("GOVC_URL", "vc"), ("GOVC_USERNAME", "me")]);
    let loaded = load(&Sources { flags, vars, ..Sources::default() });
    insta::assert_snapshot!(loaded.vcenter().unwrap_err(), @r"
    1 problem in the settings:
      vcenter.password-file (flag --password-file): cannot read the secret from /nowhere/password: No such file or directory (os error 2)
    ");
}

#[test]
fn that_nothing_is_configured_is_told_apart_from_half_a_configuration() {
    assert!(!from_env(&[]).names_a_vcenter());
    assert!(!from_env(&[("HOME", "/nowhere")]).names_a_vcenter());
    assert!(!from_env(&[("GOVC_INSECURE", "1")]).names_a_vcenter());
    assert!(from_env(&[("GOVC_USERNAME", "me")]).names_a_vcenter());
    assert!(from_env(&[("GOVC_INSECURE", "perhaps")]).names_a_vcenter());
    assert!(from_env(&[("ROOKERY_CONFIG", "/nowhere.toml")]).names_a_vcenter());
    insta::assert_snapshot!(from_env(&[]).vcenter().unwrap_err(), @r"
    3 problems in the settings:
      vcenter.endpoint: is not set; give --endpoint, GOVC_URL, ROOKERY_VCENTER__ENDPOINT or the key in a settings file
      vcenter.user: is not set; give --user, GOVC_USERNAME, ROOKERY_VCENTER__USER or the key in a settings file
      vcenter.password: is not set; give --password-file, GOVC_PASSWORD, ROOKERY_VCENTER__PASSWORD or the key in a settings file
    ");
}

#[test]
fn what_is_unwise_is_warned_about() {
    let warnings = |endpoint: &str| {
        let flags = Connect { endpoint: Some(endpoint.to_owned()), ..Connect::default() };
        load(&Sources { flags, ..Sources::default() }).warnings().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(warnings("https://vc"), [""; 0]);
    assert_eq!(warnings("http://127.0.0.1:8989"), [""; 0]);
    assert_eq!(warnings("http://vc"), ["the password travels to http://vc:80 unprotected"]);
    assert_eq!(
        warnings("u:p@vc"),
        ["everybody on this machine can read the password in an address that is a flag"]
    );
}
