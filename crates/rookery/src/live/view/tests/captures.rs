//! Captures of each tab and of the help at three sizes.

mod large;
mod small;
mod usual;

use super::fixtures::{fleet, hatchery};
use super::*;
use crate::live::keys::Key;

const LARGE: (u16, u16) = (120, 40);
const USUAL: (u16, u16) = (80, 24);
const SMALL: (u16, u16) = (40, 10);

fn capture(content: &Content, keys: &[Key], size: (u16, u16)) -> String {
    shown(content, &after(content, keys, size), LOOK, size)
}

fn tab(number: char, size: (u16, u16)) -> String {
    capture(&hatchery(), &[Key::Char(number)], size)
}
