//! The part of Go's `text/template` that scripts of worker models use: fields, `if`, `else if`, `else`, `end`, comments
//! and trim markers. Anything else is an error that names its line, because a script that is half understood would run.
//!
//! Values are put in as they are. The Go hatchery's engine escapes them for HTML, which breaks `+` and `&`.

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A text; false if empty.
    Text(&'a str),
    /// `true` or `false`.
    Flag(bool),
    /// A number; false if zero.
    Number(i64),
    /// A map without entries, which Go writes as `map[]`; always false.
    EmptyMap,
}

/// Why a template cannot be rendered. Lines begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct TemplateError {
    pub line: usize,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("{{{{{action}}}}} is not understood; fields, if, else, end, comments and trim markers are")]
    Unsupported {
        /// What stands between the braces, shortened.
        action: String,
    },
    #[error("there is no field .{field}")]
    UnknownField { field: String },
    #[error("an action or comment is opened and not closed")]
    Unclosed,
    /// An `else` or `end` that belongs to no `if`, or a second `else`.
    #[error("{{{{{word}}}}} does not belong to an if")]
    Stray { word: &'static str },
    #[error("this if has no {{{{end}}}}")]
    NoEnd,
}

impl Fault {
    fn at(self, line: usize) -> TemplateError {
        TemplateError { line, fault: self }
    }
}

/// Renders a template. As in Go a field is looked up only where it is reached.
pub fn render<'v>(text: &str, field: impl Fn(&str) -> Option<Value<'v>>) -> Result<String, TemplateError> {
    let look_up =
        |name: &str, line| field(name).ok_or_else(|| Fault::UnknownField { field: name.to_owned() }.at(line));
    let mut output = String::new();
    let mut open: Vec<If> = Vec::new();
    for (line, token) in tokens(text)? {
        let shown = open.last().is_none_or(|innermost| innermost.shown);
        match token {
            Token::Text(text) if shown => output.push_str(text),
            Token::Field(name) if shown => look_up(name, line)?.write(&mut output),
            Token::Text(_) | Token::Field(_) => {}
            Token::If(name) => {
                let holds = shown && look_up(name, line)?.holds();
                open.push(If { line, shown: holds, done: holds || !shown, last: false });
            }
            Token::ElseIf(name) => {
                let branch = branch(&mut open, line)?;
                branch.shown = !branch.done && look_up(name, line)?.holds();
                branch.done |= branch.shown;
            }
            Token::Else => {
                let branch = branch(&mut open, line)?;
                (branch.shown, branch.last) = (!branch.done, true);
            }
            Token::End => {
                open.pop().ok_or(Fault::Stray { word: "end" }.at(line))?;
            }
        }
    }
    match open.last() {
        Some(unended) => Err(Fault::NoEnd.at(unended.line)),
        None => Ok(output),
    }
}

/// An `if` that is open.
struct If {
    line: usize,
    /// Whether the branch that was begun last is to be seen.
    shown: bool,
    /// Whether no further branch is to be seen.
    done: bool,
    /// Whether its `else` has come.
    last: bool,
}

/// The innermost `if`, which must not have had its `else` yet.
fn branch(open: &mut [If], line: usize) -> Result<&mut If, TemplateError> {
    open.last_mut().filter(|innermost| !innermost.last).ok_or(Fault::Stray { word: "else" }.at(line))
}

impl Value<'_> {
    fn holds(self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Flag(flag) => flag,
            Self::Number(number) => number != 0,
            Self::EmptyMap => false,
        }
    }

    fn write(self, output: &mut String) {
        match self {
            Self::Text(text) => output.push_str(text),
            Self::Flag(flag) => output.push_str(if flag { "true" } else { "false" }),
            Self::Number(number) => output.push_str(&number.to_string()),
            Self::EmptyMap => output.push_str("map[]"),
        }
    }
}

#[derive(Debug)]
enum Token<'t> {
    Text(&'t str),
    Field(&'t str),
    If(&'t str),
    ElseIf(&'t str),
    Else,
    End,
}

/// What Go takes for space in a template.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
/// How much of an action an error shows.
const SHOWN: usize = 40;

/// Takes a template apart; each token with its line.
fn tokens(text: &str) -> Result<Vec<(usize, Token<'_>)>, TemplateError> {
    let (mut tokens, mut rest, mut line, mut trim) = (Vec::new(), text, 1, false);
    loop {
        let (before, opened) = match rest.split_once("{{") {
            Some((before, after)) => (before, Some(after)),
            None => (rest, None),
        };
        // A marker is a dash with space on the side of the action, and the space belongs to it.
        let marked = opened.and_then(|after| after.strip_prefix('-')?.strip_prefix(SPACE));
        let mut shown = if trim { before.trim_start_matches(SPACE) } else { before };
        if marked.is_some() {
            shown = shown.trim_end_matches(SPACE);
        }
        if !shown.is_empty() {
            tokens.push((line, Token::Text(shown)));
        }
        let Some(opened) = opened else { return Ok(tokens) };
        line += lines_in(before);
        let action = Action::read(marked.unwrap_or(opened)).ok_or(Fault::Unclosed.at(line))?;
        if let Some(content) = action.content {
            let token = token(content).ok_or_else(|| {
                Fault::Unsupported { action: content.trim().chars().take(SHOWN).collect() }.at(line)
            })?;
            tokens.push((line, token));
        }
        line += lines_in(opened.strip_suffix(action.rest).unwrap_or_default());
        (rest, trim) = (action.rest, action.trims);
    }
}

fn lines_in(text: &str) -> usize {
    text.matches('\n').count()
}

/// One pair of braces, from behind the opening ones and their marker.
struct Action<'t> {
    content: Option<&'t str>,
    /// Whether the space behind it goes.
    trims: bool,
    rest: &'t str,
}

impl<'t> Action<'t> {
    fn read(after: &'t str) -> Option<Self> {
        if let Some(comment) = after.strip_prefix("/*") {
            let (_, behind) = comment.split_once("*/")?;
            if let Some(rest) = behind.strip_prefix("}}") {
                return Some(Self { content: None, trims: false, rest });
            }
            let rest = behind.strip_prefix(SPACE)?.strip_prefix("-}}")?;
            return Some(Self { content: None, trims: true, rest });
        }
        let (content, rest) = after.split_once("}}")?;
        match content.strip_suffix('-').filter(|content| content.ends_with(SPACE)) {
            Some(content) => Some(Self { content: Some(content), trims: true, rest }),
            None => Some(Self { content: Some(content), trims: false, rest }),
        }
    }
}

fn token(content: &str) -> Option<Token<'_>> {
    let mut words = content.split(SPACE).filter(|word| !word.is_empty());
    let words = (words.next()?, words.next(), words.next(), words.next());
    match words {
        (name, None, ..) if name.starts_with('.') => Some(Token::Field(field_name(name)?)),
        ("if", Some(name), None, _) => Some(Token::If(field_name(name)?)),
        ("else", Some("if"), Some(name), None) => Some(Token::ElseIf(field_name(name)?)),
        ("else", None, ..) => Some(Token::Else),
        ("end", None, ..) => Some(Token::End),
        _ => None,
    }
}

fn field_name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('.')?;
    let begins = |c: char| c == '_' || c.is_alphabetic();
    (name.starts_with(begins) && name.chars().all(|c| c == '_' || c.is_alphanumeric())).then_some(name)
}

#[cfg(test)]
mod tests;
