//! Secrets: which of value and file wins, and that none is ever shown.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use secrecy::ExposeSecret;

use super::*;

const OWN: &str = "ROOKERY_VCENTER__PASSWORD";
const OWN_FILE: &str = "ROOKERY_VCENTER__PASSWORD_FILE";

fn exposed(settings: &Settings) -> Option<String> {
    settings.secret("vcenter.password").map(|secret| secret.expose_secret().to_owned())
}

#[test]
fn the_stronger_of_a_secret_and_its_file_wins() {
    let place = Place::holding("");
    let file = place.write("secret", "from the file\n");
    let file = file.to_str().unwrap();
    let inline_below = Place::holding("[vcenter]\npassword = \"below\"");
    let file_below = Place::holding(&format!("[vcenter]\npassword-file = {file:?}"));

    let check = |layers: Layers, expected: &str, origin: &str, names_a_file: bool| {
        let settings = layers.resolve().unwrap();
        assert_eq!(exposed(&settings).as_deref(), Some(expected));
        let shown = settings.origin("vcenter.password").unwrap().to_string();
        assert_eq!(place.scrub(&inline_below.scrub(&shown)), origin);
        assert_eq!(settings.path("vcenter.password-file").is_some(), names_a_file);
    };
    check(inline_below.layers(), "below", "file /place/rookery.toml", false);
    check(file_below.layers(), "from the file", "file /place/secret", true);
    check(inline_below.layers().env(vars([(OWN_FILE, file)])), "from the file", "file /place/secret", true);
    check(
        file_below.layers().env(vars([(OWN, "own")])),
        "own",
        "environment ROOKERY_VCENTER__PASSWORD",
        false,
    );
    check(
        Layers::new(SCHEMA).env(vars([("GOVC_PASSWORD", "govc"), (OWN_FILE, file)])),
        "from the file",
        "file /place/secret",
        true,
    );
    let flag =
        file_below.layers().env(vars([(OWN, "own")])).flag("vcenter.password-file", Some(file.to_owned()));
    check(flag, "from the file", "file /place/secret", true);
}

#[test]
fn a_secret_and_its_file_in_one_layer_contradict_each_other() {
    let place = Place::holding("[vcenter]\npassword = \"hunter2\"\npassword-file = \"/nowhere\"");
    let layers = place.layers().env(vars([(OWN, "hunter2"), (OWN_FILE, "/nowhere")]));
    let layers = layers.flag("vcenter.password", Some("hunter2".to_owned()));
    let text = place.scrub(&layers.resolve().unwrap_err().to_string());
    assert_eq!(
        text,
        "2 problems in the settings:
  vcenter.password-file (file /place/rookery.toml): contradicts vcenter.password, which is set in the same place; keep one
  vcenter.password-file (environment ROOKERY_VCENTER__PASSWORD_FILE): contradicts vcenter.password, which is set in the same place; keep one"
    );
}

#[test]
fn an_unreadable_secret_file_is_reported_where_it_was_named() {
    let layers = Layers::new(SCHEMA).env(vars([(OWN_FILE, "/nowhere/secret")]));
    let text = layers.resolve().unwrap_err().to_string();
    assert_eq!(
        text,
        "1 problem in the settings:\n  vcenter.password-file (environment ROOKERY_VCENTER__PASSWORD_FILE): \
         cannot read the secret from /nowhere/secret: No such file or directory (os error 2)"
    );
}

#[test]
fn a_secret_file_that_is_not_used_is_not_read() {
    let layers = Layers::new(SCHEMA).env(vars([(OWN_FILE, "/nowhere/secret")]));
    let settings = layers.flag("vcenter.password", Some("given".to_owned())).resolve().unwrap();
    assert_eq!(exposed(&settings).as_deref(), Some("given"));
}

#[test]
fn a_file_that_shows_a_secret_to_others_is_warned_about() {
    let place = Place::holding("[vcenter]\npassword = \"hunter2\"");
    let secret = place.write("secret", "hunter2");
    let check = |mode, own_file: Option<&Path>, expected: &[&str]| {
        for file in [place.path("rookery.toml"), secret.clone()] {
            set_permissions(file, Permissions::from_mode(mode)).unwrap();
        }
        let flag = own_file.map(|path| path.to_str().unwrap().to_owned());
        let settings = place.layers().flag("vcenter.password-file", flag).resolve().unwrap();
        let warnings: Vec<_> = settings.warnings().iter().map(|warning| place.scrub(warning)).collect();
        assert_eq!(warnings, expected);
    };
    check(0o600, None, &[]);
    check(0o600, Some(&secret), &[]);
    check(0o640, None, &["/place/rookery.toml holds a secret and others may read it (mode 640)"]);
    check(0o644, Some(&secret), &["/place/secret holds a secret and others may read it (mode 644)"]);
}

/// Everything that the settings can print.
fn printed(layers: Layers) -> String {
    let before = format!("{layers:?}");
    match layers.resolve() {
        Ok(settings) => format!("{before} {settings:?} {:?} {:?}", settings.explain(), settings.warnings()),
        Err(problems) => format!("{before} {problems:?} {problems}"),
    }
}

proptest! {
    #[test]
    fn no_secret_is_ever_printed(secret in "SECRET[a-z0-9]{12}", broken: bool) {
        let inline = format!("[vcenter]\npassword = \"{secret}\"\n");
        let place = Place::holding(&inline);
        let file = place.write("file", &format!("{secret}\n"));
        let flag = |path| place.layers().flag(path, Some(secret.clone()));
        let outputs = [
            printed(place.layers().flag("pool.warm", broken.then(|| "x".to_owned()))),
            printed(place.layers().env(vars([("GOVC_PASSWORD", &secret), (OWN, &secret)]))),
            printed(place.layers().flag("vcenter.password-file", Some(file.to_str().unwrap().to_owned()))),
            printed(place.layers().computed("GOVC_URL", [("vcenter.password", secret.clone())])),
            printed(flag("vcenter.password")),
            printed(Layers::new(SCHEMA).file(&place.write("cut.toml", inline.trim_end().trim_end_matches('"')))),
            printed(Layers::new(SCHEMA).file(&place.write("bare.toml", &inline.replace('"', "")))),
            printed(Layers::new(SCHEMA).file(&place.write("list.toml", &format!("vcenter.password = [\"{secret}\"]")))),
            printed(Layers::new(SCHEMA).file(&place.write("twice.toml", &format!("{inline}password = \"{secret}\"")))),
        ];
        for output in outputs {
            prop_assert!(!output.contains(&secret), "{}", output);
        }
    }
}
