//! One XML document, front to back, within bounds.
//!
//! [`Reader`] knows the small part of XML that SOAP uses, and checks what it knows: that every element ends, that
//! there is one root, that nothing follows it. It copies nothing: names, attributes and text are pieces of the
//! document until somebody keeps them. The first error ends the document, and [`Reader::finish`] tells it: so those
//! who take values out of elements need not ask at every step whether the document is still sound.

mod scope;
mod tag;
mod text;

use std::borrow::Cow;
use std::mem;

use crate::node::{Limits, ParseError};
use scope::Scope;
pub(crate) use tag::Head;

/// What stands next in the document. Comments and processing instructions are passed over.
enum Token<'d> {
    /// An element, whose start tag is the reader's `head`.
    Start,
    Text(Cow<'d, str>),
    End,
    /// The end of the document, or what could be read of it.
    Over,
}

/// A document that is being read.
pub(crate) struct Reader<'d> {
    /// What was not read yet.
    rest: &'d str,
    length: usize,
    limits: Limits,
    /// The chain of elements whose end was not seen, innermost last.
    open: Vec<Open<'d>>,
    scope: Scope<'d>,
    /// The last start tag.
    head: Head<'d>,
    /// The attributes of the start tag that is being read; here to use the memory again.
    attributes: tag::Attributes<'d>,
    elements: usize,
    /// The last element was written as `<a/>`: its end comes before anything else.
    empty: bool,
    /// Whether any `xsi:type` is `NotAuthenticated`.
    not_authenticated: bool,
    failure: Option<ParseError>,
}

struct Open<'d> {
    /// Name with its prefix, as it must stand in the end tag.
    name: &'d str,
    /// How many namespaces were declared outside.
    declared: usize,
}

impl<'d> Reader<'d> {
    pub(crate) fn new(document: &'d [u8], limits: &Limits) -> Result<Self, ParseError> {
        if document.len() > limits.bytes {
            return Err(ParseError::TooLarge { limit: limits.bytes });
        }
        let text = std::str::from_utf8(document).map_err(|_| ParseError::NotText)?;
        Ok(Self {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            length: text.len(),
            limits: *limits,
            open: Vec::new(),
            scope: Scope::default(),
            head: Head::default(),
            attributes: tag::Attributes::default(),
            elements: 0,
            empty: false,
            not_authenticated: false,
            failure: None,
        })
    }

    /// The next child of the element at that depth, over whatever was left unread of the one before. A child that
    /// is `xsi:nil` is as one that is not there. At depth 0 it is the root.
    #[inline]
    pub(crate) fn child(&mut self, depth: usize) -> Option<Head<'d>> {
        while self.open.len() >= depth {
            match self.next() {
                Token::Start if self.open.len() == depth + 1 && (!self.head.nil || depth == 0) => {
                    return Some(self.take_head());
                }
                Token::Start | Token::Text(_) | Token::End => {}
                Token::Over => return None,
            }
        }
        None
    }

    /// The text of the element at that depth, read to its end; nothing if there are children, since between them is
    /// only indentation. At the start of each child `keep` says whether it counts, and may read it.
    pub(crate) fn text(&mut self, depth: usize, mut keep: impl FnMut(&mut Self) -> bool) -> Cow<'d, str> {
        if let Some(text) = self.plain_text(depth) {
            return Cow::Borrowed(text);
        }
        let mut text = Cow::Borrowed("");
        let mut children = false;
        while self.open.len() >= depth {
            match self.next() {
                Token::Start if self.open.len() == depth + 1 => {
                    if keep(self) {
                        children = true;
                        text = Cow::Borrowed("");
                    }
                }
                Token::Text(_) if children || self.open.len() > depth => {}
                Token::Text(more) if text.is_empty() => text = more,
                Token::Text(more) => text.to_mut().push_str(&more),
                Token::Start | Token::End => {}
                Token::Over => break,
            }
        }
        text
    }

    /// The text of an element that holds nothing else, and nothing that needs care: most do, so this saves looking
    /// at the text and at the end tag one after the other.
    fn plain_text(&mut self, depth: usize) -> Option<&'d str> {
        let name = self.open.last().filter(|_| self.open.len() == depth && !self.empty)?.name;
        let end = self.rest.bytes().position(|b| matches!(b, b'<' | b'&' | b'\r'))?;
        let (text, tag) = self.rest.split_at_checked(end)?;
        self.rest = tag.strip_prefix("</")?.strip_prefix(name)?.strip_prefix('>')?;
        self.close();
        Some(text)
    }

    /// The last start tag.
    pub(crate) fn head(&self) -> &Head<'d> {
        &self.head
    }

    pub(crate) fn take_head(&mut self) -> Head<'d> {
        mem::take(&mut self.head)
    }

    /// Whether some part of the document is of the type `NotAuthenticated`, as far as it was read.
    pub(crate) fn not_authenticated(&self) -> bool {
        self.not_authenticated
    }

    /// Reads the rest of the document. Whatever was taken out of it counts only if this is no error.
    pub(crate) fn finish(&mut self) -> Result<(), ParseError> {
        while !matches!(self.next(), Token::Over) {}
        self.failure.clone().map_or(Ok(()), Err)
    }

    fn next(&mut self) -> Token<'d> {
        match self.token() {
            Ok(token) => token,
            Err(failure) => self.fail(failure),
        }
    }

    #[cold]
    fn fail(&mut self, failure: ParseError) -> Token<'d> {
        self.failure = Some(failure);
        self.rest = "";
        self.empty = false;
        self.open.clear();
        Token::Over
    }

    fn token(&mut self) -> Result<Token<'d>, ParseError> {
        if self.empty {
            self.empty = false;
            self.close();
            return Ok(Token::End);
        }
        loop {
            match self.rest.as_bytes() {
                [b'<', b'/', ..] => return self.end_tag(),
                [b'<', b'!', ..] => {
                    if let Some(section) = self.declaration()? {
                        return self.character_data(text::lines(section));
                    }
                }
                [b'<', b'?', ..] => self.instruction()?,
                [b'<', ..] => return self.start_tag(),
                [b'&', ..] => {
                    let reference = self.reference()?;
                    return self.character_data(reference);
                }
                [] => return self.over(),
                _ => {
                    let (length, text) = text::first(self.rest);
                    self.take(length);
                    return self.character_data(text);
                }
            }
        }
    }

    fn character_data(&self, text: Cow<'d, str>) -> Result<Token<'d>, ParseError> {
        // Around the root there is only white space.
        if self.open.is_empty() && !text.trim().is_empty() {
            return Err(if self.elements > 0 { ParseError::TrailingData } else { ParseError::NoRoot });
        }
        Ok(Token::Text(text))
    }

    fn end_tag(&mut self) -> Result<Token<'d>, ParseError> {
        let Some(Open { name, .. }) = self.open.last() else {
            return Err(self.malformed("an end tag ends nothing"));
        };
        let end = self.rest.get(2..).and_then(|rest| rest.strip_prefix(name));
        // White space may stand behind the name.
        match end.and_then(|end| tag::skip_space(end).strip_prefix('>')) {
            Some(rest) => self.rest = rest,
            None => return Err(self.malformed(&format!("</{}> is expected here", text::shortened(name)))),
        }
        self.close();
        Ok(Token::End)
    }

    fn close(&mut self) {
        if let Some(Open { declared, .. }) = self.open.pop() {
            self.scope.leave(declared);
        }
    }

    /// What begins with `<!`: a comment, or a section whose text is returned.
    fn declaration(&mut self) -> Result<Option<&'d str>, ParseError> {
        if self.rest.starts_with("<!--") {
            self.through("<!--", "-->").map(|_| None)
        } else if self.rest.starts_with("<![CDATA[") {
            self.through("<![CDATA[", "]]>").map(Some)
        } else if self.rest.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("<!DOCTYPE")) {
            Err(ParseError::Doctype)
        } else {
            Err(self.malformed("unknown markup"))
        }
    }

    /// What begins with `<?`: the declaration of the document, or an instruction to somebody else.
    fn instruction(&mut self) -> Result<(), ParseError> {
        let inside = self.through("<?", "?>")?;
        if tag::split_name(inside).0.is_empty() && !inside.is_empty() {
            return Err(self.malformed("an instruction is for nobody"));
        }
        Ok(())
    }

    /// Passes over a piece that has these ends, and returns what is between them.
    fn through(&mut self, start: &str, end: &str) -> Result<&'d str, ParseError> {
        let inside = self.rest.strip_prefix(start).and_then(|rest| rest.split_once(end));
        let (inside, rest) = inside.ok_or_else(|| self.malformed("markup does not end"))?;
        self.rest = rest;
        Ok(inside)
    }

    fn reference(&mut self) -> Result<Cow<'d, str>, ParseError> {
        let end = self.rest.bytes().skip(1).position(|b| matches!(b, b'<' | b'&' | b';'));
        let inside = self.take(end.map_or(self.rest.len(), |end| end + 1));
        match self.rest.strip_prefix(';') {
            Some(rest) => self.rest = rest,
            None => return Err(self.malformed("a reference does not end")),
        }
        text::resolve(inside.strip_prefix('&').unwrap_or_default())
    }

    fn over(&self) -> Result<Token<'d>, ParseError> {
        // The first error stays.
        if self.failure.is_none() {
            if !self.open.is_empty() {
                return Err(ParseError::CutOff);
            }
            if self.elements == 0 {
                return Err(ParseError::NoRoot);
            }
        }
        Ok(Token::Over)
    }

    /// Takes as many bytes.
    fn take(&mut self, length: usize) -> &'d str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    #[cold]
    fn malformed(&self, reason: &str) -> ParseError {
        let at = self.length - self.rest.len();
        ParseError::Malformed { at: at.try_into().unwrap_or(u64::MAX), reason: reason.to_owned() }
    }
}
