//! WebM: how the input is cut makes no difference, and no byte is lost uncounted.

#![no_main]

#[path = "../shared/demux.rs"]
mod demux;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    demux::check("video/webm", 0, data);
});
