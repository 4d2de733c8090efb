//! Playlists of strangers' MP4 files: whatever a file contains, and whatever its client's query is, the playlist has each
//! segment once and an end, keeps its target duration, is bounded, and has no address or tag that the query injected.

#![no_main]

use container::mp4_file::index::SEGMENTS_MAX;
use libfuzzer_sys::fuzz_target;

#[path = "../shared/film.rs"]
mod film;

/// Maximum length of an entry without the query, which occurs once in each address.
const ENTRY_BYTES_MAX: usize = 128;

fuzz_target!(|input: &[u8]| {
    let Some((file, query)) = film::split(input) else {
        return;
    };
    let Some(index) = film::index(file) else {
        return;
    };
    let Some(text) = vod::fuzzing::playlist("a film.mp4", &index, &query) else {
        return;
    };
    let segments = index.segments().expect("there is a playlist");
    assert!(segments.len() <= SEGMENTS_MAX);
    assert!(text.len() <= (segments.len() + 3) * (ENTRY_BYTES_MAX + query.len()));
    let (mut target, mut lengths, mut addresses, mut ends) = (0, Vec::new(), 0, 0);
    for line in text.lines() {
        if let Some(seconds) = line.strip_prefix("#EXT-X-TARGETDURATION:") {
            target = seconds.parse::<u128>().expect("a number");
        } else if let Some(seconds) = line.strip_prefix("#EXTINF:") {
            lengths.push(rounded(seconds.trim_end_matches(',')).expect("a number"));
        } else if line == "#EXT-X-ENDLIST" {
            ends += 1;
        } else if line.starts_with("#EXT-X-MAP:") {
            assert_eq!(line.matches('"').count(), 2);
        } else if !line.starts_with('#') {
            assert!(
                line.starts_with("../a%20film.mp4")
                    || line.starts_with(|it: char| it.is_ascii_digit())
            );
            addresses += 1;
        }
    }
    assert_eq!(
        (lengths.len(), addresses, ends),
        (segments.len(), segments.len(), 1)
    );
    assert!(lengths.iter().all(|it| *it <= target));
});

/// Rounds a decimal number. Files may state durations that a floating-point number cannot hold.
fn rounded(seconds: &str) -> Option<u128> {
    let (whole, fraction) = seconds.split_once('.')?;
    let is_up = fraction.parse::<u32>().ok()? >= 500_000;
    (fraction.len() == 6).then_some(whole.parse::<u128>().ok()? + u128::from(is_up))
}
