//! Keys from the bytes that a terminal sends. Pure.

/// A key that means something to somebody, or none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    /// With Ctrl, as a small letter.
    Ctrl(char),
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    BackTab,
    Enter,
    Escape,
    F1,
    Other,
}

const ESCAPE: u8 = 0x1b;
/// No terminal sends longer ones; what is longer is noise.
const LONGEST: usize = 32;

/// The keys in these bytes, and how many bytes they took. What remains is the beginning of a key, or Escape itself:
/// [`rest`] says what it is if nothing follows.
pub(super) fn keys(bytes: &[u8]) -> (Vec<Key>, usize) {
    let (mut keys, mut taken) = (Vec::new(), 0);
    while let Some((key, length)) = bytes.get(taken..).and_then(first) {
        keys.push(key);
        taken += length;
    }
    (keys, taken)
}

/// What an unfinished key means after which nothing came.
pub(super) fn rest(bytes: &[u8]) -> Option<Key> {
    (bytes == [ESCAPE]).then_some(Key::Escape)
}

/// The first key and its length; `None` if it is not all there.
fn first(bytes: &[u8]) -> Option<(Key, usize)> {
    let (byte, rest) = bytes.split_first()?;
    match byte {
        b'\t' => Some((Key::Tab, 1)),
        b'\r' | b'\n' => Some((Key::Enter, 1)),
        &ESCAPE => match rest.split_first()? {
            (b'[', rest) => sequence(rest).map(|(key, length)| (key, length + 2)),
            (b'O', rest) => rest.first().map(|letter| (by_letter(*letter), 3)),
            // Escape twice, or a key with Alt: the first one stands alone.
            _ => Some((Key::Escape, 1)),
        },
        1..=26 => Some((Key::Ctrl(char::from(byte + b'a' - 1)), 1)),
        0 | 28..=31 | 0x7f => Some((Key::Other, 1)),
        _ => character(bytes),
    }
}

/// What follows `ESC [`: numbers, and the letter that ends it.
fn sequence(bytes: &[u8]) -> Option<(Key, usize)> {
    let Some(end) = bytes.iter().position(|byte| (b'@'..=b'~').contains(byte)) else {
        return (bytes.len() > LONGEST).then_some((Key::Other, bytes.len()));
    };
    let (numbers, letter) = (bytes.get(..end)?, bytes.get(end)?);
    let key = match (letter, numbers.split(|byte| *byte == b';').next().unwrap_or_default()) {
        (b'~', b"1" | b"7") => Key::Home,
        (b'~', b"4" | b"8") => Key::End,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        (b'~', b"11") => Key::F1,
        (letter, _) => by_letter(*letter),
    };
    Some((key, end + 1))
}

fn by_letter(letter: u8) -> Key {
    match letter {
        b'A' => Key::Up,
        b'B' => Key::Down,
        b'C' => Key::Right,
        b'D' => Key::Left,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'P' => Key::F1,
        b'Z' => Key::BackTab,
        _ => Key::Other,
    }
}

/// A character in UTF-8.
fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes.first()? {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let found = std::str::from_utf8(bytes.get(..length)?).ok().and_then(|text| text.chars().next());
    Some(found.map_or((Key::Other, 1), |c| (Key::Char(c), length)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(bytes: &[u8], expected: &[Key], left: usize) {
        let (found, taken) = keys(bytes);
        assert_eq!((found.as_slice(), bytes.len() - taken), (expected, left), "{bytes:?}");
    }

    #[test]
    fn keys_are_known_by_what_terminals_send() {
        check(b"q?", &[Key::Char('q'), Key::Char('?')], 0);
        check("ü日".as_bytes(), &[Key::Char('ü'), Key::Char('日')], 0);
        check(b"\x03\x1a\x0c", &[Key::Ctrl('c'), Key::Ctrl('z'), Key::Ctrl('l')], 0);
        check(b"\t\r\x1b[Z", &[Key::Tab, Key::Enter, Key::BackTab], 0);
        check(b"\x1b[A\x1b[B\x1b[C\x1b[D", &[Key::Up, Key::Down, Key::Right, Key::Left], 0);
        check(b"\x1bOA\x1bOH\x1bOF\x1bOP", &[Key::Up, Key::Home, Key::End, Key::F1], 0);
        check(b"\x1b[H\x1b[F\x1b[1~\x1b[4~", &[Key::Home, Key::End, Key::Home, Key::End], 0);
        check(b"\x1b[5~\x1b[6~\x1b[11~", &[Key::PageUp, Key::PageDown, Key::F1], 0);
        check(b"\x1b[1;5A\x1b[5;2~\x1b[3~", &[Key::Up, Key::PageUp, Key::Other], 0);
        check(b"\x1b\x1b[A", &[Key::Escape, Key::Up], 0);
        check(b"\x7f\xff", &[Key::Other, Key::Other], 0);
    }

    #[test]
    fn a_key_that_is_not_all_there_is_waited_for() {
        check(b"a\x1b", &[Key::Char('a')], 1);
        check(b"\x1b[1;", &[], 4);
        check(b"\x1bO", &[], 2);
        check(&"日".as_bytes()[..2], &[], 2);
        assert_eq!((rest(b"\x1b"), rest(b"\x1b[")), (Some(Key::Escape), None));
        assert_eq!(keys(&[b"\x1b[".as_slice(), &[b'0'; 40]].concat()), (vec![Key::Other], 42));
    }

    proptest! {
        #[test]
        fn whatever_comes_ends_somewhere(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (_, taken) = keys(&bytes);
            prop_assert!(bytes.len() - taken <= LONGEST + 2);
        }
    }
}
