//! The relay server.
fn main() {}
