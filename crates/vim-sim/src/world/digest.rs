//! Whether anything has changed, in one number.

use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::World;

impl World {
    /// A number that changes when a request or the time changes anything that outlives the one who asked. That it is
    /// later, and that somebody watches or has asked something, is no change.
    pub(crate) fn digest(&self) -> u64 {
        // All members stand here, so that nobody can add one and forget it.
        let Self {
            settings,
            store,
            root,
            sessions,
            rest_sessions,
            authority,
            tags,
            snapshots,
            tasks,
            events,
            guests,
            rules,
            uploads,
            up_at,
            last_timer,
            // Those who watch, what they are told, and what time it is.
            caller: _,
            views: _,
            collectors: _,
            traffic: _,
            pace: _,
            replies: _,
            effects: _,
            now: _,
            // Whatever is planned has a new number, and whatever is drawn is somewhere above.
            timers: _,
            random: _,
        } = self;
        let sessions = sessions.all().map(|session| (&session.key, &session.user_agent)).collect::<Vec<_>>();
        let mut hashed = Hashed::default();
        let all = write!(
            hashed,
            "{settings:?} {root:?} {sessions:?} {rest_sessions:?} {authority:?} {tags:?} {snapshots:?} \
             {tasks:?} {events:?} {guests:?} {rules:?} {uploads:?} {up_at:?} {last_timer} {} {:?}",
            store.log.revision(),
            serde_json::to_string(store),
        );
        debug_assert!(all.is_ok(), "everything can be written");
        hashed.0.finish()
    }
}

#[derive(Default)]
struct Hashed(DefaultHasher);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.hash(&mut self.0);
        Ok(())
    }
}
