//! Lines that would be written to standard error, handed to somebody who shows them in another way: a page that a terminal
//! is full of would be torn by them.

use std::sync::{Arc, Mutex, PoisonError};

type Taker = Arc<dyn Fn(&str) -> bool + Send + Sync>;

static TAKER: Mutex<Option<Taker>> = Mutex::new(None);

/// Hands lines over from now on, to whoever was named last. It says whether it has taken a line; otherwise the line is
/// written as ever. It must not log.
pub fn divert(taker: impl Fn(&str) -> bool + Send + Sync + 'static) {
    set(Some(Arc::new(taker)));
}

/// Writes lines to standard error again.
pub fn divert_no_more() {
    set(None);
}

/// Offers text that would be written to standard error; whether somebody has taken it.
pub fn diverted(text: &str) -> bool {
    let taker = TAKER.lock().unwrap_or_else(PoisonError::into_inner).clone();
    taker.is_some_and(|taker| taker(text))
}

fn set(taker: Option<Taker>) {
    *TAKER.lock().unwrap_or_else(PoisonError::into_inner) = taker;
}

#[cfg(test)]
mod tests {
    use super::*;

    // Alone, since the taker is the process's.
    #[test]
    fn lines_go_to_whoever_takes_them() {
        assert!(!diverted("nobody is there"));
        let taken = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&taken);
        divert(move |text| {
            let wanted = !text.contains("unwanted");
            kept.lock().unwrap().extend(wanted.then(|| text.to_owned()));
            wanted
        });
        let (one, other) = (diverted("of a page"), diverted("unwanted"));
        divert_no_more();
        assert!(one && !other && !diverted("too late"));
        assert!(taken.lock().unwrap().contains(&"of a page".to_owned()));
    }
}
