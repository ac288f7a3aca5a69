//! The proxies that servers are reached through, from the environment.

use rookery_daemon::settings::environment;
use rookery_vim_client::Proxies;

/// Those of this process.
pub(crate) fn of_this_process() -> Proxies {
    Proxies::of_variables(environment())
}
