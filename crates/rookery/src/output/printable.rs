//! Text from elsewhere, made harmless for a terminal.

/// One line: what a terminal would obey, or show in another order, is spelled out.
pub fn printable(text: &str) -> String {
    spell_out(text, is_dangerous)
}

/// The same for text whose line breaks are wanted.
pub fn printable_lines(text: &str) -> String {
    spell_out(text, |c| c != '\n' && is_dangerous(c))
}

fn spell_out(text: &str, dangerous: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if dangerous(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    safe
}

/// Control characters, the ends of lines and paragraphs, and all that has a say in the direction of the text around it
/// (Unicode's `Bidi_Control`).
fn is_dangerous(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_obeys_is_spelled_out() {
        assert_eq!(printable("größe 日本 50% \"x\""), "größe 日本 50% \"x\"");
        assert_eq!(printable("\x1b[2J\u{202e}a\nb"), "\\u{1b}[2J\\u{202e}a\\nb");
        // Those without a place of their own were let through.
        assert_eq!(printable("a\u{200f}\u{200e}\u{61c}"), "a\\u{200f}\\u{200e}\\u{61c}");
        assert_eq!(printable_lines("a\nb\r\x07"), "a\nb\\r\\u{7}");
    }
}
