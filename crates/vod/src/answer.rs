//! Answers to requests for a file or for its HLS resources (RFC 9110 §13, §14).

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode, header};
use http1::{HttpDate, OWN_QUERY_BYTES_MAX};

use crate::address::Resource;
use crate::body::Body;
use crate::counts::Outcome;
use crate::pace::Pace;
use crate::patches::Patches;
use crate::playlist::Suffix;
use crate::range::{Requested, is_indefinite, requested};
use crate::reads::Reads;
use crate::segments::{self, Absent, Piece};
use crate::{Address, Files, indexes, media_type, radio, resume};

/// Cache-Control of files. Clients revalidate them by their tags each time, so that a replaced file is noticed at once.
const CACHED: &str = "public, no-cache";
/// Cache-Control for clients that have shown a credential: other clients may lack their permission.
const CACHED_PRIVATELY: &str = "private, no-cache";

/// Seconds after which a client may try again if the disk does not respond.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");

/// Query of a client that stores the file to play it later: it is sent as fast as the client takes it.
const DOWNLOAD: &str = "download=1";

/// A request for a file.
#[derive(Debug)]
pub struct Request<'a> {
    /// Address of the file.
    pub address: &'a Address,
    /// Whether the method is `HEAD` rather than `GET`.
    pub is_head: bool,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// Query as it was sent, without the question mark; empty if there is none.
    pub query: &'a str,
    /// Whether the client has shown a credential.
    pub is_private: bool,
}

/// Answer to a request for a file.
#[derive(Debug)]
pub struct Answer {
    /// Status code.
    pub status: StatusCode,
    /// Headers, except those that all answers of the server have.
    pub headers: HeaderMap,
    /// Body; for a `HEAD` too, where the caller omits it.
    pub body: Body,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, headers: HeaderMap, body: Body) -> Self {
        Self {
            status,
            headers,
            body,
        }
    }
}

/// Answers a request that the gate has permitted.
pub async fn answer(files: &Files, request: Request<'_>) -> Answer {
    let (outcome, answer) = match found(files, &request).await {
        Ok(answered) => answered,
        Err(error) => of_error(request.address, &error),
    };
    files.requests.count(outcome);
    answer
}

async fn found(files: &Files, request: &Request<'_>) -> io::Result<(Outcome, Answer)> {
    let address = request.address;
    let served = files.folder_of(address).ok_or(io::ErrorKind::NotFound)?;
    let repeated = match address.resource {
        Resource::Playlist => request.query,
        Resource::File | Resource::Init | Resource::Segment(_) => "",
    };
    let Some(suffix) = Suffix::of(repeated, &[]) else {
        return Ok(too_long());
    };
    if let Some(answered) = radio::answer(served, request).await? {
        return Ok(answered);
    }
    let (name, folder) = (address.name.clone(), Arc::clone(served));
    let is_played = address.resource == Resource::File && !is_download(request.query);
    let is_timed = is_played && media_type::has_segments(&name);
    let start = resume::start(request.query);
    let start = start.filter(|_| address.resource == Resource::File && media_type::is_flv(&name));
    let open = move || {
        let opened = folder.folder.open(&name)?;
        let head = match start {
            Some(start) => resume::head(&opened.file, opened.length, start)?,
            None => None,
        };
        let plays = match is_timed {
            true => indexes::duration(&opened.file, opened.length)?,
            false => None,
        };
        Ok((opened, plays, start.zip(head)))
    };
    let (opened, plays, resumed) = served.reads.blocking(open).await?;
    let mut headers = validators(&opened.tag, opened.modified, request.is_private);
    if let Some((outcome, status)) = precondition(request.headers, &headers) {
        return Ok(bare(outcome, status, headers));
    }
    if let Some((start, head)) = resumed {
        put(&mut headers, header::CONTENT_TYPE, address.media_type);
        let source = (Arc::clone(&opened.file), Arc::clone(&served.reads));
        let rest = start..opened.length;
        let body = Body::of(head).followed_by(source, vec![rest]);
        let answer = Answer::new(StatusCode::OK, headers, body);
        return Ok((Outcome::Part, answer));
    }
    if address.resource == Resource::File {
        let version = Version {
            source: (&opened.file, &served.reads),
            length: opened.length,
            tag: &opened.tag,
            media_type: address.media_type,
            grows: false,
            patches: Patches::default(),
        };
        let ranged = (!request.is_head).then_some(request.headers);
        return Ok(of_file(version, plays, ranged, headers));
    }
    let piece = match segments::index(served, &opened).await? {
        Ok(index) => {
            let names = (address.name.as_str(), suffix);
            segments::piece((&index, address.resource), names, (served, &opened)).await?
        }
        Err(error) => Err(Absent::Segments(error)),
    };
    let Piece { media_type, body } = match piece {
        Ok(piece) => piece,
        Err(absent) => {
            let text = match absent {
                Absent::Segments(error) => format!("The file has no segments: {error}.\n"),
                Absent::Segment => "The file has no such segment.\n".to_owned(),
            };
            return Ok(plain(Outcome::Missing, StatusCode::NOT_FOUND, text));
        }
    };
    put(&mut headers, header::CONTENT_TYPE, media_type);
    let answer = Answer::new(StatusCode::OK, headers, body);
    Ok((Outcome::Whole, answer))
}

pub(crate) fn is_download(query: &str) -> bool {
    query.split('&').any(|pair| pair == DOWNLOAD)
}

/// One version of a file, for sending.
pub(crate) struct Version<'a> {
    pub(crate) source: (&'a Arc<File>, &'a Arc<Reads>),
    pub(crate) length: u64,
    /// Strong validator.
    pub(crate) tag: &'a str,
    pub(crate) media_type: &'a str,
    /// Whether the file is still being written: its length is then that of its complete part.
    pub(crate) grows: bool,
    pub(crate) patches: Patches,
}

/// Returns the headers that identify the version of a file.
pub(crate) fn validators(tag: &str, modified: u64, is_private: bool) -> HeaderMap {
    let caching = match is_private {
        true => CACHED_PRIVATELY,
        false => CACHED,
    };
    let mut headers = HeaderMap::new();
    put(&mut headers, header::ETAG, tag);
    let modified = HttpDate(modified).to_string();
    put(&mut headers, header::LAST_MODIFIED, &modified);
    put(&mut headers, header::CACHE_CONTROL, caching);
    headers
}

/// Answers with the whole file, or with the range of it that the headers `ranged` select. The length of a growing file is
/// its current one; without a length ffmpeg finds no end, and nothing before the end. Clients that request the data to
/// come are not given a length, as RFC 8673 specifies.
pub(crate) fn of_file(
    version: Version<'_>,
    plays: Option<Duration>,
    ranged: Option<&HeaderMap>,
    mut headers: HeaderMap,
) -> (Outcome, Answer) {
    let length = version.length;
    put(&mut headers, header::ACCEPT_RANGES, "bytes");
    let ranged = ranged.filter(|headers| may_be_part(headers, version.tag));
    let value = ranged.and_then(|headers| text(headers, header::RANGE));
    let wanted = value.map_or(Requested::Whole, |value| requested(value, length));
    let continues = version.grows && value.is_some_and(is_indefinite);
    let (outcome, status, range) = match wanted {
        Requested::Whole => (Outcome::Whole, StatusCode::OK, 0..length),
        Requested::Part(range) => {
            let (first, last) = (range.start, range.end - 1);
            let reported = match continues {
                true => format!("bytes {first}-{last}/*"),
                false => format!("bytes {first}-{last}/{length}"),
            };
            put(&mut headers, header::CONTENT_RANGE, &reported);
            (Outcome::Part, StatusCode::PARTIAL_CONTENT, range)
        }
        Requested::Beyond => {
            let reported = format!("bytes */{length}");
            put(&mut headers, header::CONTENT_RANGE, &reported);
            return bare(Outcome::Beyond, StatusCode::RANGE_NOT_SATISFIABLE, headers);
        }
    };
    put(&mut headers, header::CONTENT_TYPE, version.media_type);
    let (file, reads) = version.source;
    let source = (Arc::clone(file), Arc::clone(reads));
    let pace = plays.and_then(|plays| Pace::of(length, plays));
    let body = Body::of("").followed_by_patched(source, vec![range], version.patches);
    (outcome, Answer::new(status, headers, body.paced(pace)))
}

/// Makes an answer without a body.
pub(crate) fn bare(outcome: Outcome, status: StatusCode, headers: HeaderMap) -> (Outcome, Answer) {
    (outcome, Answer::new(status, headers, Body::of("")))
}

/// Makes an answer in plain text.
pub(crate) fn plain(outcome: Outcome, status: StatusCode, text: String) -> (Outcome, Answer) {
    let mut headers = HeaderMap::new();
    put(
        &mut headers,
        header::CONTENT_TYPE,
        "text/plain; charset=utf-8",
    );
    (outcome, Answer::new(status, headers, Body::of(text)))
}

/// Refuses a query that is too long for playlists to repeat.
pub(crate) fn too_long() -> (Outcome, Answer) {
    let text =
        format!("The addresses in a playlist repeat {OWN_QUERY_BYTES_MAX} bytes of a query.\n");
    plain(Outcome::Missing, StatusCode::URI_TOO_LONG, text)
}

/// Makes the answer about a file that cannot be opened or read.
fn of_error(address: &Address, error: &io::Error) -> (Outcome, Answer) {
    let (folder, file) = (address.folder(), &address.name);
    let missing = || {
        let text = "There is no such file.\n".to_owned();
        plain(Outcome::Missing, StatusCode::NOT_FOUND, text)
    };
    match error.kind() {
        io::ErrorKind::NotFound => missing(),
        io::ErrorKind::PermissionDenied => {
            tracing::warn!(%folder, ?file, %error, "a file may not be read by this server");
            missing()
        }
        io::ErrorKind::ResourceBusy => busy(),
        _ => {
            tracing::warn!(%folder, ?file, %error, "a file could not be read");
            later("The file cannot be read now.\n")
        }
    }
}

/// Refuses because the memory for segments, playlists and clips is in use.
pub(crate) fn busy() -> (Outcome, Answer) {
    later("Too many long segments, playlists or clips are being sent.\n")
}

/// Makes an answer to clients that may try again.
pub(crate) fn later(text: &str) -> (Outcome, Answer) {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let (outcome, mut answer) = plain(Outcome::Failed, status, text.to_owned());
    answer.headers.insert(header::RETRY_AFTER, RETRY_AFTER);
    (outcome, answer)
}

/// Evaluates the conditions of a request (RFC 9110 §13.2.2); `None` if they do not affect the answer.
pub(crate) fn precondition(
    headers: &HeaderMap,
    validators: &HeaderMap,
) -> Option<(Outcome, StatusCode)> {
    let tag = text(validators, header::ETAG).unwrap_or_default();
    let wanted = headers.get_all(header::IF_MATCH).into_iter();
    let is_wanted = match headers.contains_key(header::IF_MATCH) {
        true => http1::wants_version(wanted.filter_map(|line| line.to_str().ok()), tag),
        false => {
            let date = |headers, name| HttpDate::parse(text(headers, name)?);
            let modified = date(validators, header::LAST_MODIFIED);
            let since = date(headers, header::IF_UNMODIFIED_SINCE);
            since.is_none_or(|since| modified <= Some(since))
        }
    };
    match is_wanted {
        false => Some((Outcome::Changed, StatusCode::PRECONDITION_FAILED)),
        true => {
            is_known(headers, validators).then_some((Outcome::Unchanged, StatusCode::NOT_MODIFIED))
        }
    }
}

/// Returns whether the client has this version: by its tag, or if it names none, by the date it was sent.
fn is_known(headers: &HeaderMap, validators: &HeaderMap) -> bool {
    let tags = headers.get_all(header::IF_NONE_MATCH).into_iter();
    let tag = text(validators, header::ETAG).unwrap_or_default();
    if headers.contains_key(header::IF_NONE_MATCH) {
        return http1::has_version(tags.filter_map(|line| line.to_str().ok()), tag);
    }
    let since = text(headers, header::IF_MODIFIED_SINCE);
    since.is_some() && since == text(validators, header::LAST_MODIFIED)
}

/// Returns whether a range may be sent: `If-Range`, if present, must name this exact version. A date is not a strong
/// validator.
fn may_be_part(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_RANGE);
    known.is_none_or(|known| known.as_bytes() == tag.as_bytes())
}

pub(crate) fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

pub(crate) fn put(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    // All values are plain text.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::future::poll_fn;

    use base::holdings::Holdings;
    use media::StreamName;
    use tempfile::TempDir;

    use super::*;

    fn files() -> (TempDir, Files) {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a.mp3"), "0123456789").expect("a file");
        fs::write(directory.path().join("none.mp3"), "").expect("a file");
        let name = StreamName::parse("vod").expect("a name");
        let files = Files::new([(name, directory.path().to_owned())], &Holdings::new(0));
        (directory, files)
    }

    /// Returns the status, the headers and the body of an answer to a request for a path with its query.
    async fn ask(
        files: &Files,
        target: &str,
        is_head: bool,
        said: &[(header::HeaderName, &str)],
    ) -> (u16, HeaderMap, String) {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let address = files.find(path).expect("an address");
        let request = Request {
            address: &address,
            is_head,
            headers: &headers,
            query,
            is_private: false,
        };
        let mut answer = answer(files, request).await;
        let mut body = Vec::new();
        while let Some(piece) = poll_fn(|cx| answer.body.poll_next(cx)).await {
            body.extend_from_slice(&piece.expect("a piece"));
        }
        let body = String::from_utf8(body).expect("text");
        (answer.status.as_u16(), answer.headers, body)
    }

    #[tokio::test]
    async fn a_file_is_sent_whole_or_in_part() {
        let (_directory, files) = files();
        let (status, whole, body) = ask(&files, "/vod/a.mp3", false, &[]).await;
        assert_eq!((status, body.as_str()), (200, "0123456789"));
        assert_eq!(whole[header::CONTENT_TYPE], "audio/mpeg");
        assert_eq!(whole[header::ACCEPT_RANGES], "bytes");
        assert_eq!(whole[header::CACHE_CONTROL], CACHED);
        let range = |value| (header::RANGE, value);
        let (status, part, body) = ask(&files, "/vod/a.mp3", false, &[range("bytes=2-3")]).await;
        assert_eq!((status, body.as_str()), (206, "23"));
        assert_eq!(part[header::CONTENT_RANGE], "bytes 2-3/10");
        for name in [header::ETAG, header::LAST_MODIFIED, header::CACHE_CONTROL] {
            assert_eq!(part[&name], whole[&name]);
        }
        let (status, beyond, body) = ask(&files, "/vod/a.mp3", false, &[range("bytes=10-")]).await;
        assert_eq!((status, body.as_str()), (416, ""));
        assert_eq!(beyond[header::CONTENT_RANGE], "bytes */10");
        // A HEAD has no ranges.
        let (status, head, _) = ask(&files, "/vod/a.mp3", true, &[range("bytes=2-3")]).await;
        assert_eq!((status, &head), (200, &whole));
        assert_eq!(ask(&files, "/vod/none.mp3", false, &[]).await.0, 200);
        assert_eq!(ask(&files, "/vod/b.mp3", false, &[]).await.0, 404);
        let sums = files.sums();
        // In the order whole, part, unchanged, changed, elsewhere, beyond, missing, failed.
        assert_eq!(sums.requests, [3, 1, 0, 0, 0, 1, 1, 0]);
        // The body of the HEAD was read by this test.
        assert_eq!(sums.bytes, 22);
    }

    #[tokio::test]
    async fn conditions_are_compared_strongly() {
        let (_directory, files) = files();
        let (_, headers, _) = ask(&files, "/vod/a.mp3", false, &[]).await;
        let of = |name| headers[name].to_str().expect("text").to_owned();
        let (tag, date) = (of(header::ETAG), of(header::LAST_MODIFIED));
        let range = (header::RANGE, "bytes=0-0");
        let weak = format!("W/{tag}");
        let first = "Thu, 01 Jan 1970 00:00:00 GMT";
        let last = "Fri, 31 Dec 9999 23:59:59 GMT";
        for (condition, expected) in [
            ((header::IF_RANGE, tag.as_str()), 206),
            ((header::IF_RANGE, "\"other\""), 200),
            ((header::IF_RANGE, weak.as_str()), 200),
            ((header::IF_RANGE, date.as_str()), 200),
            ((header::IF_NONE_MATCH, tag.as_str()), 304),
            ((header::IF_NONE_MATCH, weak.as_str()), 304),
            ((header::IF_NONE_MATCH, "\"other\""), 206),
            ((header::IF_MODIFIED_SINCE, date.as_str()), 304),
            ((header::IF_MODIFIED_SINCE, first), 206),
            ((header::IF_MATCH, tag.as_str()), 206),
            ((header::IF_MATCH, "*"), 206),
            ((header::IF_MATCH, weak.as_str()), 412),
            ((header::IF_MATCH, "\"other\""), 412),
            ((header::IF_UNMODIFIED_SINCE, date.as_str()), 206),
            ((header::IF_UNMODIFIED_SINCE, last), 206),
            ((header::IF_UNMODIFIED_SINCE, "yesterday"), 206),
            ((header::IF_UNMODIFIED_SINCE, first), 412),
        ] {
            let said = [range.clone(), condition.clone()];
            let (status, ..) = ask(&files, "/vod/a.mp3", false, &said).await;
            assert_eq!(status, expected, "{condition:?}");
        }
    }

    #[test]
    fn the_length_of_what_grows_is_that_of_now() {
        let file = Arc::new(tempfile::tempfile().expect("a file"));
        let reads = Arc::new(Reads::new(&Holdings::new(0)));
        let reported = |grows: bool, range: &str| {
            let version = Version {
                source: (&file, &reads),
                length: 1_000,
                tag: "\"1\"",
                media_type: "video/mp4",
                grows,
                patches: Patches::default(),
            };
            let mut headers = HeaderMap::new();
            let range = HeaderValue::from_str(range).expect("a value");
            headers.insert(header::RANGE, range);
            let (_, answer) = of_file(version, None, Some(&headers), HeaderMap::new());
            let reported = answer.headers[header::CONTENT_RANGE].to_str();
            reported.expect("text").to_owned()
        };
        for range in ["bytes=0-", "bytes=0-999", "bytes=0-2000", "bytes=-1000"] {
            assert_eq!(reported(true, range), "bytes 0-999/1000", "{range}");
        }
        // By RFC 8673: the bytes that exist, and those to come.
        let indefinite = "bytes=0-9007199254740991";
        assert_eq!(reported(true, indefinite), "bytes 0-999/*");
        assert_eq!(reported(false, indefinite), "bytes 0-999/1000");
    }

    #[tokio::test]
    async fn a_playlist_with_a_long_query_is_refused() {
        let (directory, files) = files();
        fs::write(directory.path().join("a.mp4"), "no film").expect("a file");
        for (bytes, expected) in [(OWN_QUERY_BYTES_MAX, 404), (OWN_QUERY_BYTES_MAX + 1, 414)] {
            let target = format!("/vod/a.mp4/index.m3u8?{}", "a".repeat(bytes));
            let (status, ..) = ask(&files, &target, false, &[]).await;
            assert_eq!(status, expected, "{bytes}");
        }
    }
}
