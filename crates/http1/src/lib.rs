//! HTTP/1 as spoken by live sources and players, sans-IO.
//!
//! Twenty-five years of broadcast software connect to an Icecast port: some end lines with a bare LF or with `\r\r\n`, some
//! send `ICE/1.0`, some put raw spaces and UTF-8 into the target, and a `PUT` without a length means "until I hang up". A
//! general HTTP library refuses these, so the head is read here. The server's door calls [`sniff()`] on the first bytes, feeds
//! a [`HeadReader`] until it yields a [`Head`], decodes bodies with a [`BodyDecoder`], and replies with a [`ResponseHead`].
//!
//! Tolerated forms never make the end of a message ambiguous: conflicting lengths, folded lines, stray CR and NUL are refused,
//! because requests are smuggled when two parsers read these differently. The other tolerated forms are for sources, whose
//! connection carries no further request: from all other clients a server demands that the head [conforms](Head::conforms), and
//! it reads their bodies with [`BodyDecoder::strict`].
//!
//! [`websocket`] has WebSocket's opening key and its frames in both directions.
//!
//! Nothing here opens a socket or reads a clock, and every result is independent of how the input was cut into reads. The
//! semantics are RFC 9110 and RFC 9112, except where a comment names the client that needs a deviation.

mod auth;
mod body;
mod chunked;
mod date;
mod error;
mod head;
mod negotiate;
mod query;
mod reader;
mod response;
mod retry;
mod shoutcast;
mod site;
mod sniff;
mod source;
mod text;
pub mod websocket;

pub use auth::{Credentials, Password, basic, bearer, key_in};
pub use body::{Body, BodyDecoder};
pub use chunked::{ChunkedDecoder, Step};
pub use date::HttpDate;
pub use error::{Error, status_of};
pub use head::{ByteRange, Head, Version};
pub use negotiate::{accepts_coding, has_version, wants_version};
pub use query::{OWN_QUERY_BYTES_MAX, Query};
pub use reader::{HeadLimits, HeadReader};
pub use response::{CONTINUE, CORS, NO_CACHE, ResponseHead, SOURCE_OK, SWITCHING_TO_TLS, Status};
pub use retry::retry_after;
pub use shoutcast::{SHOUTCAST_OK, SHOUTCAST_REFUSED, ShoutcastLine, ShoutcastLogin};
pub use site::is_of_other_site;
pub use sniff::{Sniff, sniff};
pub use source::{audio_info, ice_suffix};
pub use text::utf8_or_latin1;
