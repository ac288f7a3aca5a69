//! A command line, taken apart.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// What stands between blanks, with its quotes resolved.
    Word(String),
    /// The next word is where this goes: 1 the output, 2 the complaints, 0 both, more is none of these.
    Redirect { descriptor: u8, append: bool },
    /// This goes where that goes.
    Same { from: u8, to: u8 },
}

/// Takes a text apart, command by command.
pub(super) struct Commands<'t> {
    rest: Peekable<Chars<'t>>,
    word: Option<String>,
    tokens: Vec<Token>,
    /// How documents end that begin on the next line.
    documents: Vec<String>,
}

type Environment = BTreeMap<String, String>;

impl<'t> Commands<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text.chars().peekable(), word: None, tokens: Vec::new(), documents: Vec::new() }
    }

    /// The next command, and what stands behind it. Variables are replaced by their values.
    pub(super) fn next(&mut self, environment: &Environment) -> Option<(Vec<Token>, &'static str)> {
        self.rest.peek()?;
        while let Some(c) = self.rest.next() {
            if let Some(op) = self.take(c, environment) {
                self.end_word();
                if op == "\n" {
                    self.skip_documents();
                }
                return Some((std::mem::take(&mut self.tokens), op));
            }
        }
        self.end_word();
        Some((std::mem::take(&mut self.tokens), ";"))
    }

    /// Takes up a character; what ends the command, if it does.
    fn take(&mut self, c: char, environment: &Environment) -> Option<&'static str> {
        match c {
            '\'' => {
                let quoted: String = self.rest.by_ref().take_while(|c| *c != '\'').collect();
                self.word().push_str(&quoted);
            }
            '"' => self.quoted(environment),
            '\\' => match self.rest.next() {
                Some('\n') | None => {}
                Some(c) => self.word().push(c),
            },
            '$' => {
                let value = self.variable(environment);
                self.word().push_str(&value);
            }
            '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
            '\n' => return Some("\n"),
            ' ' | '\t' | '\r' => self.end_word(),
            '&' if self.rest.next_if_eq(&'&').is_some() => return Some("&&"),
            '&' if self.rest.next_if_eq(&'>').is_some() => self.redirect(0),
            ';' | '(' | ')' | '&' => return Some(";"),
            '|' if self.rest.next_if_eq(&'|').is_some() => return Some("||"),
            '|' => return Some("|"),
            '>' => {
                // A number right before it says whose output; otherwise that was a word.
                let descriptor = self.word.as_deref().and_then(|word| word.parse().ok());
                if descriptor.is_some() {
                    self.word = None;
                }
                self.end_word();
                self.redirect(descriptor.unwrap_or(1));
            }
            '<' => self.input(),
            c => self.word().push(c),
        }
        None
    }

    fn word(&mut self) -> &mut String {
        self.word.get_or_insert_default()
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take() {
            self.tokens.push(Token::Word(word));
        }
    }

    fn quoted(&mut self, environment: &Environment) {
        self.word();
        while let Some(c) = self.rest.next() {
            match c {
                '"' => return,
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.word().push(c),
                    Some(c) => self.word().extend(['\\', c]),
                },
                '$' => {
                    let value = self.variable(environment);
                    self.word().push_str(&value);
                }
                c => self.word().push(c),
            }
        }
    }

    /// The value of what stands behind a dollar sign.
    fn variable(&mut self, environment: &Environment) -> String {
        let braced = self.rest.next_if_eq(&'{').is_some();
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        if braced {
            while self.rest.next_if(|c| *c != '}').is_some() {}
            self.rest.next();
        }
        match environment.get(&name) {
            Some(value) => value.clone(),
            None if name.is_empty() && !braced => "$".to_owned(),
            None => String::new(),
        }
    }

    fn redirect(&mut self, descriptor: u8) {
        let append = self.rest.next_if_eq(&'>').is_some();
        self.rest.next_if_eq(&'|');
        if self.rest.next_if_eq(&'&').is_none() {
            self.tokens.push(Token::Redirect { descriptor, append });
            return;
        }
        if let Some(to) = self.rest.next_if(char::is_ascii_digit).and_then(|c| c.to_digit(10)) {
            let to = u8::try_from(to).unwrap_or_default();
            self.tokens.push(Token::Same { from: descriptor, to });
        }
    }

    /// Input is not read; documents are passed over.
    fn input(&mut self) {
        self.end_word();
        if self.rest.next_if_eq(&'<').is_none() || self.rest.next_if_eq(&'<').is_some() {
            self.tokens.push(Token::Redirect { descriptor: 3, append: false });
            return;
        }
        self.rest.next_if_eq(&'-');
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        let mut end = String::new();
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && !";&|<>()".contains(*c)) {
            end.push(c);
        }
        self.documents.push(end.replace(['\'', '"', '\\'], ""));
    }

    fn skip_documents(&mut self) {
        for end in std::mem::take(&mut self.documents) {
            loop {
                let mut line = String::new();
                while let Some(c) = self.rest.next_if(|c| *c != '\n') {
                    line.push(c);
                }
                if self.rest.next().is_none() || line.trim_start_matches('\t') == end {
                    break;
                }
            }
        }
    }
}
