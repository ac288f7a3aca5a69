//! Licence expressions: `AND`, `OR`, `WITH`, parentheses, and crates.io's old `MIT/Apache-2.0`.

/// Whether an expression can be satisfied with licences that `allowed` accepts. An exception is asked for together
/// with its licence: `Apache-2.0 WITH LLVM-exception`.
pub(super) fn satisfied(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool, &'static str> {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut reader = Reader { words: spaced.split_whitespace().collect(), next: 0, allowed };
    let answer = reader.any()?;
    if reader.peek().is_none() { Ok(answer) } else { Err("an operator was expected") }
}

struct Reader<'a, F> {
    words: Vec<&'a str>,
    next: usize,
    allowed: F,
}

impl<'a, F: Fn(&str) -> bool> Reader<'a, F> {
    fn any(&mut self) -> Result<bool, &'static str> {
        let mut answer = self.all()?;
        while self.eat("OR") {
            answer |= self.all()?;
        }
        Ok(answer)
    }

    fn all(&mut self) -> Result<bool, &'static str> {
        let mut answer = self.one()?;
        while self.eat("AND") {
            answer &= self.one()?;
        }
        Ok(answer)
    }

    fn one(&mut self) -> Result<bool, &'static str> {
        if self.eat("(") {
            let answer = self.any()?;
            return if self.eat(")") { Ok(answer) } else { Err("`)` was expected") };
        }
        let licence = self.name()?;
        if self.eat("WITH") {
            let exception = self.name()?;
            return Ok((self.allowed)(&format!("{licence} WITH {exception}")));
        }
        Ok((self.allowed)(licence))
    }

    fn name(&mut self) -> Result<&'a str, &'static str> {
        let word = self.peek().filter(|word| !matches!(*word, "AND" | "OR" | "WITH" | "(" | ")"));
        self.next += 1;
        word.ok_or("a licence was expected")
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn eat(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.next += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Result<bool, &str>) {
        let allowed = ["MIT", "ISC", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        assert_eq!(satisfied(expression, |licence| allowed.contains(&licence)), expected, "{expression}");
    }

    #[test]
    fn one_branch_of_or_suffices_and_all_of_and_are_needed() {
        check("MIT", Ok(true));
        check("GPL-3.0-only", Ok(false));
        check("MIT OR GPL-3.0-only", Ok(true));
        check("MIT AND GPL-3.0-only", Ok(false));
        check("MIT/Apache-2.0", Ok(true));
        check("(MIT OR Apache-2.0) AND Unicode-3.0", Ok(true));
        check("ISC AND (Apache-2.0 OR ISC) AND OpenSSL", Ok(false));
    }

    #[test]
    fn and_binds_closer_than_or() {
        check("MIT OR MIT AND GPL-3.0-only", Ok(true));
        check("(MIT OR MIT) AND GPL-3.0-only", Ok(false));
        check("GPL-3.0-only AND MIT OR ISC", Ok(true));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        check("Apache-2.0 WITH LLVM-exception", Ok(true));
        check("MIT WITH LLVM-exception", Ok(false));
        check("GPL-3.0-only WITH X OR Apache-2.0 WITH LLVM-exception", Ok(true));
    }

    #[test]
    fn broken_expressions_are_refused() {
        for expression in ["", "MIT OR", "(MIT", "MIT)", "MIT ISC", "AND MIT", "MIT WITH"] {
            assert!(satisfied(expression, |_| true).is_err(), "{expression}");
        }
    }
}
