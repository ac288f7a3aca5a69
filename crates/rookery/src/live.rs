//! The live page of `up`, `hatchery top` and `vm top`: what a source knows, on a screen or line by line in a pipe.
//!
//! ```text
//!   source ─► Model ──┐
//!             events ─┴─► view::draw ─► terminal          (pure up to the terminal)
//!                            ▲
//!             keys ─► Ui ────┘
//! ```
//!
//! A source fills a [`Model`] as far as it knows, and tells its [`Page`] when something happens. What is drawn follows from
//! the model, the events and what the reader has chosen ([`ui::Ui`]) alone, so that it is tested without a terminal; the
//! shell in `page.rs` and `terminal.rs` decides nothing.

mod board;
mod keys;
mod look;
pub(crate) mod model;
mod page;
mod plain;
mod start_times;
mod terminal;
mod text;
mod ui;
mod view;

pub(crate) use model::Model;
pub(crate) use page::{Audience, Page, give_terminal_back, on_page};
#[cfg(test)]
pub(crate) use plain::lines as plain_lines;
pub(crate) use start_times::{StartTimes, seconds, took};
