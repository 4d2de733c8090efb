//! Replies to listeners, worded as Icecast 2.4.4 words them.

use fanout::Keyframes;
use http1::{
    CORS, Head, HttpDate, NO_CACHE, ResponseHead, Status, Version, audio_info, ice_suffix,
};
use packagers::METAINT;

/// Maximum number of a source's headers passed on to listeners. A source is already bounded by its own request head; this keeps
/// every reply well below the size that old players can read.
const SOURCE_HEADERS_MAX: usize = 32;

/// Builder of the replies to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replies<'a> {
    /// Version that the client speaks.
    pub(crate) version: Version,
    /// Server header.
    pub(crate) server: &'a str,
    /// Current date.
    pub(crate) date: HttpDate,
    /// Whether the client wants no body.
    pub(crate) is_head: bool,
}

impl<'a> Replies<'a> {
    pub(crate) fn new(head: &Head, server: &'a str, date: HttpDate) -> Self {
        Self {
            version: head.version(),
            server,
            date,
            is_head: head.method() == "HEAD",
        }
    }

    /// Builds the head before a stream, which ends with the connection. Players that request titles are answered in HTTP/1.0,
    /// as servers of their protocol do. With `keyframes` the head gives the keyframe interval in seconds, with a warning if it
    /// is long.
    pub(crate) fn stream(
        &self,
        media_type: &str,
        source_headers: &[(String, String)],
        is_icy: bool,
        keyframes: Option<Keyframes>,
    ) -> Vec<u8> {
        let version = match is_icy {
            true => Version::Http10,
            false => self.version,
        };
        let mut head = self
            .begin(version, Status::OK)
            .header("Content-Type", media_type)
            .headers(NO_CACHE)
            .headers(CORS);
        for (name, value) in listener_headers(source_headers) {
            head = head.header(&name, &value);
        }
        if is_icy {
            head = head.header("icy-metaint", &METAINT.to_string());
        }
        if let Some(interval) = keyframes.and_then(|keyframes| keyframes.interval) {
            let seconds = format!("{:.1}", interval.seconds());
            head = head.header("X-Keyframe-Interval", &seconds);
        }
        if let Some(words) = keyframes.and_then(|keyframes| keyframes.words()) {
            head = head.header("X-Notice", &words);
        }
        head.finish()
    }

    /// Builds the head that switches the client to WebSocket; `accept` answers the client's key (RFC 6455 §4.2.2).
    pub(crate) fn websocket(&self, accept: &str) -> Vec<u8> {
        ResponseHead::new(self.version, Status::SWITCHING_PROTOCOLS)
            .header("Server", self.server)
            .date(self.date)
            .header("Upgrade", "websocket")
            .header("Connection", "Upgrade")
            .header("Sec-WebSocket-Accept", accept)
            .finish()
    }

    /// Builds a reply without a stream: `text` gives the reason.
    pub(crate) fn text(&self, status: Status, extra: &[(&str, &str)], text: &str) -> Vec<u8> {
        let mut reply = self
            .begin(self.version, status)
            .header("Content-Type", "text/plain; charset=utf-8")
            .content_length(text.len() as u64)
            .headers(NO_CACHE)
            .headers(CORS)
            .headers(extra)
            .finish();
        if !self.is_head {
            reply.extend_from_slice(text.as_bytes());
        }
        reply
    }

    /// Builds a reply without a body.
    pub(crate) fn empty(&self, status: Status, extra: &[(&str, &str)]) -> Vec<u8> {
        let head = self.begin(self.version, status);
        // A 204 has no length (RFC 9110 §8.6).
        let head = match status {
            Status::NO_CONTENT => head,
            _ => head.content_length(0),
        };
        head.headers(NO_CACHE).headers(CORS).headers(extra).finish()
    }

    fn begin(&self, version: Version, status: Status) -> ResponseHead {
        ResponseHead::new(version, status)
            .header("Server", self.server)
            .header("Connection", "Close")
            .date(self.date)
            // Keeps browsers from interpreting a source's bytes as a page.
            .header("X-Content-Type-Options", "nosniff")
    }
}

/// Converts the source's description to the headers that listeners get: `ice-name` becomes `icy-name`, `ice-public` `icy-pub`,
/// `ice-bitrate` `icy-br`; `ice-audio-info` is passed on, and gives `icy-br` when nothing else does. The first of each counts.
fn listener_headers(source: &[(String, String)]) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut add = |name: String, value: &str| {
        let is_known = headers.iter().any(|(known, _)| *known == name);
        if !is_known && headers.len() < SOURCE_HEADERS_MAX {
            headers.push((name, value.to_owned()));
        }
    };
    let mut bitrate = None;
    for (name, value) in source {
        let name = name.to_ascii_lowercase();
        match ice_suffix(&name) {
            // Only this server may announce the interval between titles.
            None | Some("metaint" | "metadata") => {}
            Some("audio-info") => {
                bitrate = bitrate.or_else(|| audio_info_bitrate(value));
                add("ice-audio-info".to_owned(), value);
            }
            Some("public" | "pub") => add("icy-pub".to_owned(), value),
            Some("bitrate" | "br") => add("icy-br".to_owned(), value),
            Some(suffix) => add(format!("icy-{suffix}"), value),
        }
    }
    if let Some(bitrate) = bitrate {
        add("icy-br".to_owned(), bitrate);
    }
    headers
}

/// Returns the bit rate in `ice-bitrate=128;ice-channels=2` or `bitrate=128;channels=2`.
fn audio_info_bitrate(info: &str) -> Option<&str> {
    let mut pairs = audio_info(info);
    let found = pairs.find(|(key, _)| matches!(*key, "bitrate" | "ice-bitrate"));
    found.map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
