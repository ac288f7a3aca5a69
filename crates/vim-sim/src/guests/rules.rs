//! What programs do in guests whose programs are not run for real: as told, or what their command line plainly says.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use rookery_sim::glob;
use serde::{Deserialize, Serialize};

use super::GuestPower;
use super::shell::{self, Guest, Outcome};

/// How programs behave. The first rule that fits a program counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProgramRule {
    /// Names of VMs, with `*` and `?`.
    pub vm: String,
    /// Paths of programs, with `*` and `?`.
    pub program: String,
    /// Arguments, with `*` and `?`.
    pub arguments: String,
    pub exit_code: i32,
    /// How long it runs.
    pub runs: SignedDuration,
    /// What it says, if its arguments redirect that to a file.
    pub prints: String,
    /// What it complains about, likewise.
    pub complains: String,
    /// The files that it leaves behind, by path.
    pub writes: BTreeMap<String, String>,
    /// What the end of the program does to the VM.
    pub then: Option<GuestPower>,
    /// Whether whoever runs the simulator plays the program: they are told of its start, and end it. Nothing else of
    /// the rule counts then.
    pub announced: bool,
}

impl Default for ProgramRule {
    fn default() -> Self {
        Self {
            vm: "*".to_owned(),
            program: "*".to_owned(),
            arguments: "*".to_owned(),
            exit_code: 0,
            runs: SignedDuration::ZERO,
            prints: String::new(),
            complains: String::new(),
            writes: BTreeMap::new(),
            then: None,
            announced: false,
        }
    }
}

impl ProgramRule {
    fn fits(&self, vm: &str, program: &str, arguments: &str) -> bool {
        let like = glob::matches;
        like(&self.vm, vm) && like(&self.program, program) && like(&self.arguments, arguments)
    }

    fn outcome(&self, line: &str, guest: &Guest<'_>) -> Outcome {
        let [output, errors] = shell::redirections(line, guest);
        let mut outcome =
            Outcome { code: self.exit_code, lasts: self.runs, power: self.then, ..Outcome::default() };
        for (path, text) in [(output, &self.prints), (errors, &self.complains)] {
            if let Some(path) = path {
                outcome.files.entry(path).or_default().bytes.extend_from_slice(text.as_bytes());
            }
        }
        for (path, text) in &self.writes {
            outcome.files.entry(path.clone()).or_default().bytes = text.clone().into_bytes();
        }
        outcome
    }
}

/// Whether a player in this process decides when the program ends.
pub(super) fn is_announced(rules: &[ProgramRule], vm: &str, program: &str, arguments: &str) -> bool {
    rules.iter().find(|rule| rule.fits(vm, program, arguments)).is_some_and(|rule| rule.announced)
}

/// What a program does.
pub(super) fn decide(
    rules: &[ProgramRule],
    vm: &str,
    program: &str,
    arguments: &str,
    guest: &Guest<'_>,
) -> Outcome {
    // As tools on Linux hand it to a shell.
    let line = format!("\"{program}\" {arguments}");
    match rules.iter().find(|rule| rule.fits(vm, program, arguments)) {
        Some(rule) => rule.outcome(&line, guest),
        None => shell::run(&line, guest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_like_those_of_a_shell() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("*", "anything", true),
            ("ci-*", "ci-1", true),
            ("ci-*", "x-ci-1", false),
            ("*a*b", "xaab", true),
            ("*a*b", "xaabc", false),
            ("?", "é", true),
            ("?", "", false),
            ("", "x", false),
        ] {
            assert_eq!(glob::matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn a_rule_says_what_a_program_prints_and_writes_and_what_becomes_of_the_vm() {
        let rule = ProgramRule {
            vm: "ci-*".to_owned(),
            program: "*/worker".to_owned(),
            exit_code: 3,
            runs: SignedDuration::from_secs(5),
            prints: "working\n".to_owned(),
            writes: [("/tmp/result".to_owned(), "done".to_owned())].into(),
            then: Some(GuestPower::Off),
            ..ProgramRule::default()
        };
        let guest = Guest::plain();
        let rules = [rule];
        let outcome = decide(&rules, "ci-1", "/opt/worker", "--all 1> /tmp/out 2> /tmp/err", &guest);
        assert_eq!(
            (outcome.code, outcome.lasts, outcome.power),
            (3, SignedDuration::from_secs(5), Some(GuestPower::Off))
        );
        let text = |path: &str| String::from_utf8(outcome.files[path].bytes.clone()).unwrap();
        assert_eq!(
            (text("/tmp/out"), text("/tmp/err"), text("/tmp/result")),
            ("working\n".into(), String::new(), "done".into())
        );
        // Another VM, another program: the rule is not for them.
        for (vm, program) in [("web", "/opt/worker"), ("ci-1", "/opt/other")] {
            assert_eq!(decide(&rules, vm, program, "", &guest).code, 0);
        }
    }
}
