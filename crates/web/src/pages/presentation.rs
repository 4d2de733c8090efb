//! What the pages show under a name: a stream, or several that are its qualities.

use auth::Permissions as _;
use config::PlayAccess;
use egress_hls::{Address, Quality, relative};
use fanout::Info;
use http::StatusCode;
use media::{StreamName, Title};

use crate::front_door::FrontDoor;
use crate::request::Request;

/// A name with what is here of it.
pub(super) struct Presentation {
    pub(super) name: StreamName,
    /// The stream of that name, or the best quality where there is none, or only one whose publisher is away.
    pub(super) lead: Option<Info>,
    /// The qualities that are here, best first; `None` for a stream alone.
    pub(super) qualities: Option<Vec<Quality>>,
    /// Where its past can be watched, if it is kept.
    pub(super) past: Option<Address>,
    /// Listeners need a credential.
    pub(super) needs_key: bool,
    /// The client is told what is playing, and to how many: see [`Request::may_be_told`].
    pub(super) is_told: bool,
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
            is_told: true,
            name,
            past: lead.as_ref().and_then(past),
            lead,
            qualities,
        }
    }

    /// The same as a client is shown it.
    pub(super) async fn shown_to(request: &Request<'_>, name: StreamName) -> Self {
        let all = Self::of(request.front, name);
        let told = request.may_be_told(all.stream()).await;
        Self {
            is_told: told.is_ok(),
            ..all
        }
    }

    /// The status of its page: that of a stream that is not live is there, too, and waits for it.
    pub(super) fn status(&self) -> StatusCode {
        match self.lead {
            Some(_) => StatusCode::OK,
            None => StatusCode::NOT_FOUND,
        }
    }

    /// The stream that leads, or would.
    pub(super) fn stream(&self) -> &StreamName {
        self.lead.as_ref().map_or(&self.name, |lead| &lead.name)
    }

    /// The title in force, if the client is told.
    pub(super) fn title(&self) -> Option<&Title> {
        let lead = self.lead.as_ref().filter(|_| self.is_told);
        lead?.title.as_deref()
    }

    /// Listeners of all that is here, if the client is told.
    pub(super) fn listeners(&self) -> Option<usize> {
        match &self.qualities {
            _ if !self.is_told => None,
            Some(qualities) => Some(qualities.iter().map(|one| one.info.listeners).sum()),
            None => self.lead.as_ref().map(|lead| lead.listeners),
        }
    }

    /// The path of a stream, relative to the page of this name. What a stream offers follows it: `.flv`, `/whep`.
    pub(super) fn path_of(&self, stream: &StreamName) -> String {
        relative(self.name.as_str(), stream.as_str())
    }
}

/// What qualities are called, each differently: by height, else by rate; where that is not enough by both, and in the
/// end by the stream.
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
