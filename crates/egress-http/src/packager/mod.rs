//! Items to the wire formats of HTTP listeners.
//!
//! Each packager here is pure: items in, units with their entries out. A lane that opens in the
//! middle of a stream is first given the tracks, the header, the metadata, the title and the recent
//! samples, in that order, and then what arrives; so whatever comes before the first sample belongs
//! into preambles, and is never also written to the log, where a joiner would get it twice.

mod elementary;
mod flv;
mod icy;
mod opus;
mod raw;

#[cfg(test)]
mod tests;

pub(crate) use elementary::Elementary;
pub(crate) use flv::Flv;
pub(crate) use icy::{Icy, METAINT};
pub(crate) use opus::Opus;
pub(crate) use raw::Raw;
