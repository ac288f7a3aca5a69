//! Asking without waiting: the answer is news.

use std::future::Future;

use tokio::sync::mpsc;

use super::{Keeper, Message};

impl Keeper {
    pub(super) fn ask(&self, what: &'static str, question: impl Future<Output = ()> + Send + 'static) {
        let stop = self.supervisor.token();
        self.supervisor.spawn(what, async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = question => {}
            }
        });
    }

    /// Asks for news. If that is cut off by a panic, `cut_off` is the news: who never hears of it never asks again.
    pub(super) fn ask_for(
        &self,
        what: &'static str,
        cut_off: Message,
        question: impl Future<Output = Message> + Send + 'static,
    ) {
        self.ask(what, tell(self.crew.keeper.clone(), cut_off, question));
    }
}

async fn tell(keeper: mpsc::Sender<Message>, cut_off: Message, question: impl Future<Output = Message>) {
    let mut answer = Answer { keeper, cut_off: Some(cut_off) };
    let news = question.await;
    answer.cut_off = None;
    answer.keeper.send(news).await.ok();
}

struct Answer {
    keeper: mpsc::Sender<Message>,
    cut_off: Option<Message>,
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(news) = self.cut_off.take() {
            // If nobody listens or the queue is full, the process is ending.
            self.keeper.try_send(news).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use futures_util::FutureExt as _;
    use rookery_cds::JobId;

    use super::*;

    // A model whose reading had panicked was never read again, and its jobs waited for ever.
    #[tokio::test]
    async fn a_question_that_panics_has_an_answer() {
        let job = |number: u32| number.to_string().parse::<JobId>().expect("a job");
        let (keeper, mut inbox) = mpsc::channel(8);
        let answered = tell(keeper.clone(), Message::Gone(job(1)), async { Message::Gone(job(2)) });
        answered.await;
        let panics = tell(keeper, Message::Gone(job(3)), async { panic!("on purpose") });
        assert!(AssertUnwindSafe(panics).catch_unwind().await.is_err());
        for expected in [job(2), job(3)] {
            let news = inbox.recv().await;
            assert!(matches!(&news, Some(Message::Gone(job)) if *job == expected), "{news:?}");
        }
        assert!(inbox.recv().await.is_none(), "each is answered once");
    }
}
