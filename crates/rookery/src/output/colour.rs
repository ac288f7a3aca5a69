//! Colours, for terminals only: not in a pipe, not with `NO_COLOR`, and not on a terminal that is dumb.

use std::sync::OnceLock;

use console::{Style, Term};

/// Whether there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Colours,
    Plain,
}

/// What both outputs of this process can show. Unless somebody looked, as in tests, there are no colours.
static OUTPUTS: OnceLock<[Paint; 2]> = OnceLock::new();

impl Paint {
    /// Looks at the outputs of this process, once.
    pub fn look_at_outputs() {
        let paint = |term: Term| if term.features().colors_supported() { Self::Colours } else { Self::Plain };
        OUTPUTS.get_or_init(|| [paint(Term::stdout()), paint(Term::stderr())]);
    }

    pub fn of_stdout() -> Self {
        OUTPUTS.get().map_or(Self::Plain, |[stdout, _]| *stdout)
    }

    pub fn of_stderr() -> Self {
        OUTPUTS.get().map_or(Self::Plain, |[_, stderr]| *stderr)
    }

    /// The title of a column.
    pub fn title(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    /// What an error begins with.
    pub fn error(self, text: &str) -> String {
        self.styled(Style::new().red().bold(), text)
    }

    /// A state, by its first word.
    pub fn state(self, text: &str) -> String {
        let style = match text.split([',', ' ']).next().unwrap_or_default() {
            "on" | "ok" | "done" | "running" => Style::new().green(),
            "suspended" | "warning" | "planned" => Style::new().yellow(),
            "failed" | "problem" => Style::new().red(),
            "off" | "skipped" | "unchanged" => Style::new().dim(),
            _ => return text.to_owned(),
        };
        self.styled(style, text)
    }

    fn styled(self, style: Style, text: &str) -> String {
        match self {
            Self::Colours if !text.is_empty() => style.force_styling(true).apply_to(text).to_string(),
            Self::Colours | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_told_by_its_first_word_and_only_with_colours() {
        let check = |text, expected| assert_eq!(Paint::Colours.state(text), expected);
        check("on", "\u{1b}[32mon\u{1b}[0m");
        check("off, held", "\u{1b}[2moff, held\u{1b}[0m");
        check("once", "once");
        check("", "");
        assert_eq!(Paint::Plain.state("on"), "on");
        assert_eq!(Paint::Plain.error("error:"), "error:");
    }
}
