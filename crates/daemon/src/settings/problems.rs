//! Everything that is wrong with the settings, collected so that a user fixes it in one go.

use std::fmt;

use super::Origin;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, such as `vcenter.endpoint`; empty if a whole layer is at fault.
    pub path: String,
    /// Where the value came from, if there is one.
    pub origin: Option<Origin>,
    /// What is wrong, and what would be right. Never contains a secret.
    pub message: String,
}

/// All that is wrong; empty if nothing is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problems(pub(super) Vec<Problem>);

impl Problems {
    /// Nothing wrong so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that something is wrong with a key.
    pub fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.add(Problem { path: path.into(), origin: None, message: message.into() });
    }

    /// Notes a problem as it is.
    pub fn add(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// The value of a check, or a note of why there is none.
    pub fn keep<T, E: fmt::Display>(&mut self, path: impl Into<String>, checked: Result<T, E>) -> Option<T> {
        checked.map_err(|error| self.push(path, error.to_string())).ok()
    }

    /// The value if nothing is wrong.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems in the order in which they were found.
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }

    pub(super) fn report(&mut self, path: impl Into<String>, origin: &Origin, error: impl fmt::Display) {
        self.add(Problem { path: path.into(), origin: Some(origin.clone()), message: error.to_string() });
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.0.len() == 1 { "problem" } else { "problems" };
        write!(f, "{} {noun} in the settings:", self.0.len())?;
        self.0.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, origin, message } = self;
        match origin {
            None => write!(f, "{path}: {message}"),
            Some(origin) if path.is_empty() => write!(f, "{origin}: {message}"),
            Some(origin) => write!(f, "{path} ({origin}): {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_listed_with_key_and_origin() {
        let mut problems = Problems::new();
        assert_eq!(problems.keep("a.port", "80".parse::<u16>()), Some(80));
        assert_eq!(problems.clone().into_result(7), Ok(7));

        assert_eq!(problems.keep("a.port", "eighty".parse::<u16>()), None);
        assert_eq!(
            problems.to_string(),
            "1 problem in the settings:\n  a.port: invalid digit found in string"
        );

        problems.report("", &Origin::File("/etc/x.toml".into()), "does not exist");
        problems.report("b.c", &Origin::Flag("c".to_owned()), "is wrong");
        assert_eq!(
            problems.into_result(7).unwrap_err().to_string(),
            "3 problems in the settings:\n  a.port: invalid digit found in string\n  \
             file /etc/x.toml: does not exist\n  b.c (flag --c): is wrong"
        );
    }
}
