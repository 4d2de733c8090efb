//! The log against an oracle that keeps everything.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|script: &[u8]| log::model::run(script));
