//! Data that the pages show under a name: a stream, or several that are its qualities.

use auth::Permissions as _;
use config::PlayAccess;
use egress_hls::{Address, Quality, relative};
use fanout::Info;
use http::StatusCode;
use media::{StreamName, Title};

use crate::front_door::FrontDoor;
use crate::request::Request;

/// A name, and the streams that are here under it.
pub(super) struct Presentation {
    pub(super) name: StreamName,
    /// Stream of that name; the best quality if there is none, or only one whose publisher is away.
    pub(super) lead: Option<Info>,
    /// Present qualities, best first; `None` for a single stream.
    pub(super) qualities: Option<Vec<Quality>>,
    /// Address of the stream's past, if it is kept.
    pub(super) past: Option<Address>,
    /// Whether listeners need a credential.
    pub(super) needs_key: bool,
    /// Whether the client may see the title and the number of listeners; see [`Request::may_be_reported`].
    pub(super) is_reported: bool,
}

impl Presentation {
    pub(super) fn of(front: &FrontDoor, name: StreamName) -> Self {
        let (registry, variants) = (&front.registry, &front.variants);
        let qualities = variants.qualities(registry, &name);
        let is_group = variants.is_group(&name);
        let own = registry.stream(&name).filter(|_| !is_group);
        let own = own.map(|stream| stream.info());
        let is_among = |own: &Info| qualities.iter().any(|one| one.info.name == own.name);
        let lead = match (own, qualities.first()) {
            (Some(own), Some(best)) if !is_among(&own) => Some(best.info.clone()),
            (None, best) => best.map(|best| best.info.clone()),
            (own, _) => own,
        };
        let others = |one: &Quality| one.info.name != name;
        let qualities = Some(qualities).filter(|all| is_group || all.iter().any(others));
        let past = |lead| egress_hls::dvr_address(&front.hls, lead);
        let needs_key = |name: &StreamName| front.config.play_access(name) == PlayAccess::Key;
        Self {
            needs_key: needs_key(&name) || lead.as_ref().is_some_and(|lead| needs_key(&lead.name)),
            is_reported: true,
            name,
            past: lead.as_ref().and_then(past),
            lead,
            qualities,
        }
    }

    /// Returns the presentation with the details that a client may see.
    pub(super) async fn shown_to(request: &Request<'_>, name: StreamName) -> Self {
        let all = Self::of(request.front, name);
        let reported = request.may_be_reported(all.stream()).await;
        Self {
            is_reported: reported.is_ok(),
            ..all
        }
    }

    /// Returns the status of the page: 404 if the stream is not live, although the page exists and waits for it.
    pub(super) fn status(&self) -> StatusCode {
        match self.lead {
            Some(_) => StatusCode::OK,
            None => StatusCode::NOT_FOUND,
        }
    }

    /// Returns the name of the leading stream, or of the one that would lead.
    pub(super) fn stream(&self) -> &StreamName {
        self.lead.as_ref().map_or(&self.name, |lead| &lead.name)
    }

    /// Returns the current title, if the client may see it.
    pub(super) fn title(&self) -> Option<&Title> {
        let lead = self.lead.as_ref().filter(|_| self.is_reported);
        lead?.title.as_deref()
    }

    /// Returns the number of listeners of all present streams, if the client may see it.
    pub(super) fn listeners(&self) -> Option<usize> {
        match &self.qualities {
            _ if !self.is_reported => None,
            Some(qualities) => Some(qualities.iter().map(|one| one.info.listeners).sum()),
            None => self.lead.as_ref().map(|lead| lead.listeners),
        }
    }

    /// Returns the path of a stream, relative to the page of this name. Suffixes such as `.flv` and `/whep` follow it.
    pub(super) fn path_of(&self, stream: &StreamName) -> String {
        relative(self.name.as_str(), stream.as_str())
    }
}

/// Returns a unique label for each quality: height, or else rate; both if one is not enough, and finally the stream's name.
pub(super) fn labels(qualities: &[Quality]) -> Vec<String> {
    let forms: [fn(&Quality) -> String; 2] = [size, |one| format!("{}, {}", size(one), rate(one))];
    let label = |one: &Quality| {
        let is_unique = |form: &&fn(&Quality) -> String| {
            let text = form(one);
            qualities.iter().filter(|other| form(other) == text).count() == 1
        };
        let form = forms.iter().find(is_unique);
        form.map_or_else(|| one.info.name.to_string(), |form| form(one))
    };
    qualities.iter().map(label).collect()
}

fn size(quality: &Quality) -> String {
    match quality.height() {
        0 => rate(quality),
        height => format!("{height}p"),
    }
}

fn rate(quality: &Quality) -> String {
    match quality.bits_per_second {
        None => quality.info.name.to_string(),
        Some(bits @ 1_000_000..) => format!("{:.1} Mb/s", bits as f64 / 1e6),
        Some(bits) => format!("{} kb/s", bits / 1_000),
    }
}
