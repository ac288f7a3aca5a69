//! Bash hands a line over as it was typed, and wants the missing text as it would be typed. What it replaces is only the
//! end of a word: behind a quote, or behind `:` and `=`, where Readline begins a new word.

use std::iter::Peekable;
use std::str::CharIndices;

/// A line as bash reads it, up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The words before the one at the cursor.
    pub(crate) words: Vec<String>,
    /// The word at the cursor, without its quotes.
    pub(crate) current: String,
    /// Where that word begins, in bytes.
    start: usize,
    quote: Quote,
}

/// How text is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quote {
    Bare,
    Single,
    Double,
}

impl Line {
    pub(crate) fn read(text: &str) -> Self {
        let mut line = Self { words: vec![], current: String::new(), start: text.len(), quote: Quote::Bare };
        let mut characters = text.char_indices().peekable();
        let mut inside = false;
        while let Some((at, character)) = characters.next() {
            if character.is_ascii_whitespace() && line.quote == Quote::Bare {
                if inside {
                    line.words.push(std::mem::take(&mut line.current));
                }
                inside = false;
                line.start = text.len();
                continue;
            }
            if !inside {
                line.start = at;
            }
            inside = true;
            line.take(character, &mut characters);
        }
        line
    }

    fn take(&mut self, character: char, rest: &mut Peekable<CharIndices<'_>>) {
        let escaped_in_double = |next: &(usize, char)| matches!(next.1, '"' | '\\' | '$' | '`');
        let letter = |(_, letter): (usize, char)| letter;
        match (self.quote, character) {
            (Quote::Bare, '\'') => self.quote = Quote::Single,
            (Quote::Bare, '"') => self.quote = Quote::Double,
            (Quote::Single, '\'') | (Quote::Double, '"') => self.quote = Quote::Bare,
            (Quote::Bare, '\\') => self.current.extend(rest.next().map(letter)),
            (Quote::Double, '\\') => {
                self.current.push(rest.next_if(escaped_in_double).map_or('\\', letter));
            }
            (Quote::Bare | Quote::Single | Quote::Double, _) => self.current.push(character),
        }
    }
}

/// What stands for the whole words in place of the last part of a line, which is what bash replaces.
pub(super) fn replies(line: &str, replaced: &str, words: impl Iterator<Item = String>) -> Vec<String> {
    let head = line.strip_suffix(replaced).unwrap_or(line);
    let start = Line::read(line).start.min(head.len());
    let kept = Line::read(head.get(start..).unwrap_or_default());
    let missing = |word: String| Some(quoted(word.strip_prefix(&kept.current)?, kept.quote));
    words.filter_map(missing).collect()
}

fn quoted(text: &str, quote: Quote) -> String {
    let each = |character: char| match (quote, character) {
        (Quote::Single, '\'') => "'\\''".to_owned(),
        // A backslash does not keep it from being taken for a line of the history.
        (Quote::Double, '!') => "\"\\!\"".to_owned(),
        (Quote::Double, '"' | '\\' | '$' | '`') => format!("\\{character}"),
        (Quote::Bare, _) if character.is_ascii() && !is_plain(character) => format!("\\{character}"),
        (Quote::Bare | Quote::Single | Quote::Double, _) => character.to_string(),
    };
    text.chars().map(each).collect()
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_./:@%+=,-".contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_read_as_bash_reads_it() {
        let check = |text: &str, words: &[&str], current: &str| {
            let line = Line::read(text);
            assert_eq!(
                (line.words, line.current.as_str()),
                (words.iter().map(|word| (*word).to_owned()).collect(), current),
                "{text}"
            );
        };
        check("rookery vm", &["rookery"], "vm");
        check("rookery  vm ", &["rookery", "vm"], "");
        check(r#"r 'a b' "c \" d" e\ f"#, &["r", "a b", "c \" d"], "e f");
        check(r#"r "a\n' b"#, &["r"], "a\\n' b");
        check("r 'a b", &["r"], "a b");
        check("r '' ", &["r", ""], "");
        check("r a\\", &["r"], "a");
        check("r --name=a:b", &["r"], "--name=a:b");
        check("", &[], "");
    }

    /// What stands on the line afterwards, for the only candidate.
    fn completed(line: &str, replaced: &str, word: &str) -> String {
        let replies = replies(line, replaced, [word.to_owned()].into_iter());
        format!("{}{}", line.strip_suffix(replaced).unwrap(), replies.join("|"))
    }

    #[test]
    fn the_missing_text_is_quoted_as_it_was_begun() {
        for (line, replaced, word, expected) in [
            ("r we", "we", "web 1", r"r web\ 1"),
            (r"r web\ ", r"web\ ", "web 1", r"r web\ 1"),
            ("r \"we", "we", "web 1", "r \"web 1"),
            ("r 'we", "we", "web 'x'", r"r 'web '\''x'\''"),
            ("r \"we", "we", "we \"$x!", r#"r "we \"\$x"\!""#),
            ("r a:", "", "a:b c", r"r a:b\ c"),
            ("r a:b", "b", "a:b:c", "r a:b:c"),
            ("r \"a:b", "a:b", "a:b c", "r \"a:b c"),
            ("r --name=x", "x", "--name=x y", r"r --name=x\ y"),
            ("r we\"b", "b", "web 1", "r we\"b 1"),
            ("r größe", "größe", "größe/日本", "r größe/日本"),
            ("r ", "", "~a", r"r \~a"),
        ] {
            assert_eq!(completed(line, replaced, word), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn whatever_was_begun_ends_as_the_word(word in "[ -~äß:=]{1,12}", cut in 0..12usize, quote in 0..3usize) {
            let quote = [Quote::Bare, Quote::Single, Quote::Double][quote];
            let begun: String = word.chars().take(cut).collect();
            let mark = match quote { Quote::Bare => "", Quote::Single => "'", Quote::Double => "\"" };
            let head = format!("r {mark}");
            let line = format!("{head}{}", quoted(&begun, quote));
            let replaced = line.strip_prefix(&head).unwrap();
            let done = completed(&line, replaced, &word);
            prop_assert_eq!(Line::read(&done).current, word);
        }

        #[test]
        fn any_line_is_read(line in any::<String>(), replaced in any::<String>()) {
            replies(&line, &replaced, [line.clone()].into_iter());
        }
    }
}
