//! What the terminal can show: colours, and the characters that bars are made of. Pure, but for a look at the environment.

use ratatui::style::{Color, Modifier, Style};

use crate::output::Paint;

/// How things look on this terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) paint: Paint,
    pub(super) glyphs: Glyphs,
}

/// What bars are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Glyphs {
    Blocks,
    /// For terminals and locales without Unicode.
    Ascii,
}

const EIGHTHS: [&str; 7] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_LEVELS: [char; 8] = ['_', '.', '-', '~', '=', '+', '*', '#'];

pub(super) const TITLE: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const QUIET: Style = Style::new().add_modifier(Modifier::DIM);

impl Look {
    pub(super) fn of_this_terminal() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
        let glyphs = Glyphs::of(variable("TERM").as_deref(), locale.as_deref());
        Self { paint: Paint::of_stdout(), glyphs }
    }

    /// Where somebody has to look.
    pub(super) fn alarm(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn warning(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// What is as it should be.
    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn name(self) -> Style {
        self.coloured(Color::Cyan)
    }

    /// A state, by its word. The word itself says it, too.
    pub(super) fn state(self, word: &str) -> Style {
        match word.split([',', ' ']).next().unwrap_or_default() {
            "on" | "running" | "run" | "served" | "succeeded" | "warm" | "ready" => self.good(),
            "suspended" | "starting" | "warming" | "kept" | "waits" | "waiting" | "wait" => self.warning(),
            "failed" => self.alarm(),
            "off" | "finished" | "template" | "ended" => QUIET,
            _ => Style::new(),
        }
    }

    fn coloured(self, colour: Color) -> Style {
        match self.paint {
            Paint::Colours => Style::new().fg(colour),
            Paint::Plain => Style::new(),
        }
    }

    /// A bar of so many cells, of which `part` in `whole` are filled. Anything is more than nothing, and not all is less
    /// than all.
    pub(super) fn bar(self, part: u64, whole: u64, cells: usize) -> String {
        let eighths = u128::try_from(cells * 8).unwrap_or_default();
        let filled = u128::from(part.min(whole)) * eighths / u128::from(whole.max(1));
        let filled = match (part, filled) {
            (0, _) => 0,
            (_, 0) => 1,
            (_, filled) => filled,
        };
        let filled = if part < whole { filled.min(eighths.saturating_sub(1)) } else { filled };
        let filled = usize::try_from(filled).unwrap_or_default();
        let (full, rest) = match self.glyphs {
            Glyphs::Blocks => {
                let rest = (filled % 8).checked_sub(1).and_then(|at| EIGHTHS.get(at)).copied();
                ("█".repeat(filled / 8), rest.unwrap_or_default())
            }
            Glyphs::Ascii => ("#".repeat(filled.div_ceil(8)), ""),
        };
        let bar = format!("{full}{rest}");
        let empty = cells.saturating_sub(bar.chars().count());
        let empty = match self.glyphs {
            Glyphs::Blocks => "░".repeat(empty),
            Glyphs::Ascii => ".".repeat(empty),
        };
        bar + &empty
    }

    /// A bar as long as it is, without what is empty.
    pub(super) fn plain_bar(self, part: u64, whole: u64, cells: usize) -> String {
        self.bar(part, whole, cells).trim_end_matches(['░', '.']).to_owned()
    }

    /// A character for each value, as high as it is beside the highest one.
    pub(super) fn sparkline(self, values: &[u128]) -> String {
        let most = values.iter().copied().max().unwrap_or_default().max(1);
        let levels = match self.glyphs {
            Glyphs::Blocks => LEVELS,
            Glyphs::Ascii => ASCII_LEVELS,
        };
        let level = |value: &u128| {
            let at = usize::try_from(value * 7 / most).unwrap_or_default();
            levels.get(at).copied().unwrap_or(' ')
        };
        values.iter().map(level).collect()
    }
}

impl Glyphs {
    /// The console of Linux has few blocks; a locale that names no UTF-8 has none.
    fn of(term: Option<&str>, locale: Option<&str>) -> Self {
        let speaks_unicode = locale.is_none_or(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        });
        if speaks_unicode && term != Some("linux") { Self::Blocks } else { Self::Ascii }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: Look = Look { paint: Paint::Plain, glyphs: Glyphs::Blocks };
    const ASCII: Look = Look { paint: Paint::Plain, glyphs: Glyphs::Ascii };

    #[test]
    fn a_bar_is_full_only_if_all_is_used_and_empty_only_if_nothing_is() {
        for (part, whole, blocks, ascii) in [
            (0, 16, "░░░░", "...."),
            (1, 1000, "▏░░░", "#..."),
            (4, 16, "█░░░", "#..."),
            (6, 16, "█▌░░", "##.."),
            (999, 1000, "███▉", "####"),
            (16, 16, "████", "####"),
            (20, 16, "████", "####"),
            (0, 0, "░░░░", "...."),
        ] {
            assert_eq!(BLOCKS.bar(part, whole, 4), blocks, "{part} of {whole}");
            assert_eq!(ASCII.bar(part, whole, 4), ascii, "{part} of {whole}");
        }
        assert_eq!(BLOCKS.bar(1, 2, 0), "");
        assert_eq!(BLOCKS.plain_bar(6, 16, 4), "█▌");
    }

    #[test]
    fn the_highest_value_of_a_sparkline_is_full() {
        assert_eq!(BLOCKS.sparkline(&[0, 1, 4, 7]), "▁▂▅█");
        assert_eq!(ASCII.sparkline(&[0, 1, 4, 7]), "_.=#");
        assert_eq!(BLOCKS.sparkline(&[0, 0]), "▁▁");
        assert_eq!(BLOCKS.sparkline(&[]), "");
    }

    #[test]
    fn blocks_need_a_terminal_and_a_locale_that_have_them() {
        let check = |term, locale, expected| assert_eq!(Glyphs::of(term, locale), expected);
        check(Some("xterm-256color"), Some("de_DE.UTF-8"), Glyphs::Blocks);
        check(Some("screen"), Some("en_US.utf8"), Glyphs::Blocks);
        check(None, None, Glyphs::Blocks);
        check(Some("xterm"), Some("C"), Glyphs::Ascii);
        check(Some("xterm"), Some("de_DE@euro"), Glyphs::Ascii);
        check(Some("linux"), Some("de_DE.UTF-8"), Glyphs::Ascii);
    }

    #[test]
    fn without_colours_nothing_has_one() {
        for style in [ASCII.alarm(), ASCII.warning(), ASCII.good(), ASCII.name(), ASCII.state("on")] {
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
