//! Tables for people: aligned columns, no frame, nothing cut off, so that they also serve `grep` and `awk`.

use comfy_table::{ContentArrangement, Table, presets};

/// Rows under a header, without the last line break. Cells are expected to be printable.
pub fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if header.iter().any(|title| !title.is_empty()) {
        table.set_header(header);
    }
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
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
}
