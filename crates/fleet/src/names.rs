//! New names for machines.

mod words;

use std::sync::LazyLock;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

type Words = LazyLock<Vec<&'static str>>;

static ADJECTIVES: Words = LazyLock::new(|| words::ADJECTIVES.split_whitespace().collect());
static SURNAMES: Words = LazyLock::new(|| words::SURNAMES.split_whitespace().collect());

/// How long a name may be, as for a host name.
pub const LONGEST: usize = 63;

/// The longest prefix after which there is room for any words.
pub const LONGEST_PREFIX: usize = 32;

/// A name with that prefix which nobody has. Words fail when nearly all of them are taken; numbers do not.
pub fn fresh(prefix: &str, random: &mut StdRng, taken: &dyn Fn(&str) -> bool) -> String {
    const DRAWS: usize = 50;
    for _ in 0..DRAWS {
        let name = format!("{prefix}{}", words(random));
        if !taken(&name) {
            return name;
        }
    }
    let surname = draw(&SURNAMES, random);
    let first: u32 = random.random();
    let numbered = |step: u32| format!("{prefix}{surname}-{}", first.wrapping_add(step));
    (0..=u32::MAX).map(numbered).find(|name| !taken(name)).unwrap_or_else(|| numbered(0))
}

fn words(random: &mut StdRng) -> String {
    let surname = draw(&SURNAMES, random);
    let first = draw(&ADJECTIVES, random);
    match random.random_range(0..3) {
        0 => format!("{first}-{surname}"),
        1 => format!("{first}-and-{}-{surname}", draw(&ADJECTIVES, random)),
        _ => format!("{first}-but-{}-{surname}", draw(&ADJECTIVES, random)),
    }
}

fn draw(words: &[&'static str], random: &mut StdRng) -> &'static str {
    words.choose(random).copied().unwrap_or("nameless")
}

#[cfg(test)]
mod tests;
