//! Titles sent beside the stream: `/admin/metadata` and Shoutcast's `/admin.cgi`.

use fanout::Phase;
use fanout::gate::{Denied, Remote};
use http1::{Head, Query, ShoutcastLogin};
use media::{Charset, Container, NameError, SongTitle, StreamName};

use super::{Credentials, answer};
use crate::{Context, Error, Protocol, now};

/// Longest title and longest link, in bytes; text that does not fit into an ICY block is of no use.
const TEXT_BYTES_MAX: usize = 4080;

/// Convention for setting a title that a request follows, by server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dialect {
    /// `/admin/metadata`.
    Icecast,
    /// The page for people, `/admin/metadata.xsl`, with otherwise the same convention.
    IcecastPage,
    /// `/admin.cgi`, where the password may be in the query.
    Shoutcast,
}

/// Wording of Icecast 2.4.4, which some encoders compare.
const UPDATED: &str = "Metadata update successful";
const NOT_UPDATED: &str = "Mountpoint will not accept URL updates";

/// Agent of an encoder that sends an empty title after each real one without meaning to clear it.
const SENDS_EMPTY: &str = "butt";

/// Carries out `mode=updinfo` and returns the whole HTTP reply. The connection must be closed after it: the
/// reply says so and has a length.
///
/// Parameters: `mount`, optional while there is only one Icecast stream; `artist` and `title`, which override
/// `song` when both are present; `url`; `charset`, with the stream's own as the default. Shoutcast adds
/// `pass`, which may name the stream as a source's password does, and `sid`; without any of these the stream
/// is the one for sources that name none. `form` is the body of a `POST`, or empty.
///
/// An empty title clears the last one. Ogg that contains only Vorbis or Opus has the title written into it.
/// Other Ogg, WebM and bodies that are only relayed carry their own titles or none: as with Icecast, nothing
/// changes and the reply says so.
///
/// Call it as soon as the head is read: some clients close without waiting for the reply. For the same reason
/// the gate's decision is awaited even if the client has left.
pub async fn update_metadata(
    context: &Context,
    dialect: Dialect,
    head: &Head,
    form: &[u8],
    remote: impl Into<Remote>,
) -> Vec<u8> {
    let remote = remote.into();
    let peer = remote.peer;
    let parameters = Parameters {
        query: head.query(),
        form: Query::new(form),
    };
    match update(context, dialect, head, &parameters, remote).await {
        Ok(message) => {
            let (media_type, document) = match dialect {
                Dialect::IcecastPage => (
                    "text/html; charset=utf-8",
                    format!(
                        "<!DOCTYPE html>\n<title>Response</title><p>Message: {message}</p><p>Return Code: 1</p>\n"
                    ),
                ),
                Dialect::Icecast | Dialect::Shoutcast => (
                    "text/xml; charset=utf-8",
                    format!(
                        "<?xml version=\"1.0\"?>\n<iceresponse><message>{message}</message>\
                         <return>1</return></iceresponse>\n"
                    ),
                ),
            };
            answer::done(&context.settings, head, media_type, &document)
        }
        Err(error) => {
            context.note_refusal(Protocol::Icecast, peer, None, &error);
            // Many clients send a first request without credentials.
            if !matches!(error, Error::Denied(Denied::Missing)) {
                tracing::info!(%peer, reason = %error, "title refused");
            }
            answer::refusal(&context.settings, head, &error)
        }
    }
}

async fn update(
    context: &Context,
    dialect: Dialect,
    head: &Head,
    parameters: &Parameters<'_>,
    remote: Remote,
) -> Result<&'static str, Error> {
    let mut credentials = Credentials::of(head);
    let name = match dialect {
        Dialect::Icecast | Dialect::IcecastPage => {
            stream_name(context, parameters, credentials.are_missing())?
        }
        Dialect::Shoutcast => {
            let login = parameters.get("pass");
            let login = login.and_then(|pass| ShoutcastLogin::of(&pass));
            let name = shoutcast_stream(context, parameters, login.as_ref())?;
            if let Some(login) = login.filter(|_| credentials.are_missing()) {
                credentials.user = Some(login.credentials.user);
                credentials.password = Some(login.credentials.password);
            }
            name
        }
    };
    let request = credentials.request(&name, head, remote);
    // Checked before the reply reveals anything about existing streams.
    let permission = context.gate.update_metadata(&request).await?;
    if http1::is_of_other_site(|name| head.header(name), None) {
        return Err(Error::OtherSite);
    }
    match parameters.get("mode").as_deref() {
        Some("updinfo") => {}
        Some(_) => return Err(Error::ModeUnknown),
        None => return Err(Error::ParameterMissing("mode")),
    }
    let name = &permission.action().stream;
    let stream = context.registry.stream(name).ok_or(Error::NoSuchStream)?;
    let info = stream.info();
    let container = info.source.container;
    if matches!(container, Container::WebM | Container::Other) {
        return Ok(NOT_UPDATED);
    }
    let is_meant = |song: &SongTitle| {
        let agent = head.header("user-agent").unwrap_or_default();
        !song.title().is_empty() || !agent.starts_with(SENDS_EMPTY)
    };
    let charset = info.settings.charset;
    let Some(song) = song(parameters, charset).filter(is_meant) else {
        return Ok(UPDATED);
    };
    let title = song.title();
    tracing::info!(stream = %name, peer = %remote.peer, title = ?title.text, "title");
    if container == Container::Ogg {
        let is_taken = stream.wish_title(&permission, song);
        return Ok(if is_taken { UPDATED } else { NOT_UPDATED });
    }
    // A body not identified yet may turn out to accept titles.
    stream.set_title(&permission, title, now());
    Ok(UPDATED)
}

/// Returns the stream that `mount` names, or the only one there is.
fn stream_name(
    context: &Context,
    parameters: &Parameters<'_>,
    is_stranger: bool,
) -> Result<StreamName, Error> {
    match parameters.mount() {
        Some(mount) => Ok(mount?),
        // Without a stream the gate cannot be asked; a client without a permission still learns nothing.
        None => only_stream(context).ok_or(match is_stranger {
            true => Denied::Missing.into(),
            false => Error::ParameterMissing("mount"),
        }),
    }
}

/// Returns the stream that a SHOUTcast program means: the one that it names in any of the ways it has, or
/// else the default of its source, which has named none either.
fn shoutcast_stream(
    context: &Context,
    parameters: &Parameters<'_>,
    login: Option<&ShoutcastLogin>,
) -> Result<StreamName, Error> {
    if let Some(mount) = parameters.mount() {
        return Ok(mount?);
    }
    let streams = &context.settings.shoutcast;
    if let Some(login) = login.filter(|login| login.mount.is_some() || login.sid.is_some()) {
        return streams.of(login, context.is_taken);
    }
    let sid = parameters.get("sid").and_then(|sid| sid.parse().ok());
    let named = sid.and_then(|sid| streams.numbered(sid)).cloned();
    let only = named.or_else(|| only_stream(context));
    Ok(only.unwrap_or_else(|| streams.usual.clone()))
}

/// Returns the stream of the only live Icecast source.
fn only_stream(context: &Context) -> Option<StreamName> {
    let streams = context.registry.list();
    let mut from_sources = streams.iter().filter(|stream| {
        let info = stream.info();
        info.source.protocol == Protocol::Icecast.label() && info.phase == Phase::Live
    });
    match (from_sources.next(), from_sources.next()) {
        (Some(only), None) => Some(only.name().clone()),
        _ => None,
    }
}

/// Returns the title in the parameters; `None` when they contain none.
fn song(parameters: &Parameters<'_>, charset: Charset) -> Option<SongTitle> {
    let is_said = |name| parameters.get(name).is_some();
    if !["artist", "title", "song"].into_iter().any(is_said) {
        return None;
    }
    let text = |name| parameters.title_text(name, charset);
    let (artist, title, song) = (text("artist"), text("title"), text("song"));
    let (artist, title) = match (artist.is_empty(), title.is_empty(), song.is_empty()) {
        // Mixxx also sends `song`, which is one track late.
        (false, false, _) => (artist, title),
        (_, _, false) => (String::new(), song),
        _ => (artist, title),
    };
    let url = text("url");
    Some(SongTitle { artist, title, url })
}

/// Parameters of a request, from its target and its form.
struct Parameters<'a> {
    query: Query<'a>,
    form: Query<'a>,
}

impl Parameters<'_> {
    /// Returns the stream that the parameters name.
    fn mount(&self) -> Option<Result<StreamName, NameError>> {
        let mount = self.get("mount").filter(|mount| !mount.is_empty())?;
        Some(StreamName::parse(&mount))
    }

    fn get(&self, name: &str) -> Option<String> {
        self.query.get(name).or_else(|| self.form.get(name))
    }

    /// Returns a text parameter, reduced to one line of bounded length. The character set is that of the
    /// request, or else that of the stream, in which UTF-8 is allowed as well.
    fn title_text(&self, name: &str, of_stream: Charset) -> String {
        let read = |query: &Query<'_>| {
            let bytes = query.bytes(name)?;
            let named = query.get("charset");
            let named = named.and_then(|label| Charset::from_label(&label));
            Some(match named {
                Some(charset) => charset.decode(&bytes),
                None => of_stream.decode_unless_utf8(&bytes),
            })
        };
        let text = read(&self.query).or_else(|| read(&self.form));
        let text = text.unwrap_or_default();
        // Control characters separate words in the text; spaces do so in the line.
        let words = text.split(char::is_control).filter(|part| !part.is_empty());
        let mut line = words.collect::<Vec<_>>().join(" ");
        line.truncate(line.floor_char_boundary(TEXT_BYTES_MAX));
        line.trim().to_owned()
    }
}
