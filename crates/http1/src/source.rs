//! Headers with which a source client describes its stream.

/// Returns the name of a stream header without its prefix: Icecast's own, SHOUTcast's, and the one from before both.
pub fn ice_suffix(name: &str) -> Option<&str> {
    let prefixes = ["ice-", "icy-", "x-audiocast-"];
    let suffix = prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    (!suffix.is_empty()).then_some(suffix)
}

/// Returns the keys and values of `ice-audio-info: ice-bitrate=128;ice-channels=2;ice-samplerate=44100`. A claim, not a
/// measurement; keys come with and without their prefix.
pub fn audio_info(value: &str) -> impl Iterator<Item = (&str, &str)> {
    value.split(';').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key.trim(), value.trim()))
    })
}
