//! The layers as a whole: who wins, what is reported, what is hidden.

mod problems;
mod secrets;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::*;

const fn key(path: &'static str, kind: Kind) -> Key {
    Key { path, kind, default: None, env: &[], doc: "what it is for" }
}

const SCHEMA: &[Key] = &[
    Key {
        default: Some("https://default"),
        env: &["GOVC_URL", "OTHER_URL"],
        ..key("vcenter.endpoint", Kind::Text)
    },
    Key { env: &["GOVC_INSECURE"], ..key("vcenter.insecure", Kind::Flag) },
    Key { env: &["GOVC_PASSWORD"], ..key("vcenter.password", Kind::Secret) },
    Key { default: Some("15s"), ..key("vcenter.timeout", Kind::Duration) },
    key("pool.warm", Kind::Number),
    key("pool.disk", Kind::Size),
    key("pool.script", Kind::Path),
    key("log-format", Kind::Text),
];

/// A directory with a settings file in it.
struct Place(TempDir);

impl Place {
    fn holding(toml: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("rookery.toml", toml);
        place
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn layers(&self) -> Layers<'static> {
        Layers::new(SCHEMA).file(&self.path("rookery.toml"))
    }

    /// The text without what changes from run to run.
    fn scrub(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "/place")
    }
}

fn vars<const N: usize>(vars: [(&str, &str); N]) -> impl IntoIterator<Item = (String, String)> {
    vars.map(|(name, value)| (name.to_owned(), value.to_owned()))
}

#[test]
fn the_strongest_layer_wins_and_is_named() {
    let place = Place::holding("[vcenter]\nendpoint = \"https://file\"");
    let computed = |layers: Layers<'static>| {
        layers.computed("the URL in GOVC_URL", [("vcenter.endpoint", "https://computed".to_owned())])
    };
    let own = ("ROOKERY_VCENTER__ENDPOINT", "https://own");
    let foreign = ("GOVC_URL", "https://govc");
    let flag = Some("https://flag".to_owned());

    let check = |layers: Layers, value: &str, origin: &str| {
        let settings = layers.resolve().unwrap();
        assert_eq!(settings.text("vcenter.endpoint"), Some(value));
        let shown = settings.origin("vcenter.endpoint").unwrap().to_string();
        assert_eq!(place.scrub(&shown), origin);
    };
    check(Layers::new(SCHEMA), "https://default", "default");
    check(place.layers(), "https://file", "file /place/rookery.toml");
    check(computed(place.layers()), "https://computed", "the URL in GOVC_URL");
    check(computed(place.layers()).env(vars([foreign])), "https://govc", "environment GOVC_URL");
    check(
        place.layers().env(vars([("OTHER_URL", "https://other")])),
        "https://other",
        "environment OTHER_URL",
    );
    check(place.layers().env(vars([("OTHER_URL", "x"), foreign])), "https://govc", "environment GOVC_URL");
    check(
        computed(place.layers()).env(vars([foreign, own])),
        "https://own",
        "environment ROOKERY_VCENTER__ENDPOINT",
    );
    let all = place.layers().env(vars([foreign, own])).flag("vcenter.endpoint", flag.clone());
    check(all, "https://flag", "flag --endpoint");
    let backwards = Layers::new(SCHEMA).flag("vcenter.endpoint", flag).env(vars([foreign, own]));
    check(computed(backwards).file(&place.path("rookery.toml")), "https://flag", "flag --endpoint");
    check(place.layers().flag("vcenter.endpoint", None), "https://file", "file /place/rookery.toml");
    check(place.layers().env(vars([(own.0, "")])), "https://file", "file /place/rookery.toml");
}

#[test]
fn every_kind_is_read_from_a_file_and_from_the_environment() {
    let place = Place::holding(
        r#"
        log-format = "json"
        [vcenter]
        insecure = true
        timeout = "2m"
        [pool]
        warm = 3
        disk = "4GiB"
        script = "launch.sh"
        "#,
    );
    let env = vars([
        ("ROOKERY_LOG_FORMAT", "json"),
        ("GOVC_INSECURE", "1"),
        ("ROOKERY_VCENTER__TIMEOUT", "2m"),
        ("ROOKERY_POOL__WARM", "3"),
        ("ROOKERY_POOL__DISK", "4GiB"),
        ("ROOKERY_POOL__SCRIPT", "launch.sh"),
    ]);
    for layers in [place.layers(), Layers::new(SCHEMA).env(env)] {
        let settings = layers.resolve().unwrap();
        assert_eq!(settings.text("log-format"), Some("json"));
        assert!(settings.flag("vcenter.insecure"));
        assert_eq!(settings.duration("vcenter.timeout"), Some(Duration::from_mins(2)));
        assert_eq!(settings.number("pool.warm"), Some(3));
        assert_eq!(settings.size("pool.disk").map(Size::bytes), Some(4 << 30));
        assert_eq!(settings.path("pool.script").as_deref(), Some(Path::new("launch.sh")));
    }
}

#[test]
fn what_nobody_set_is_absent() {
    let settings = Layers::new(SCHEMA).resolve().unwrap();
    assert!(!settings.flag("vcenter.insecure"));
    assert_eq!(settings.number("pool.warm"), None);
    assert!(settings.secret("vcenter.password").is_none());
    assert_eq!(settings.origin("pool.warm"), None);
}

#[test]
fn a_later_file_is_stronger_key_by_key() {
    let place = Place::holding("[pool]\nwarm = 1\nscript = \"first.sh\"");
    let second = place.write("second.toml", "[pool]\nwarm = 2");
    let settings = place.layers().optional_file(&second).resolve().unwrap();
    assert_eq!(settings.number("pool.warm"), Some(2));
    assert_eq!(settings.path("pool.script").as_deref(), Some(Path::new("first.sh")));
}

#[test]
fn an_optional_file_may_be_missing() {
    let place = Place::holding("");
    assert!(Layers::new(SCHEMA).optional_file(&place.path("missing.toml")).resolve().is_ok());
}

#[test]
fn what_belongs_to_other_parts_of_the_program_is_passed_over() {
    let place = Place::holding("[fulfillment]\nport = 1\n[[hatchery]]\nname = \"x\"");
    let env = vars([("ROOKERY_FULFILLMENT__PORT", "1"), ("ROOKERY_CACHE", "/x"), ("HOME", "/root")]);
    assert!(place.layers().env(env).resolve().is_ok());
}

#[test]
fn an_explanation_lists_each_value_with_its_origin_in_the_order_of_the_schema() {
    let place = Place::holding("[vcenter]\npassword = \"hunter2\"\n[pool]\nwarm = 3");
    let settings = place.layers().flag("vcenter.timeout", Some("90s".to_owned())).resolve().unwrap();
    let lines: Vec<_> = settings
        .explain()
        .into_iter()
        .map(|Explained { path, value, origin, .. }| place.scrub(&format!("{path} = {value} ({origin})")))
        .collect();
    assert_eq!(
        lines,
        [
            "vcenter.endpoint = https://default (default)",
            "vcenter.password = *** (file /place/rookery.toml)",
            "vcenter.timeout = 90s (flag --timeout)",
            "pool.warm = 3 (file /place/rookery.toml)",
        ]
    );
}

#[test]
fn the_process_environment_can_be_read() {
    assert!(environment().any(|(name, _)| name == "PATH"));
}
