use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::SeedableRng;

use super::*;

fn legal(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(letters) && !name.ends_with('-')
}

#[test]
fn the_longest_words_after_the_longest_prefix_make_a_legal_name() {
    let longest = |words: &[&str]| words.iter().map(|word| word.len()).max().expect("words");
    let worded = 2 * longest(&ADJECTIVES) + "-and-".len() + "-".len() + longest(&SURNAMES);
    let numbered = longest(&SURNAMES) + "-".len() + u32::MAX.to_string().len();
    assert!(LONGEST_PREFIX + worded.max(numbered) <= LONGEST, "{}", LONGEST_PREFIX + worded);
    assert!(
        ADJECTIVES.iter().chain(&*SURNAMES).all(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))
    );
    for words in [&ADJECTIVES, &SURNAMES] {
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len(), "a word stands twice");
    }
}

#[test]
fn names_do_not_run_out_when_all_words_are_taken() {
    let mut random = StdRng::seed_from_u64(2);
    let worded = |name: &str| !name.bytes().any(|byte| byte.is_ascii_digit());
    let name = fresh("", &mut random, &worded);
    assert!(legal(&name) && !worded(&name), "{name}");
}

proptest! {
    #[test]
    fn names_are_legal_unique_and_begin_with_their_prefix(seed: u64, prefix in "|[a-z][a-z0-9-]{0,31}") {
        let mut random = StdRng::seed_from_u64(seed);
        let used = RefCell::new(BTreeSet::<String>::new());
        let taken = |name: &str| used.borrow().contains(name);
        for _ in 0..160 {
            let name = fresh(&prefix, &mut random, &taken);
            prop_assert!(legal(&name) && name.starts_with(&prefix), "{name}");
            prop_assert!(used.borrow_mut().insert(name));
        }
    }
}
