//! Medians and spreads, side by side.

/// Measurements of one thing, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct Series(Vec<u64>);

impl Series {
    pub(crate) fn add(&mut self, microseconds: u64) {
        self.0.push(microseconds);
        self.0.sort_unstable();
    }

    fn median(&self) -> u64 {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    /// `median ms (least–most)`.
    fn show(&self) -> String {
        let ms = |us: u64| f64::from(u32::try_from(us).unwrap_or(u32::MAX)) / 1000.0;
        let (least, most) = (self.0.first().copied().unwrap_or(0), self.0.last().copied().unwrap_or(0));
        format!("{:.1} ms ({:.1}–{:.1})", ms(self.median()), ms(least), ms(most))
    }
}

/// Prints ours beside theirs, with the ratio of the medians and the ratio to reach.
pub(crate) fn compare(what: &str, ours: (&str, &Series), theirs: (&str, &Series), goal: f64) {
    let as_float = |series: &Series| f64::from(u32::try_from(series.median()).unwrap_or(u32::MAX));
    let ratio = as_float(theirs.1) / as_float(ours.1).max(1.0);
    let verdict = if ratio >= goal { "reached" } else { "NOT reached" };
    println!(
        "{what}: {} {}, {} {}: {ratio:.1} times less (goal {goal:.0}: {verdict})",
        ours.0,
        ours.1.show(),
        theirs.0,
        theirs.1.show()
    );
}
