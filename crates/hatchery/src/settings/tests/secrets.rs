//! Secrets come from the file or from files of their own, and are shown nowhere.

use std::fmt::Write;

use secrecy::ExposeSecret;

use super::samples::SAMPLES;
use super::*;
use crate::settings::{Effective, load_file, reported};

fn is_secret(key: &Key) -> bool {
    matches!((key.value)(&read(MINIMAL).unwrap().settings), Effective::Secret(_))
}

/// Replaces a key by its companion that names a file.
fn moved_to_file(file: &mut Table, path: &str, name: &str) {
    remove(file, path).unwrap();
    let (at, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut table = file;
    for part in at.split('.').filter(|part| !part.is_empty()) {
        table = inner(&mut table[part.trim_end_matches("[]")]).unwrap();
    }
    table.insert(format!("{last}File"), Value::String(name.to_owned()));
}

#[test]
fn each_secret_can_be_in_a_file_of_its_own() {
    let mut seen = vec![];
    for (key, (path, fragment, expected)) in all_keys().zip(SAMPLES).filter(|(key, _)| is_secret(key)) {
        let mut file = with(fragment);
        moved_to_file(&mut file, path, &format!("/secrets/{expected}"));
        let loaded = read(&file.to_string()).unwrap_or_else(|problems| panic!("{path}: {problems}"));
        assert_eq!((key.value)(&loaded.settings).text(), *expected, "{path}");
        assert_eq!(loaded.unknown, [], "{path}");

        let mut lost = with(fragment);
        moved_to_file(&mut lost, path, "/nowhere/secret");
        let problems = lines(&lost.to_string());
        let told =
            format!("{}File: cannot read the secret from /nowhere/secret: ", path.replace("[]", "[0]"));
        assert!(problems.len() == 1 && problems[0].starts_with(&told), "{path}: {problems:?}");

        seen.push(*path);
    }
    assert_eq!(
        seen,
        [
            "password",
            "guestCredentials[].password",
            "models[].password",
            "commonConfiguration.rsaPrivateKey",
            "commonConfiguration.api.token",
            "commonConfiguration.api.tokenV2",
            "commonConfiguration.provision.workerLogsOptions.graylog.extraValue",
        ]
    );
}

#[test]
fn a_secret_is_given_once() {
    let problems = lines(&with("passwordFile = '/secrets/other'").to_string());
    assert_eq!(problems, ["passwordFile: password is set too; give the secret once"]);
    let problems = lines(&with("commonConfiguration.api.tokenV2File = '/secrets/other'").to_string());
    let path = "commonConfiguration.api.tokenV2";
    assert_eq!(problems, [format!("{path}File: {path} is set too; give the secret once")]);
}

#[test]
fn user_and_password_are_decoded_as_the_go_hatchery_has_them() {
    let load = |fragment: &str| read(&with(fragment).to_string()).unwrap();
    let loaded = load(
        r"password = 'a%40b%25'
        user = 'DOMAIN%5Ccds'",
    );
    assert_eq!(loaded.settings.vcenter.password.expose_secret(), "a@b%");
    assert_eq!(loaded.settings.vcenter.user, r"DOMAIN\cds");
    assert_eq!(
        warnings(&loaded),
        [
            "user: is percent-encoded, as the Go hatchery needs it, and was decoded",
            "password: is percent-encoded, as the Go hatchery needs it, and was decoded; \
             in passwordFile it is taken as it stands",
        ]
    );
    for literal in ["100%", "a%zzb", "50%25%", "plain", "%ff", "%é"] {
        let loaded = load(&format!("password = '{literal}'"));
        assert_eq!(loaded.settings.vcenter.password.expose_secret(), literal);
        assert_eq!(loaded.warnings, []);
    }
    let mut file = with("passwordFile = '/secrets/a%40b'");
    file.remove("password");
    for inline in [None, Some("")] {
        file.extend(inline.map(|text| ("password".to_owned(), Value::String(text.to_owned()))));
        assert_eq!(read(&file.to_string()).unwrap().settings.vcenter.password.expose_secret(), "a%40b");
    }
}

#[test]
fn addresses_that_hold_a_password_are_refused_without_repeating_it() {
    for (fragment, path) in [
        ("endpoint = 'https://me:s3cr3t@vc/sdk'", "endpoint"),
        ("endpoint = 'me:s3/cr3t@vc'", "endpoint"),
        ("commonConfiguration.api.http.url = 'https://me:s3cr3t@cds'", "commonConfiguration.api.http.url"),
        ("commonConfiguration.cdn.tcp.url = 'me:s3cr3t@cdn:1'", "commonConfiguration.cdn.tcp.url"),
    ] {
        let problems = lines(&with(fragment).to_string());
        assert!(
            problems.len() == 1 && problems[0].starts_with(&format!("{path}: holds a user")),
            "{problems:?}"
        );
        assert!(!problems[0].contains("cr3t"), "{problems:?}");
    }
}

#[test]
fn no_secret_is_shown_anywhere() {
    let mut file = with("");
    for (_, fragment, _) in SAMPLES.iter().filter(|(path, ..)| !["caFile", "insecure"].contains(path)) {
        let mut fragment: Table = fragment.parse().unwrap();
        if let Some(Value::Table(common)) = fragment.get_mut("commonConfiguration")
            && let Some(Value::Table(api)) = common.get_mut("api")
        {
            api.remove("http");
        }
        merge(&mut file, fragment);
    }
    merge(&mut file, "commonConfiguration.provision.injectEnvVars = ['A=variable-value']".parse().unwrap());
    let loaded = read(&file.to_string()).unwrap();
    let mut shown = format!("{loaded:?}\n{}", reported(&loaded.settings));
    for key in all_keys() {
        let value = (key.value)(&loaded.settings);
        writeln!(shown, "{value} {value:?}").unwrap();
    }
    let mut looked_for = 0;
    for key in all_keys().filter(|key| is_secret(key)) {
        let value = (key.value)(&loaded.settings);
        for line in value.text().lines().filter(|line| !line.starts_with("-----")) {
            assert!(!shown.contains(line), "{} is shown", key.path);
            looked_for += 1;
        }
    }
    assert_eq!(looked_for, 6);
    assert!(!shown.contains("variable-value"), "a variable is shown");
}

#[test]
fn a_file_is_read_with_the_secrets_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("password");
    std::fs::write(&secret, "from-file\n").unwrap();
    std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let mut file = with("");
    moved_to_file(&mut file, "password", secret.to_str().unwrap());
    let path = dir.path().join("h.toml");
    std::fs::write(&path, file.to_string()).unwrap();

    let mode = |mode| {
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let loaded = load_file(&path).unwrap();
        assert_eq!(loaded.settings.vcenter.password.expose_secret(), "from-file");
        let exposed =
            loaded.warnings.into_iter().filter(|warning| warning.message.contains("others may read"));
        exposed.map(|warning| warning.to_string()).collect::<Vec<_>>()
    };
    let exposed = |file: &std::path::Path| {
        format!("{}: holds a secret and others may read it (mode 644)", file.display())
    };
    assert_eq!(mode(0o600), [exposed(&secret)]);
    assert_eq!(mode(0o644), [exposed(&path), exposed(&secret)], "its tokens stand in the file itself");

    let missing =
        load_file(&dir.path().join("none.toml")).map(|loaded| loaded.settings).unwrap_err().to_string();
    assert!(missing.contains("none.toml: cannot be read: No such file"), "{missing}");
}
