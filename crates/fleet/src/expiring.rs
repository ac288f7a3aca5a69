//! What is remembered until a certain time.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use jiff::Timestamp;

/// Values that are each remembered until a time of their own. It has no clock: [`Expiring::forget`] says what time it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiring<K, V = ()>(BTreeMap<K, (V, Timestamp)>);

impl<K, V> Default for Expiring<K, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for Expiring<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(values: T) -> Self {
        Self(values.into_iter().map(|(key, value)| (key, (value, Timestamp::MAX))).collect())
    }
}

impl<K: Ord, V> Expiring<K, V> {
    /// Remembers a value until then, in place of what was remembered before.
    pub fn insert(&mut self, key: K, value: V, until: Timestamp) {
        self.0.insert(key, (value, until));
    }

    /// What is remembered; if there is nothing, this is from now on, until then.
    pub fn or_insert(&mut self, key: K, value: V, until: Timestamp) -> &mut V {
        &mut self.0.entry(key).or_insert((value, until)).0
    }

    /// What is remembered of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(key).map(|(value, _)| value)
    }

    /// Whether anything is remembered of a key.
    pub fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    /// Forgets a key before its time.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).map(|(value, _)| value)
    }

    /// Forgets what is over by then.
    pub fn forget(&mut self, now: Timestamp) {
        self.forget_unless(now, |_| false);
    }

    /// Forgets what is over by then, but for some keys.
    pub fn forget_unless(&mut self, now: Timestamp, stays: impl Fn(&K) -> bool) {
        self.0.retain(|key, (_, until)| *until > now || stays(key));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// All keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn a_value_is_remembered_until_its_time_and_others_for_theirs() {
        let at = |second: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second);
        let mut known = Expiring::default();
        known.insert("a", 1, at(10));
        known.insert("b", 2, at(20));
        *known.or_insert("a", 7, at(99)) += 1;
        known.forget(at(9));
        assert_eq!((known.get("a"), known.len()), (Some(&2), 2), "its time is that of the first");
        known.forget_unless(at(10), |key| *key == "a");
        assert!(known.contains("a"), "it stays for another reason");
        known.forget(at(10));
        assert_eq!(known.keys().collect::<Vec<_>>(), [&"b"]);
        known.forget(at(19));
        assert_eq!(known.remove("b"), Some(2));
        assert!(known.is_empty());
    }
}
