//! Tables for people: aligned columns, no frame, nothing cut off, so that they also serve `grep` and `awk`.

use console::measure_text_width;

use super::Paint;

/// What stands between columns.
const GAP: usize = 2;

/// Rows under a header for standard output, without the last line break. Cells are expected to be printable.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    painted(Paint::of_stdout(), header, rows)
}

/// The same for a remark, which spells out the codes of colours.
pub fn plain_table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    painted(Paint::Plain, header, rows)
}

fn painted<const N: usize>(
    paint: Paint,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let rows: Vec<_> = rows.into_iter().map(|row| row.map(Cell::plain).into()).collect();
    grid(&header.map(str::to_owned), &rows, paint)
}

/// What stands in one place of a table.
#[derive(Debug)]
pub(super) struct Cell {
    text: String,
    is_state: bool,
}

impl Cell {
    pub(super) fn plain(text: String) -> Self {
        Self { text, is_state: false }
    }

    /// One that may have a colour.
    pub(super) fn state(text: String) -> Self {
        Self { text, is_state: true }
    }

    fn width(&self) -> usize {
        self.text.lines().map(measure_text_width).max().unwrap_or_default()
    }
}

/// The same for any number of columns. A header of empty titles is left out.
pub(super) fn grid(header: &[String], rows: &[Vec<Cell>], paint: Paint) -> String {
    let width = |(at, title): (usize, &String)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(Cell::width);
        cells.max().unwrap_or_default().max(measure_text_width(title))
    };
    let widths: Vec<usize> = header.iter().enumerate().map(width).collect();
    let titles = header.iter().map(|title| (title.as_str(), paint.title(title)));
    let titles = header.iter().any(|title| !title.is_empty()).then(|| line(titles, &widths));
    let rows = rows.iter().flat_map(|row| lines(row, &widths, paint));
    titles.into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// The lines of a row, of which a cell may have several.
fn lines(row: &[Cell], widths: &[usize], paint: Paint) -> Vec<String> {
    let height = row.iter().map(|cell| cell.text.lines().count()).max().unwrap_or_default().max(1);
    let nth = |nth: usize| {
        let part = move |cell: &'_ Cell| {
            let text = cell.text.lines().nth(nth).unwrap_or_default().to_owned();
            let shown = if cell.is_state { paint.state(&text) } else { text.clone() };
            (text, shown)
        };
        line(row.iter().map(part), widths)
    };
    (0..height).map(nth).collect()
}

/// Each text with what is shown of it: colours take no room.
fn line(texts: impl Iterator<Item = (impl AsRef<str>, String)>, widths: &[usize]) -> String {
    let padded = texts.zip(widths).map(|((text, shown), width)| {
        let missing = width.saturating_sub(measure_text_width(text.as_ref()));
        format!("{shown}{}", " ".repeat(missing + GAP))
    });
    padded.collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_they_show() {
        let rows = [["日本", "on"], ["a much longer name", "suspended"]].map(|row| row.map(str::to_owned));
        insta::assert_snapshot!(table(["NAME", "POWER"], rows), @r"
        NAME                POWER
        日本                on
        a much longer name  suspended
        ");
    }

    #[test]
    fn a_cell_may_have_several_lines_and_a_table_no_header() {
        let rows = [["annotation", "first\n\n  third"], ["name", "x"]].map(|row| row.map(str::to_owned));
        insta::assert_snapshot!(table(["", ""], rows), @r"
        annotation  first

                      third
        name        x
        ");
    }

    #[test]
    fn colours_take_no_room() {
        let plain = |text: &str| Cell::plain(text.to_owned());
        let rows = [["a", "on", "x"], ["b", "once", "y"]]
            .map(|[name, power, ip]| vec![plain(name), Cell::state(power.to_owned()), plain(ip)]);
        let header = ["NAME", "POWER", "IP"].map(str::to_owned);
        let painted = grid(&header, &rows, Paint::Colours);
        assert!(painted.contains("\u{1b}[1mPOWER\u{1b}[0m") && painted.contains("\u{1b}[32mon\u{1b}[0m"));
        let codes = ["\u{1b}[1m", "\u{1b}[32m", "\u{1b}[0m"];
        let without = codes.iter().fold(painted, |text, code| text.replace(code, ""));
        assert_eq!(without, grid(&header, &rows, Paint::Plain));
    }
}
