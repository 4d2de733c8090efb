//! Playlists: whatever the bytes are, entries are bounded in number and in length, and contain no control character.

#![no_main]

use libfuzzer_sys::fuzz_target;
use programme::station::playlist::{ENTRIES_MAX, Syntax};

/// Maximum length of a text, more than a location or a title may have.
const TEXT_BYTES_MAX: usize = 4_096;

fuzz_target!(|data: &[u8]| {
    for syntax in [Syntax::M3u, Syntax::Pls, Syntax::Xspf] {
        let entries = syntax.parse(data);
        assert!(entries.len() <= ENTRIES_MAX);
        for entry in entries {
            let texts = [Some(&entry.location), entry.title.as_ref()];
            for text in texts.into_iter().flatten() {
                assert!(!text.is_empty() && text.len() <= TEXT_BYTES_MAX);
                assert!(!text.contains(char::is_control));
            }
        }
    }
});
