//! Signals, as a token.

use std::time::Duration;

use rookery_daemon::{Supervisor, signals};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

use crate::live;

/// How long the listeners for signals get to end.
const SIGNALS_END: Duration = Duration::from_secs(1);

/// Does work that heeds a token, which the first SIGINT or SIGTERM cancels, and SIGHUP, since whoever looked on has gone; a
/// second SIGINT or SIGTERM ends the process at once.
pub(crate) async fn heeding<T>(work: impl AsyncFnOnce(&CancellationToken) -> T) -> T {
    heed(signals::terminal_gone(), work).await
}

/// The same for a daemon, which SIGHUP tells something else.
#[cfg(feature = "hatchery")]
pub(crate) async fn heeding_as_daemon<T>(work: impl AsyncFnOnce(&CancellationToken) -> T) -> T {
    heed(std::future::pending(), work).await
}

async fn heed<T>(
    terminal_gone: impl Future<Output = ()> + Send + 'static,
    work: impl AsyncFnOnce(&CancellationToken) -> T,
) -> T {
    let (listeners, stop) = (Supervisor::new(), CancellationToken::new());
    signals::exit_on_second_signal(&listeners, live::give_terminal_back);
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
    let done = work(&stop).await;
    listeners.shutdown(SIGNALS_END).await.ok();
    done
}
