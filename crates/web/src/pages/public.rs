//! Selection of the public streams, and `/api/v1/public/streams`, where pages of other origins read them.
//!
//! The document is rendered at most once a second for each address under which the server is reached, since any number of
//! clients may poll it; for a client that keeps naming new addresses, rendering is rate-limited ([`lists`]).

use std::collections::HashMap;
use std::time::{Instant, SystemTime};

use base::date;
use config::BaseUrl;
use fanout::{Info, Registry};
use http::StatusCode;
use media::StreamName;
use reports::view::StreamView;
use serde::Serialize;

use super::row::embed_path;
use super::{info, lists, still, stills};
use crate::reply::Reply;
use crate::request::Request;
use crate::signalling::{SDP, Way};
use crate::status::STREAMS_MAX;

/// Cache-Control value: a list of streams need not be as current as a player.
const CACHED: &str = "public, max-age=2";

/// Kind of a video track, as in [`TrackView`](reports::view::TrackView).
const VIDEO: &str = "video";

/// Stream that is shown to everyone.
pub(super) struct Listed {
    info: Info,
    /// Number of listeners, renditions included.
    listeners: usize,
}

/// Returns the streams that are shown to everyone, in the order of their names: those that can be played now, unless their
/// settings say otherwise. A rendition is part of its stream.
pub(super) fn streams(registry: &Registry) -> Vec<Listed> {
    let infos = registry.list().into_iter().map(|stream| stream.info());
    let (renditions, own): (Vec<_>, Vec<_>) = infos
        .filter(Info::is_on_air)
        .partition(|info| info.name.parent().is_some());
    let mut beside: HashMap<StreamName, usize> = HashMap::new();
    for rendition in renditions {
        if let Some(parent) = rendition.name.parent() {
            *beside.entry(parent).or_default() += rendition.listeners;
        }
    }
    let public = own.into_iter().filter(|info| info.settings.public);
    let listed = public.take(STREAMS_MAX).map(|info| Listed {
        listeners: info.listeners + beside.get(&info.name).copied().unwrap_or_default(),
        info,
    });
    listed.collect()
}

/// Entry of a stream on the list.
#[derive(Debug, Serialize)]
pub(super) struct PublicStream<'a> {
    pub(super) name: &'a str,
    /// Name given by the publisher, or the stream's name if it gave none. Untrusted text, like the two fields that follow.
    pub(super) display_name: &'a str,
    pub(super) description: Option<&'a str>,
    /// Current title.
    pub(super) title: Option<&'a str>,
    /// Time since which the publisher has been sending (RFC 3339).
    since: String,
    pub(super) listeners: usize,
    /// Kinds of tracks: `video`, `audio`.
    kinds: Vec<&'static str>,
    codecs: Vec<String>,
    width: Option<u32>,
    height: Option<u32>,
    page: String,
    embed: String,
    /// Address of the still; `None` without video.
    still: Option<String>,
    addresses: Vec<PublicAddress>,
    /// Codecs in words, with the video dimensions.
    format: String,
    #[serde(skip)]
    began: SystemTime,
}

/// Address at which a stream is available.
#[derive(Debug, Serialize)]
struct PublicAddress {
    label: String,
    url: String,
    #[serde(rename = "type")]
    media_type: String,
}

impl<'a> PublicStream<'a> {
    /// Creates the entry of a stream on a server that is reached at `base`.
    pub(super) fn of(listed: &'a Listed, has_webrtc: bool, base: &BaseUrl) -> Self {
        let info = &listed.info;
        let view = StreamView::of(info);
        let mut tracks = view.tracks();
        // Video first, whichever track was announced first.
        tracks.sort_by_key(|track| track.kind != VIDEO);
        let named = |header| view.header(header).filter(|text| !text.is_empty());
        let picture = tracks.iter().find(|track| track.kind == VIDEO);
        let mut kinds: Vec<_> = tracks.iter().map(|track| track.kind).collect();
        kinds.dedup();
        let page = format!("{base}/{}/", view.name);
        let words = tracks
            .iter()
            .map(|track| match (track.width, track.height) {
                (Some(width), Some(height)) => format!("{} {width}×{height}", track.label),
                _ => track.label.to_owned(),
            });
        let format = words.collect::<Vec<_>>().join(" · ");
        Self {
            name: view.name,
            display_name: named("name").unwrap_or(view.name),
            description: named("description"),
            title: view.title.filter(|title| !title.is_empty()),
            since: date::rfc3339(view.since),
            listeners: listed.listeners,
            kinds,
            width: picture.and_then(|track| track.width),
            height: picture.and_then(|track| track.height),
            embed: format!("{base}{}", embed_path(view.name)),
            still: stills::may_exist(info).then(|| format!("{page}{}", still::NAME)),
            addresses: addresses(info, has_webrtc, base),
            codecs: tracks.into_iter().map(|track| track.codec).collect(),
            page,
            format,
            began: view.since,
        }
    }

    pub(super) fn since(&self) -> &str {
        &self.since
    }

    pub(super) fn began(&self) -> SystemTime {
        self.began
    }

    pub(super) fn format(&self) -> &str {
        &self.format
    }

    pub(super) fn has_picture(&self) -> bool {
        self.kinds.contains(&VIDEO)
    }

    pub(super) fn has_still(&self) -> bool {
        self.still.is_some()
    }
}

/// Returns the live addresses of [`info::of_stream`] as absolute ones, and that of WebRTC.
fn addresses(info: &Info, has_webrtc: bool, base: &BaseUrl) -> Vec<PublicAddress> {
    let name = info.name.as_str();
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let root = match folder {
        "" => format!("{base}/"),
        folder => format!("{base}/{folder}/"),
    };
    let row = |one: serde_json::Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let path = text("path");
        PublicAddress {
            label: text("label"),
            url: format!("{root}{}", path.trim_start_matches("../")),
            media_type: text("type"),
        }
    };
    let webrtc = (has_webrtc && !info.tracks.is_empty()).then(|| PublicAddress {
        label: "WebRTC".to_owned(),
        url: format!("{base}/{name}/{}", Way::Out.segment()),
        media_type: SDP.to_owned(),
    });
    let rows = info::of_stream(&info.name, info).into_iter().map(row);
    rows.chain(webrtc).collect()
}

/// Answers a request for the document.
pub(super) async fn answer(request: &Request<'_>) -> Reply {
    let (front, base, now) = (request.front, request.base(), Instant::now());
    let document = front.pages.public.of(&base, now, || {
        let address = request.visitor.peer.ip();
        let may_make = front.pages.lists.may_make(address, now);
        may_make.then(|| render(&streams(&front.registry), front.rtc.is_some(), &base))
    });
    let Some(document) = document else {
        return lists::too_many();
    };
    Reply::full(StatusCode::OK, "application/json", document.text).versioned(
        &document.tag,
        CACHED,
        &request.headers,
    )
}

fn render(listed: &[Listed], has_webrtc: bool, base: &BaseUrl) -> String {
    let streams = listed.iter();
    let streams = streams.map(|one| PublicStream::of(one, has_webrtc, base));
    let streams: Vec<_> = streams.collect();
    serde_json::json!({ "streams": streams }).to_string()
}
