//! Signals, as a token.

use rookery_daemon::{Supervisor, signals};
use tokio::task::yield_now;
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT or SIGTERM cancels; the second one ends the process at once.
pub(crate) async fn listen(listeners: &Supervisor) -> CancellationToken {
    signals::exit_on_second_signal(listeners);
    let stop = CancellationToken::new();
    let (cancelled, over) = (stop.clone(), listeners.token());
    listeners.spawn("signals", async move {
        tokio::select! {
            biased;
            () = signals::stop_requested() => cancelled.cancel(),
            () = over.cancelled() => {}
        }
    });
    // It listens from its first poll on, which happens here.
    yield_now().await;
    stop
}
