//! Who acts inside guests: the keys of `[guest]` and their checked form.

use rookery_daemon::settings::{Key, Kind, Problems, Settings};
use rookery_vim_client::GuestUser;

use crate::vcenter::check::{present, secret};
use crate::vcenter::key;

/// govc's variable for both: `user:password`.
pub(crate) const GOVC_LOGIN: &str = "GOVC_GUEST_LOGIN";

/// The settings of guests.
pub(crate) const KEYS: &[Key] = &[
    key("guest.user", Kind::Text, "who acts inside guests"),
    key("guest.password", Kind::Secret, "that user's password"),
];

/// What govc's variable says. The password may contain colons, the user may not.
pub(crate) fn implied(login: &str) -> Vec<(&'static str, String)> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let said = [("guest.user", user), ("guest.password", password)];
    said.into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| (key, value.to_owned()))
        .collect()
}

/// The user of guests, or what is missing. Only commands that need one ask.
pub(crate) fn check(settings: &Settings) -> Result<GuestUser, Problems> {
    let mut problems = Problems::default();
    let name = present(settings, &mut problems, "guest.user");
    let password = secret(settings, &mut problems, "guest.password");
    let user = name.zip(password).map(|(name, password)| GuestUser { name, password });
    user.ok_or_else(|| settings.locate(problems))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use crate::settings::{Sources, load};

    fn check(vars: &[(&str, &str)], expected: Result<(&str, &str), &str>) {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let loaded = load(&Sources { vars, ..Sources::default() });
        let found = loaded.guest_user().map(|user| (user.name, user.password.expose_secret().to_owned()));
        let expected = expected.map(|(name, password)| (name.to_owned(), password.to_owned()));
        assert_eq!(found.map_err(|problems| problems.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn our_own_variables_beat_that_of_govc() {
        check(&[("GOVC_GUEST_LOGIN", "worker:a:b")], Ok(("worker", "a:b")));
        check(
            &[
                ("ROOKERY_GUEST__USER", "other"),
                ("ROOKERY_GUEST__PASSWORD", "p"),
                ("GOVC_GUEST_LOGIN", "u:q"),
            ],
            Ok(("other", "p")),
        );
    }

    #[test]
    fn what_is_missing_is_told_at_once() {
        check(
            &[],
            Err("2 problems in the settings:\n  \
                 guest.user: is not set; give --guest-user, ROOKERY_GUEST__USER or the key in a settings file\n  \
                 guest.password: is not set; give --guest-password-file, ROOKERY_GUEST__PASSWORD or the key in a settings file"),
        );
    }
}
