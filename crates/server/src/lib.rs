//! The relay: what turns the crates below it into one program.

pub mod config;
