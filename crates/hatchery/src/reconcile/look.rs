//! One look, without any act: what the next pass would do.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use jiff::Timestamp;
use rookery_daemon::telemetry::chain;
use rookery_fleet::MachineId;
use tracing::warn;

use super::{Reconciler, histories};
use crate::intake::feed;
use crate::surface::report::{Planned, Report};

impl Reconciler {
    /// Takes in what the sources bring, reads what is missing, and plans. Begins nothing.
    pub(crate) async fn look(mut self, sources: impl Future<Output = ()>) -> Planned {
        tokio::pin!(sources);
        loop {
            tokio::select! {
                biased;
                Some(message) = self.inbox.recv() => self.apply(message),
                () = &mut sources => break,
            }
        }
        let settings = Arc::clone(&self.settings.borrow());
        let (mut histories, mut settling, mut asked_room) = (BTreeSet::new(), true, false);
        let mut asked_jobs = BTreeSet::new();
        loop {
            while let Some(message) = self.inbox.try_recv() {
                self.apply(message);
            }
            self.observe(&settings);
            // What one round found is not put off by the next.
            (self.state.sweep_at, self.state.register_at) = (Timestamp::MIN, Timestamp::MIN);
            let plan = self.plan(&settings);
            let report = Report::new(&self.state, &settings, &plan);
            let unread: Vec<MachineId> =
                plan.missing.events.iter().filter(|id| histories.insert((*id).clone())).cloned().collect();
            let unread_jobs = plan.missing.jobs.iter().filter(|id| asked_jobs.insert((*id).clone()));
            let unread_jobs: Vec<MachineId> = unread_jobs.cloned().collect();
            if self.state.is_reading() {
                // Each reading ends with news, even if it fails.
                if let Some(message) = self.inbox.recv().await {
                    self.apply(message);
                }
            } else if std::mem::take(&mut settling) {
                self.settle().await;
            } else if !unread.is_empty() {
                self.look_back(unread).await;
            } else if !unread_jobs.is_empty() {
                self.read_jobs_now(&unread_jobs).await;
            } else if self.state.needs_room() && !std::mem::replace(&mut asked_room, true) {
                feed::room(self.context.clone()).await;
            } else {
                return Planned::new(&self.state, &plan, &report);
            }
        }
    }

    async fn settle(&mut self) {
        let begun = self.context.clock.steady();
        match self.context.hands.clone_tasks().await {
            Ok(listed) => self.state.apply_clones(begun, &listed),
            Err(error) => warn!(error = %chain(&error), "clones could not be listed"),
        }
    }

    async fn look_back(&mut self, machines: Vec<MachineId>) {
        match histories::read(&self.context.hands, &self.created(machines)).await {
            Ok(told) => self.state.vsphere.events.extend(told),
            Err(error) => warn!(error = %chain(&error), "history could not be read"),
        }
    }
}
