//! The client against a scripted server at the other end of a pipe, on simulated time.

mod captures;
mod feeds;
mod kit;
mod models;
mod replays;
mod retries;
mod sessions;
mod settling;
