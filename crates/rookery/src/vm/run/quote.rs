//! Words that a POSIX shell reads back as they were. Pure.

/// Each of them as one word.
pub(super) fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

pub(in crate::vm) fn quoted(word: &str) -> String {
    let plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | ',' | '+' | '@' | '%')
    };
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_what_a_shell_would_touch_is_quoted() {
        for (word, expected) in [
            ("/bin/sh", "/bin/sh"),
            ("--a=b", "'--a=b'"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
            ("größe", "'größe'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn a_real_shell_reads_the_words_back() {
        let words = [
            "a b",
            "it's",
            "$HOME",
            "`x`",
            "\\",
            "\"",
            "\n\r\t",
            "*",
            "~",
            "größe ✓",
            "",
            "-n",
            ";",
            "&&",
            "#x",
            "!",
        ];
        let words = words.map(str::to_owned);
        let script = format!("printf '%s\\0' {}", join(&words));
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        let read: Vec<_> = output.stdout.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
        assert_eq!(read[..words.len()], words);
    }
}
