//! Signals, as a token.

use rookery_daemon::{Supervisor, signals};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT or SIGTERM cancels, and SIGHUP, since whoever looked on has gone; a second SIGINT or
/// SIGTERM ends the process at once.
pub(crate) async fn listen(listeners: &Supervisor) -> CancellationToken {
    listen_to(listeners, signals::terminal_gone()).await
}

/// The same for a daemon, which SIGHUP tells something else.
#[cfg(feature = "hatchery")]
pub(crate) async fn listen_as_daemon(listeners: &Supervisor) -> CancellationToken {
    listen_to(listeners, std::future::pending()).await
}

async fn listen_to(
    listeners: &Supervisor,
    terminal_gone: impl Future<Output = ()> + Send + 'static,
) -> CancellationToken {
    signals::exit_on_second_signal(listeners);
    let stop = CancellationToken::new();
    let (cancelled, over) = (stop.clone(), listeners.token());
    listeners.spawn("signals", async move {
        tokio::select! {
            biased;
            () = signals::stop_requested() => cancelled.cancel(),
            () = terminal_gone => cancelled.cancel(),
            () = over.cancelled() => {}
        }
    });
    // It listens from its first poll on, which happens here.
    yield_now().await;
    stop
}
