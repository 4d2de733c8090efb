//! Answers to requests, one for each resource of a stream.

use std::sync::Arc;
use std::time::Instant;

use base::holdings::Kind;
use fanout::Info;

use crate::answer::{Answer, Refused};
use crate::channel::{AtOnce, Channel};
use crate::multivariant::{self, Variant};
use crate::packaging::Packaging;
use crate::reload::{self, Awaited, Directives};
use crate::renderer::Wanted;
use crate::report::Report;
use crate::resource::{Piece, Resource};
use crate::share::Share;
use crate::template::Own;
use crate::variants::Quality;
use crate::viewers::{self, Viewer};
use crate::{Context, Request, dvr, encryption, playlist, presentation};

/// Answers a request.
///
/// # Errors
/// The reason for the refusal.
pub(crate) async fn resource(context: &Context, request: &Request<'_>) -> Result<Answer, Refused> {
    if viewers::is_too_long(request.query) {
        return Err(Refused::QueryTooLong);
    }
    let directives = Directives::parse(request.query)?;
    if *request.resource == Resource::Multivariant {
        let streams = context.variants.streams(&context.registry, request.stream);
        if streams != [request.stream.clone()] {
            return presentation::answer(context, request, &directives, &streams).await;
        }
    }
    let viewer = Viewer::of(request);
    let channel = channel(context, request, &directives, &viewer).await?;
    let watch = Watch {
        context,
        request,
        directives: &directives,
        channel: &channel,
        viewer: &viewer,
    };
    let answer = match request.resource {
        Resource::Multivariant => watch.multivariant()?,
        Resource::Media(_, Piece::Playlist) => watch.playlist(false).await?,
        Resource::Media(_, Piece::Dvr) => watch.playlist(true).await?,
        Resource::Media(_, Piece::Init(digest)) => watch.init(digest).await?,
        Resource::Media(_, Piece::Key(number)) => {
            Answer::key(channel.key(*number).ok_or(Refused::NoSuchPiece)?)
        }
        Resource::Media(_, Piece::Segment(number)) => watch.segment(*number).await?,
        Resource::Media(_, Piece::Part(number, part)) => {
            let answer = channel.part(*number, *part).await;
            answer.ok_or(Refused::NoSuchPiece)?
        }
    };
    channel
        .viewers
        .sent(&viewer, answer.length(), request.resource, Instant::now());
    Ok(answer)
}

/// Returns the channel of a request, once the viewer may watch it.
async fn channel(
    context: &Context,
    request: &Request<'_>,
    directives: &Directives,
    viewer: &Viewer,
) -> Result<Arc<Channel>, Refused> {
    let named = encryption::named(context, request, directives)?;
    let stream = || context.registry.stream(request.stream);
    let present = named
        .or_else(|| Some(Packaging::usual(&stream()?.info())))
        .and_then(|packaging| {
            context
                .channels
                .get(&context.registry, request.stream, packaging)
        });
    if let Some(channel) = present
        && channel.viewers.touch(viewer, Instant::now())?
    {
        return Ok(channel);
    }
    let choose = |info: &Info| {
        let packaging = named.unwrap_or_else(|| Packaging::usual(info));
        packaging.choose(info)
    };
    let (channel, listener) = viewers::introduce(context, request, choose).await?;
    channel.viewers.enter(viewer, listener, Instant::now())?;
    Ok(channel)
}

/// Request of a viewer that may watch.
pub(crate) struct Watch<'a> {
    pub(crate) context: &'a Context,
    pub(crate) request: &'a Request<'a>,
    pub(crate) directives: &'a Directives,
    pub(crate) channel: &'a Channel,
    pub(crate) viewer: &'a Viewer,
}

impl Watch<'_> {
    /// Answers with the current playlist without waiting.
    pub(crate) fn at_once(&self) -> AtOnce {
        match reload::awaited(self.channel, self.directives) {
            Ok(Awaited::Nothing) => AtOnce::of(self.present(false).ok()),
            Ok(Awaited::Part(number, part)) => AtOnce::Awaits(number, part),
            Ok(Awaited::Beginning(_)) | Err(_) => AtOnce::Elsewhere,
        }
    }

    fn multivariant(&self) -> Result<Answer, Refused> {
        let (context, promise) = (self.context, &self.channel.promise);
        let playlist = context.playlist_of(&promise.stream, self.directives.dvr);
        let variant = Variant {
            quality: Quality::of(promise.stream.info()),
            packaging: promise.packaging,
            segments: self.channel.index().segments,
            address: Resource::Media(promise.packaging, playlist).to_string(),
        };
        let text = multivariant::text(&[variant], &self.viewer.suffix);
        Answer::multivariant(text, self.request.headers, self.share())
    }

    fn share(&self) -> Share<'_> {
        Share::of(self.context, self.request)
    }

    /// Answers with the media playlist, or with that of the DVR window.
    async fn playlist(&self, is_dvr: bool) -> Result<Answer, Refused> {
        if is_dvr && self.context.window(self.channel).is_none() {
            return Err(Refused::NoWindow);
        }
        reload::wait(self.channel, self.directives).await?;
        self.present(is_dvr)
    }

    /// Answers with the media playlist in its current state.
    fn present(&self, is_dvr: bool) -> Result<Answer, Refused> {
        let window = self.context.window(self.channel).map(|(_, window)| window);
        let promise = &self.channel.promise;
        let wanted = Wanted {
            promise,
            window: window.as_deref(),
            is_dvr,
            directives: self.directives,
            reports: self.reports(is_dvr),
        };
        let rendered = self.channel.playlist(wanted);
        let start = self.directives.start;
        let start = start.map(|start| playlist::start_tag(start, &promise.segmentation));
        let own = Own {
            start: start.unwrap_or_default(),
            query: self.viewer.suffix.clone(),
        };
        let whose = (self.request.headers, self.share());
        Answer::playlist(&rendered, &own, self.directives, whose)
    }

    /// Returns reports on the streams that the player may switch to, in the same packaging, if this channel and theirs
    /// have parts. The playlist of a DVR window reports the playlists of their windows, as the multivariant playlist
    /// names them.
    fn reports(&self, is_dvr: bool) -> Vec<Report> {
        if !self.channel.promise.has_parts {
            return Vec::new();
        }
        let context = self.context;
        let others = context
            .variants
            .others(&context.registry, self.request.stream);
        let reports = others.into_iter().filter_map(|other| {
            let packaging = self.channel.promise.packaging;
            let channel = context.channels.get(&context.registry, &other, packaging)?;
            if !channel.promise.has_parts {
                return None;
            }
            let playlist = context.playlist_of(&channel.promise.stream, is_dvr);
            Report::of(other, playlist, &channel.index())
        });
        reports.collect()
    }

    /// Answers with an initialization segment of the lane or of the DVR window.
    async fn init(&self, digest: &str) -> Result<Answer, Refused> {
        if let Some(bytes) = self.channel.init(digest) {
            return Ok(Answer::init(bytes));
        }
        let window = self.context.window(self.channel);
        let (dvr, window) = window.ok_or(Refused::NoSuchPiece)?;
        Ok(Answer::init(dvr.init(&window, digest).await?))
    }

    /// Answers with a segment that no longer grows, from the lane or the DVR window.
    async fn segment(&self, number: u64) -> Result<Answer, Refused> {
        if let Some(answer) = self.channel.segment(number) {
            return Ok(answer);
        }
        let window = self.context.window(self.channel);
        let (dvr, window) = window.ok_or(Refused::NoSuchPiece)?;
        let held = self.share().take(Kind::Files, dvr::PIECE_BYTES)?;
        let (body, is_whole) = dvr.segment(&window, number).await?;
        Ok(Answer::file(body.holding(held), is_whole))
    }
}
