//! Packagers behind a real stream: what a listener gets, joining at any moment.

mod bytes;
mod flv;
mod opus;
mod titles;
