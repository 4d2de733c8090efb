//! Table of every address and RTMP command that this server answers on its public ports.
//!
//! [`route`](crate::route) finds the purpose of a request, and its tests check the two against each other, so that nothing
//! without a row can be reached; a test of the server requests all rows without credentials. Pages have their rows beside the
//! code that answers them ([`pages::ROWS`]); the operator's port has its own table.

use media::StreamName;

use crate::endpoint::Demand::{KeyOrPassword, Nothing, Password, PublishKey};
use crate::pages;

pub use crate::endpoint::{Demand, Endpoint, Surface};

/// RTMP commands.
const RTMP: [Endpoint; 2] = [
    Endpoint::rtmp("publish", PublishKey),
    Endpoint::rtmp("play", Nothing),
];

/// Requests that keep their connection.
const LIVE: [Endpoint; 11] = [
    // Publish, as an old Icecast source and as a current one.
    Endpoint::live("SOURCE", "/{stream}", PublishKey),
    Endpoint::live("PUT", "/{stream}", PublishKey),
    // Set the title, as in Icecast: by a query, from a page, by a form.
    Endpoint::live("GET", "/admin/metadata", KeyOrPassword),
    Endpoint::live("GET", "/admin/metadata.xsl", KeyOrPassword),
    Endpoint::live("POST", "/admin/metadata", KeyOrPassword),
    // Set the title, as in SHOUTcast; with `mode=viewxml`, its figures for the operator.
    Endpoint::live("GET", "/admin.cgi", KeyOrPassword),
    // All statistics, and each one that changes, as in Icecast.
    Endpoint::live("STATS", "/", Password),
    // The server's capabilities.
    Endpoint::live("OPTIONS", "*", Nothing),
    // Listen; the head that a listener would get; CORS preflight for listening.
    Endpoint::live("GET", "/{stream}", Nothing),
    Endpoint::live("HEAD", "/{stream}", Nothing),
    Endpoint::live("OPTIONS", "/{stream}", Nothing),
];

/// Addresses that other crates answer: HLS, files, recordings, playlists for player programs.
const MEDIA: [Endpoint; 11] = [
    // The multivariant playlist of HLS.
    Endpoint::page("GET", "/{stream}/index.m3u8", Nothing),
    // The media playlist; other packagings than fragmented MP4 have `ts/`, `aac/`, `mp3/` or `aes/` for `hls/`.
    Endpoint::page("GET", "/{stream}/hls/live.m3u8", Nothing),
    // An initialization segment, a segment, a part or a key; other packagings likewise.
    Endpoint::page("GET", "/{stream}/hls/{piece}", Nothing),
    // A file on demand, in a folder of `[[files]]`.
    Endpoint::page("GET", "/{folder}/{file}", Nothing),
    // A recording; other containers have another suffix.
    Endpoint::page("GET", "/{stream}/recordings/{recording}.mp4", Nothing),
    // The recording's playlist, initialization segment or some of its fragments over HLS.
    Endpoint::page(
        "GET",
        "/{stream}/recordings/{recording}/{fragments}",
        Nothing,
    ),
    // The recorded media between two times.
    Endpoint::page("GET", "/{stream}/clip.mp4", Nothing),
    // Playlists for player programs.
    Endpoint::page("GET", "/{stream}.m3u", Nothing),
    Endpoint::page("GET", "/{stream}.xspf", Nothing),
    Endpoint::page("GET", "/{stream}.pls", Nothing),
    Endpoint::page("GET", "/{stream}.vclt", Nothing),
];

/// Sessions of WHEP and WHIP: open one, CORS preflight, check for an endpoint, change a session, end it.
const WEBRTC: [Endpoint; 10] = [
    Endpoint::page("POST", "/{stream}/whep", Nothing),
    Endpoint::page("OPTIONS", "/{stream}/whep", Nothing),
    Endpoint::page("GET", "/{stream}/whep", Nothing),
    Endpoint::page("PATCH", "/{stream}/whep/{id}", Nothing),
    Endpoint::page("DELETE", "/{stream}/whep/{id}", Nothing),
    Endpoint::page("POST", "/{stream}/whip", PublishKey),
    Endpoint::page("OPTIONS", "/{stream}/whip", Nothing),
    Endpoint::page("GET", "/{stream}/whip", Nothing),
    Endpoint::page("PATCH", "/{stream}/whip/{id}", PublishKey),
    Endpoint::page("DELETE", "/{stream}/whip/{id}", PublishKey),
];

/// Whether a stream of this name would hide a row: a page, an address below a page, or an address that the server adds to the
/// stream before the last segment. Such a stream cannot be published: its publisher could take over an address of the other
/// stream.
pub fn is_taken(name: &StreamName) -> bool {
    let first = name.as_str().split('/').next();
    let last = name.as_str().rsplit_once('/').map(|(_, last)| last);
    all().any(|row| match row.path.strip_prefix("/{stream}/") {
        Some("") => false,
        Some(own) => last == Some(own),
        None => {
            let page = row
                .path
                .strip_prefix('/')
                .and_then(|page| page.split('/').next());
            page.is_some_and(|page| !page.is_empty() && first == Some(page))
        }
    })
}

/// Returns all rows of the public ports.
pub fn all() -> impl Iterator<Item = Endpoint> {
    let pages = pages::ROWS.iter().map(|row| row.endpoint);
    let others = RTMP.into_iter().chain(LIVE).chain(MEDIA).chain(WEBRTC);
    others.chain(pages)
}
