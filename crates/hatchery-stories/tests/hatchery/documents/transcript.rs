//! What a document asks its reader to type. Pure.

/// What is typed in one sitting.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) steps: Vec<Step>,
    /// Lines of blocks that are for the reader alone, each with the reason.
    pub(super) not_run: Vec<(usize, String)>,
}

/// A block, by the line of its fence; or a command of it and what it prints.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Script {
        line: usize,
        text: String,
    },
    /// In a terminal of its own, where it stays.
    GoesOn {
        line: usize,
        text: String,
        until: String,
    },
    Shown(Shown),
}

/// A command and what it prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) line: usize,
    pub(super) command: String,
    pub(super) prints: Vec<String>,
    pub(super) in_any_order: bool,
}

/// What a comment before a block says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    NotRun(String),
    GoesOn(String),
    InAnyOrder,
}

/// The document by its `##` sections. A mark that is not understood, or that stands before no block, is an error.
pub(super) fn sections(document: &str) -> Result<Vec<Section>, String> {
    let mut sections = vec![Section::default()];
    let mut mark: Option<Mark> = None;
    let mut block: Option<(usize, &str, Vec<&str>)> = None;
    for (line, text) in (1..).zip(document.lines()) {
        match (&mut block, text.strip_prefix("```")) {
            (None, Some(language)) => block = Some((line, language, vec![])),
            (Some((_, _, inside)), None) => inside.push(text),
            (Some((start, language, inside)), Some(_)) => {
                if let Some(section) = sections.last_mut() {
                    add(section, *start, language, inside, mark.take())?;
                }
                block = None;
            }
            (None, None) => {
                if mark.is_some() && !text.is_empty() {
                    return Err(format!("{line}: the comment before it is about no block"));
                }
                mark = mark.or(read(text).map_err(|wrong| format!("{line}: {wrong}"))?);
                if let Some(heading) = text.strip_prefix("## ") {
                    sections.push(Section { heading: heading.to_owned(), ..Section::default() });
                }
            }
        }
    }
    Ok(sections)
}

fn read(line: &str) -> Result<Option<Mark>, String> {
    let Some(said) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) else {
        return Ok(None);
    };
    Ok(match said.split_once(": ") {
        Some(("not run", why)) => Some(Mark::NotRun(why.to_owned())),
        Some(("goes on", until)) => Some(Mark::GoesOn(until.to_owned())),
        _ if said == "in any order" => Some(Mark::InAnyOrder),
        _ if ["not run", "goes on"].iter().any(|mark| said.starts_with(mark)) => {
            return Err("the comment lacks its text".to_owned());
        }
        _ => None,
    })
}

fn add(
    section: &mut Section,
    line: usize,
    language: &str,
    inside: &[&str],
    mark: Option<Mark>,
) -> Result<(), String> {
    let text = || inside.join("\n") + "\n";
    match (language, mark) {
        ("sh" | "console", Some(Mark::NotRun(why))) => section.not_run.push((line, why)),
        ("sh", None) => section.steps.push(Step::Script { line, text: text() }),
        ("sh", Some(Mark::GoesOn(until))) => section.steps.push(Step::GoesOn { line, text: text(), until }),
        ("console", mark @ (None | Some(Mark::InAnyOrder))) => {
            section.steps.extend(commands(line, inside, mark.is_some()).into_iter().map(Step::Shown));
        }
        (_, None) => {}
        (_, Some(mark)) => return Err(format!("{line}: {mark:?} is not for a block of {language:?}")),
    }
    Ok(())
}

/// Each line with `$ ` is a command; what follows it is what it prints.
fn commands(start: usize, inside: &[&str], in_any_order: bool) -> Vec<Shown> {
    let mut commands: Vec<Shown> = vec![];
    for (line, text) in (start + 1..).zip(inside) {
        match (text.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                let command = command.to_owned();
                commands.push(Shown { line, command, prints: vec![], in_any_order });
            }
            (None, Some(last)) => last.prints.push((*text).to_owned()),
            (None, None) => {}
        }
    }
    commands
}

#[test]
fn blocks_are_read_in_their_order_with_what_is_said_of_them() {
    let document = "# T\n```sh\na\n```\n## S\n<!-- goes on: serving -->\n\n```sh\nb\n```\n```text\n$ no\n```\n<!-- in any order -->\n\
        ```console\n$ c | d\none\n\n$ e\n```\n<!-- not run: it takes a year -->\n```sh\nf\n```\n<!-- else -->\nprose\n";
    let shown = |line, command: &str, prints: &[&str]| {
        let prints = prints.iter().map(|text| (*text).to_owned()).collect();
        Step::Shown(Shown { line, command: command.to_owned(), prints, in_any_order: true })
    };
    let first =
        Section { steps: vec![Step::Script { line: 2, text: "a\n".to_owned() }], ..Section::default() };
    let second = Section {
        heading: "S".to_owned(),
        steps: vec![
            Step::GoesOn { line: 8, text: "b\n".to_owned(), until: "serving".to_owned() },
            shown(16, "c | d", &["one", ""]),
            shown(19, "e", &[]),
        ],
        not_run: vec![(22, "it takes a year".to_owned())],
    };
    assert_eq!(sections(document), Ok(vec![first, second]));
    for wrong in
        ["<!-- not run: x -->\nprose", "<!-- not run -->\n", "<!-- goes on: x -->\n```console\n$ a\n```"]
    {
        assert!(sections(wrong).is_err(), "{wrong}");
    }
}
