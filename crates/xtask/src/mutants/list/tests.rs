use super::*;

const ROW: &str = "\
# A comment.
mutant: m
breaks: A rule.
file:   a.rs
line:   if x {
into:   if true {
test:   p --lib a::b
test:   q --test t c
";

fn refusal(list: &str) -> String {
    parse(list).expect_err(list).to_string()
}

#[test]
fn a_row_is_read() {
    let suite = |package: &str, target: &[&str]| Suite {
        package: package.to_owned(),
        target: target.iter().map(|&word| word.to_owned()).collect(),
    };
    let expected = Mutant {
        id: "m".to_owned(),
        breaks: "A rule.".to_owned(),
        file: "a.rs".to_owned(),
        line: "if x {".to_owned(),
        into: "if true {".to_owned(),
        tests: vec![
            Test { suite: suite("p", &["--lib"]), name: "a::b".to_owned() },
            Test { suite: suite("q", &["--test", "t"]), name: "c".to_owned() },
        ],
    };
    assert_eq!(parse(ROW).unwrap(), [expected]);
    assert_eq!(parse("# Nothing yet.\n\n").unwrap(), []);
}

#[test]
fn a_wrong_row_is_refused_where_it_is_wrong() {
    let place = "crates/xtask/mutants.list";
    assert!(refusal(&ROW.replace("breaks: A rule.\n", "")).starts_with(&format!("{place}:3: `breaks:` was")));
    assert!(refusal(&ROW.replace("A rule.", "")).starts_with(&format!("{place}:3: something")));
    assert!(refusal(&ROW.replace("--lib ", "")).starts_with(&format!("{place}:7: `PACKAGE TARGET NAME`")));
    assert!(refusal(&format!("{ROW}\n{ROW}")).starts_with(&format!("{place}:11: there is a mutant m")));
    assert_eq!(refusal("mutant: m\nbreaks: A rule."), format!("{place}: the last row lacks `file:`"));
}

#[test]
fn a_mutant_replaces_one_whole_line_and_keeps_its_indentation() {
    let mutant = parse(ROW).unwrap().remove(0);
    let source = "    if x {\n    if x { y }\n";
    assert_eq!(mutant.apply(source).unwrap(), "    if true {\n    if x { y }\n");
    for (source, times) in [("if y {\n", 0), ("if x {\n  if x {\n", 2)] {
        let problem = mutant.apply(source).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("the line stands {times} times in a.rs")), "{problem}");
    }
}
