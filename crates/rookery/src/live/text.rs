//! Text in cells of a terminal: how wide it is, and where it goes on in the next line. Pure.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// How many cells it takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Lines of at most so many cells that hold all of the text but the blanks at which they break. The first line may have
/// another width than the rest.
pub(super) fn wrap(text: &str, first: usize, rest: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        wrap_paragraph(paragraph, if lines.is_empty() { first } else { rest }, rest, &mut lines);
    }
    lines
}

fn wrap_paragraph(text: &str, first: usize, rest: usize, lines: &mut Vec<String>) {
    let (mut line, mut used, mut room) = (String::new(), 0, first.max(1));
    // How many bytes of the line stand before its last blank.
    let mut blank = None;
    for symbol in text.graphemes(true) {
        let wide = symbol.width();
        if used + wide > room && !line.is_empty() {
            if symbol == " " {
                lines.push(std::mem::take(&mut line));
                (used, room, blank) = (0, rest.max(1), None);
                continue;
            }
            // Not if what comes after the blank needs more than a line: the first one may be the widest.
            let word =
                blank.take().filter(|at| line.get(*at + 1..).is_some_and(|word| word.width() + wide <= rest));
            let next = word.map_or_else(String::new, |at| line.split_off(at).trim_start().to_owned());
            lines.push(std::mem::replace(&mut line, next));
            (used, room) = (line.width(), rest.max(1));
        }
        // What a line is indented with is no place to break.
        if symbol == " " && !line.trim_start().is_empty() {
            blank = Some(line.len());
        }
        line.push_str(symbol);
        used += wide;
    }
    lines.push(line);
}

/// As much of it as fits, with an ellipsis if that is not all. Only for what can be read in full elsewhere.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for symbol in text.graphemes(true) {
        if kept.width() + symbol.width() + 1 > most {
            break;
        }
        kept.push_str(symbol);
    }
    if most > 0 {
        kept.push('…');
    }
    kept
}

/// Filled with blanks up to so many cells.
pub(super) fn padded(text: &str, to: usize) -> String {
    format!("{text}{}", " ".repeat(to.saturating_sub(text.width())))
}

/// Without the codes of colours, as a log line on a terminal has them.
pub(super) fn without_codes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        // A code ends with the first letter or the like.
        let end = code.find(|c: char| ('@'..='~').contains(&c)).map_or(code.len(), |end| end + 1);
        rest = code.get(end..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_break_at_blanks_where_there_are_any() {
        let check = |text, first, rest, expected: &[&str]| assert_eq!(wrap(text, first, rest), expected);
        check("", 5, 5, &[""]);
        check("one two three", 13, 5, &["one two three"]);
        check("one two three", 7, 5, &["one two", "three"]);
        check("one two three", 8, 5, &["one two", "three"]);
        check("one two three", 6, 5, &["one", "two", "three"]);
        check("abcdefgh ij", 3, 4, &["abc", "defg", "h ij"]);
        check("日本語", 4, 3, &["日本", "語"]);
        check("a bcdefgh", 8, 3, &["a bcdefg", "h"]);
        check("  indented text", 10, 10, &["  indented", "text"]);
        check("two\nparagraphs", 20, 20, &["two", "paragraphs"]);
        check("x", 0, 0, &["x"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        for (most, expected) in [(9, "warm pool"), (8, "warm po…"), (1, "…"), (0, "")] {
            assert_eq!(cut("warm pool", most), expected);
        }
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(padded("日", 4), "日  ");
    }

    #[test]
    fn codes_of_colours_are_taken_away() {
        assert_eq!(without_codes("\u{1b}[2m09:31\u{1b}[0m \u{1b}[33mWARN\u{1b}[0m x"), "09:31 WARN x");
        assert_eq!(without_codes("none"), "none");
        assert_eq!(without_codes("cut \u{1b}[3"), "cut ");
    }

    fn solid(text: &str) -> String {
        text.split_whitespace().collect()
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_line_fits(text in "([a-zé日 ]|👩‍🚀){0,60}", first in 2usize..30, rest in 2usize..30) {
            let lines = wrap(&text, first, rest);
            prop_assert_eq!(solid(&lines.concat()), solid(&text));
            for (at, line) in lines.iter().enumerate() {
                prop_assert!(width(line) <= if at == 0 { first } else { rest }, "{:?}", line);
            }
        }

        #[test]
        fn what_is_cut_fits(text in "\\PC{0,40}", most in 0usize..50) {
            prop_assert!(width(&cut(&text, most)) <= most);
        }
    }
}
