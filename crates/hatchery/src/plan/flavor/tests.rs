use proptest::prelude::*;
use rookery_fleet::Hardware;

use super::*;

fn flavor(name: &str, cpus: u32, memory_mb: u64) -> Flavor {
    Flavor { name: name.to_owned(), hardware: Hardware::new(cpus, memory_mb), disk_gb: None }
}

/// The example of the amendment.
fn three() -> Flavors {
    Flavors::new([flavor("small", 2, 4096), flavor("Medium", 4, 8192), flavor("large", 8, 16384)])
        .expect("flavors")
}

#[test]
fn the_nearest_wish_wins() {
    let asked = |runs_on, spec, v1_model, requirement| FlavorSources { runs_on, spec, v1_model, requirement };
    for (asked, default, expected) in [
        (asked(Some("small"), Some("medium"), None, Some("large")), Some("large"), Some("small")),
        (asked(None, Some("medium"), None, Some("large")), Some("small"), Some("Medium")),
        (asked(None, None, Some("small"), Some("large")), Some("medium"), Some("small")),
        (asked(None, None, Some(""), Some("LARGE")), Some("medium"), Some("large")),
        (asked(None, None, None, Some("large")), Some("small"), Some("large")),
        (asked(Some(""), Some(""), None, None), Some("small"), Some("small")),
        (asked(None, None, None, None), Some(""), None),
        (asked(None, None, None, None), None, None),
    ] {
        let expected = expected
            .map_or(Choice::None, |name| Choice::Flavor(three().get(name).cloned().expect("a flavor")));
        assert_eq!(choose(&three(), &asked, default), expected, "{asked:?}");
    }
}

#[test]
fn an_unknown_name_is_refused_only_where_flavors_are_configured() {
    let asked = FlavorSources { requirement: Some("Huge"), ..FlavorSources::default() };
    assert_eq!(choose(&three(), &asked, Some("small")), Choice::Unknown("Huge".to_owned()));
    assert_eq!(choose(&Flavors::default(), &asked, None), Choice::Ignored("Huge".to_owned()));
    assert_eq!(
        choose(&Flavors::default(), &FlavorSources::default(), Some("x")),
        Choice::Ignored("x".to_owned())
    );
}

/// What one of those who may ask for a flavor says.
fn any_wish() -> impl Strategy<Value = Option<&'static str>> {
    proptest::sample::select(vec![None, Some(""), Some("small"), Some("MEDIUM"), Some("huge")])
}

proptest! {
    #[test]
    fn whoever_speaks_first_is_heard_and_nobody_else(
        wishes in (any_wish(), any_wish(), any_wish(), any_wish(), any_wish())
    ) {
        let (runs_on, v1_model, spec, requirement, default) = wishes;
        let chosen = choose(&three(), &FlavorSources { runs_on, spec, v1_model, requirement }, default);
        let said = |wish: Option<&'static str>| wish.filter(|name| !name.is_empty());
        let first = said(runs_on).or(said(v1_model)).or(said(spec)).or(said(requirement)).or(said(default));
        let expected = match first {
            None => Choice::None,
            Some("huge") => Choice::Unknown("huge".to_owned()),
            Some(name) => Choice::Flavor(three().get(name).cloned().expect("a flavor")),
        };
        prop_assert_eq!(chosen, expected);
    }
}
