//! As much Markdown as the rules about documents need: code blocks, headings, links, tables.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Prose,
    Code,
}

/// All lines except the fences themselves.
pub(super) fn lines(document: &str) -> Vec<Line<'_>> {
    let mut fence: Option<&str> = None;
    let mut lines = vec![];
    for (number, text) in (1..).zip(document.lines()) {
        let marks = ["```", "~~~"].into_iter().find(|marks| text.trim_start().starts_with(marks));
        match (fence, marks) {
            (None, Some(_)) => fence = marks,
            (Some(open), Some(close)) if open == close => fence = None,
            (Some(_), _) => lines.push(Line { number, text, kind: Kind::Code }),
            (None, None) => lines.push(Line { number, text, kind: Kind::Prose }),
        }
    }
    lines
}

/// Targets of `[text](target)` and `[name]: target`, each with its line.
pub(super) fn links(document: &str) -> Vec<(usize, String)> {
    let mut links = vec![];
    for line in lines(document).iter().filter(|line| line.kind == Kind::Prose) {
        let text = without_code(line.text);
        let inline = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let definition = text
            .trim_start()
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(_, target)| target);
        let targets = inline.chain(definition).filter_map(|target| target.split_whitespace().next());
        links.extend(targets.map(|target| (line.number, target.trim_matches(['<', '>']).to_owned())));
    }
    links
}

/// The cells below that heading in every table that has it, each with its line.
pub(super) fn column(document: &str, heading: &str) -> Vec<(usize, String)> {
    let mut cells_below = vec![];
    // Of the table that we are in: where the column is, if it has one.
    let mut table: Option<Option<usize>> = None;
    for line in lines(document) {
        let row = line.text.trim();
        if line.kind == Kind::Code || !row.starts_with('|') {
            table = None;
            continue;
        }
        let row = row.replace("\\|", " ");
        let mut cells = row.split('|').map(str::trim);
        match table {
            None => table = Some(cells.position(|cell| cell.eq_ignore_ascii_case(heading))),
            Some(at) => {
                let cell = at.and_then(|at| cells.nth(at));
                cells_below.extend(cell.map(|cell| (line.number, cell.to_owned())));
            }
        }
    }
    cells_below
}

/// The anchors of a document's headings, as GitHub makes them.
pub(super) fn anchors(document: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = BTreeSet::new();
    for line in lines(document).iter().filter(|line| line.kind == Kind::Prose) {
        let heading = line.text.trim_start_matches('#');
        if heading.len() < line.text.len() && heading.starts_with(' ') {
            let slug = slug(heading.trim());
            let times = seen.entry(slug.clone()).or_default();
            anchors.insert(if *times == 0 { slug } else { format!("{slug}-{times}") });
            *times += 1;
        }
    }
    anchors
}

fn slug(heading: &str) -> String {
    let letters = heading.chars().flat_map(char::to_lowercase).filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then_some(letter),
    });
    letters.collect()
}

/// A line without its `inline code`: what looks like a link in there is none.
fn without_code(line: &str) -> String {
    let pieces: Vec<&str> = line.split('`').collect();
    pieces.iter().step_by(2).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let document = "See [a](one.md) and ![b](two.png \"title\"), not `[c](no.md)`.\n```\n[d](no.md)\n```\n[e]: <three.md>\n";
        let found = links(document);
        assert_eq!(found, [(1, "one.md".to_owned()), (1, "two.png".to_owned()), (5, "three.md".to_owned())]);
    }

    #[test]
    fn a_column_is_found_in_each_table_that_has_it() {
        let document = "| test | x |\n|---|---|\n| a | no |\nprose\n| y | z |\n|---|---|\n| no | no |\n\n\
            | y | Test |\n|---|---|\n| `p \\| q` | b |\n| short |\n```\n| test |\n|---|\n| no |\n```\n";
        let found = column(document, "test");
        let found: Vec<_> = found.iter().map(|(line, cell)| (*line, cell.as_str())).collect();
        assert_eq!(found, [(2, "---"), (3, "a"), (10, "---"), (11, "b"), (12, "")]);
    }

    #[test]
    fn headings_become_anchors() {
        let document = "# The way of one job\n## `vm ls`, *fast* & small_er\n## Twice\n## Twice\n#no\n```\n# not me\n```\n## Über 1.2\n";
        let expected = ["the-way-of-one-job", "twice", "twice-1", "vm-ls-fast--small_er", "über-12"];
        assert_eq!(anchors(document).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_fence_ends_with_its_own_marks() {
        let code = |document| lines(document).iter().filter(|line| line.kind == Kind::Code).count();
        assert_eq!(code("~~~\n```\n~~~\nprose"), 1);
    }
}
