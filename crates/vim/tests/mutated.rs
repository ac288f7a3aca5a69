//! Damaged and hostile documents: no panic, memory bounded by the length of what came, and no other tree than an
//! independent parser sees.
//!
//! One test in a binary of its own, because the allocator counts for the whole process. Every document is made from
//! a number that is printed on failure; [`mutation::mutate`] with that number makes the same document again.

#![expect(clippy::expect_used, reason = "helpers of tests")]

#[path = "codec/documents.rs"]
mod documents;
#[path = "mutated/hostile.rs"]
mod hostile;
#[path = "mutated/independent.rs"]
mod independent;
#[path = "mutated/mutation.rs"]
mod mutation;

use peak_alloc::PeakAlloc;
use rookery_vim::envelope::{self, AnswerError};
use rookery_vim::methods::{
    ContinueRetrievePropertiesEx, CreateFilter, CreateVmTask, CurrentTime, ListProcessesInGuest, Login,
    Method, ModifyListView, RecommendDatastores, RetrievePropertiesEx, RetrieveServiceContent,
    StartProgramInGuest, WaitForUpdatesEx,
};
use rookery_vim::{Limits, ParseError, node};

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

const MUTANTS: u64 = 120_000;

/// Bytes that reading may use at its peak, the document itself not counted: what was measured for mutants, doubled.
fn bound_for_mutants(length: usize) -> usize {
    (64 << 10) + 20 * length
}

/// The same for any document. An element may be four characters long, is about a hundred bytes in a tree, and is
/// for a moment both in the old and in the twice as large new place of a list that grows: 3 × 104 / 4.
fn bound_for_anything(length: usize) -> usize {
    (64 << 10) + 80 * length
}

#[test]
fn damaged_and_hostile_documents_never_panic_and_never_use_more_memory_than_their_length_allows() {
    let documents: Vec<Vec<u8>> = documents::all().into_values().collect();
    let undamaged = undamaged(&documents);

    let mut tally = Tally::default();
    for seed in 0..MUTANTS {
        let document = mutation::mutate(&documents, seed);
        let _shown = ShownOnPanic(seed);
        let peak = peak_of(|| tally.read(&document));
        tally.compare(&document, seed);
        assert!(
            peak <= bound_for_mutants(document.len()),
            "seed {seed}: {peak} bytes for a document of {}",
            document.len()
        );
        tally.peak = tally.peak.max(peak);
        tally.percent = tally.percent.max(100 * peak / bound_for_mutants(document.len()));
    }
    println!("{MUTANTS} mutants of {} documents: {tally:?}", documents.len());
    println!("undamaged documents: at most {undamaged:.1} bytes of memory for each of their bytes");
    // The other parser lets `<a &b="c">` pass; but whatever a server may write, we must read too.
    assert!(tally.refused_by_us < MUTANTS / 100, "{tally:?}");
    // Otherwise the mutations only exercise the first syntax error.
    assert!(
        tally.parsed > MUTANTS / 5 && tally.results > MUTANTS / 50 && tally.faults > MUTANTS / 100,
        "{tally:?}"
    );

    let check = |name: &str, document: &[u8], most: usize, refused: bool| {
        let most = most.min(bound_for_anything(document.len()));
        let mut tally = Tally::default();
        let answer = peak_of(|| tally.answer::<ModifyListView>(document, &Limits::default()));
        let mut parsed = true;
        let tree = peak_of(|| parsed = node::parse(document, &Limits::default()).is_ok());
        let length = document.len();
        println!(
            "{name}: {length} bytes, peak {} KiB, as a tree {} of at most {}",
            answer >> 10,
            tree >> 10,
            most >> 10
        );
        assert_eq!((tally.unreadable == 1, !parsed), (refused, refused), "{name}: {tally:?}");
        assert!(answer <= most && tree <= most, "{name}: {answer} and {tree} bytes");
        // Of an answer only what has a place in the result is kept, and these documents have no result.
        assert!(!refused || answer <= 1 << 20, "{name}: {answer} bytes");
    };
    hostile::each_beyond_limits(|name, document, most| check(name, document, most, true));
    hostile::each_at_limits(|name, document, most| check(name, document, most, false));
}

/// How much memory the documents as they came need, in bytes for each of their bytes.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn undamaged(documents: &[Vec<u8>]) -> f64 {
    let ratio =
        |document: &Vec<u8>| peak_of(|| Tally::default().read(document)) as f64 / document.len() as f64;
    documents.iter().map(ratio).fold(0.0, f64::max)
}

fn peak_of(work: impl FnOnce()) -> usize {
    let before = PEAK.current_usage();
    PEAK.reset_peak_usage();
    work();
    PEAK.peak_usage().saturating_sub(before)
}

/// What became of the documents.
#[derive(Debug, Default)]
struct Tally {
    parsed: u64,
    results: u64,
    faults: u64,
    unreadable: u64,
    /// Documents that the other parser reads and ours does not, for reasons other than our limits.
    refused_by_us: u64,
    /// Most memory that one document took.
    peak: usize,
    /// How near a document came to its bound.
    percent: usize,
}

impl Tally {
    /// Everything that either side of the wire does with a document.
    fn read(&mut self, document: &[u8]) {
        let limits = Limits::default();
        self.parsed += u64::from(node::parse(document, &limits).is_ok());
        self.call::<CreateFilter>(document, &limits);
        self.call::<CreateVmTask>(document, &limits);
        self.call::<StartProgramInGuest>(document, &limits);
        self.answer::<RetrieveServiceContent>(document, &limits);
        self.answer::<RetrievePropertiesEx>(document, &limits);
        self.answer::<ContinueRetrievePropertiesEx>(document, &limits);
        self.answer::<WaitForUpdatesEx>(document, &limits);
        self.answer::<ModifyListView>(document, &limits);
        self.answer::<CurrentTime>(document, &limits);
        self.answer::<ListProcessesInGuest>(document, &limits);
        self.answer::<RecommendDatastores>(document, &limits);
        self.answer::<Login>(document, &limits);
        drop(envelope::versions(document));
    }

    /// What we read, another parser reads alike.
    fn compare(&mut self, document: &[u8], seed: u64) {
        let independent = independent::tree(document);
        match node::parse(document, &Limits::default()) {
            Ok(root) => assert_eq!(Some(root), independent, "seed {seed}"),
            Err(ParseError::Malformed { .. }) => self.refused_by_us += u64::from(independent.is_some()),
            Err(_) => {}
        }
    }

    fn call<M: Method>(&mut self, document: &[u8], limits: &Limits) {
        let call = node::parse(document, limits).ok().and_then(envelope::body);
        self.results += u64::from(call.is_some_and(|call| M::read(call).is_ok()));
    }

    fn answer<M: Method>(&mut self, document: &[u8], limits: &Limits) {
        match envelope::answer::<M>(document, limits) {
            Ok(_) => self.results += 1,
            Err(AnswerError::Fault(fault)) => {
                self.faults += 1;
                drop(fault.to_string());
            }
            Err(error) => {
                self.unreadable += u64::from(matches!(error, AnswerError::Unreadable { .. }));
                drop(error.to_string());
            }
        }
    }
}

struct ShownOnPanic(u64);

impl Drop for ShownOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}
