//! Resolution of a request path to a stream and a container.

use fanout::{DerivedOffer, Expected, Info, Registry};
use media::{Codec, Container, StreamName};
use packagers::{Extension, Form};

/// Path at which a stream is served.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// Format for display: `FLV`, `MP3`, `Ogg`, …
    pub label: &'static str,
    /// Path with a leading `/`. Needs no escaping.
    pub path: String,
    /// Media type. For a source's own container it is the type that the source declared, if that is audio or video: untrusted
    /// text on one line.
    pub media_type: String,
}

/// Lists the paths at which a stream is served, its own name first. Streams over RTMP have the addresses of the tracks that
/// were announced so far.
pub fn addresses(info: &Info) -> Vec<Address> {
    let own = match info.source.container {
        Container::Tracks | Container::Unknown => None,
        container => Some(label(container)),
    };
    let own = own.into_iter().map(|label| Address {
        label,
        path: format!("/{}", info.name),
        media_type: Form::Source.media_type(info).into_owned(),
    });
    let others = Form::others(info).map(|(form, extension)| Address {
        label: form.label(),
        path: format!("/{}{}", info.name, extension.suffix()),
        media_type: form.media_type(info).into_owned(),
    });
    own.chain(others).collect()
}

const fn label(container: Container) -> &'static str {
    match container {
        Container::Mp3 => "MP3",
        Container::Adts => "AAC",
        Container::Ogg => "Ogg",
        Container::WebM => "WebM",
        Container::Unknown | Container::Tracks | Container::Other => "source",
    }
}

/// Explains in one sentence why a stream is not available with an extension.
pub(crate) fn refusal(info: &Info, extension: Extension) -> String {
    let paths: Vec<_> = addresses(info)
        .into_iter()
        .map(|address| address.path)
        .collect();
    let reason = match (extension, &info.offer) {
        (Extension::Ogg, DerivedOffer::Impossible(reason)) => format!(": {reason}"),
        _ => String::new(),
    };
    format!(
        "{} carries {}, which cannot be sent as {}{reason}; it can be heard at {}.\n",
        info.name,
        contents(info),
        extension.suffix(),
        join(paths.iter().map(String::as_str)),
    )
}

/// Describes for display what a stream carries.
fn contents(info: &Info) -> String {
    match info.source.container {
        Container::Unknown | Container::Tracks if info.tracks.is_empty() => {
            "nothing yet".to_owned()
        }
        Container::Tracks => join(info.tracks.iter().map(|track| track.codec.label())),
        container => match info.tracks.first() {
            Some(track)
                if !matches!(track.codec, Codec::Other(_)) && container == Container::Ogg =>
            {
                format!("{} in Ogg", track.codec.label())
            }
            _ => label(container).to_owned(),
        },
    }
}

fn is_known(name: &StreamName, registry: &Registry) -> bool {
    registry.stream(name).is_some() || registry.expects(name) == Expected::Named
}

/// Whether names of mounts that Icecast relays may have this extension. Other extensions are always derived from a stream.
const fn is_of_mounts(extension: Extension) -> bool {
    match extension {
        Extension::Aac | Extension::Mp3 | Extension::Ogg | Extension::WebM => true,
        Extension::Flv | Extension::Ts | Extension::Mp4 => false,
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" and ")
}

/// Stream and container that a request's path names, read once per request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// Stream name, without the extension if the path has one that selects a container.
    pub(crate) name: StreamName,
    /// Requested container.
    pub(crate) extension: Option<Extension>,
    /// Stream and container to use if no stream has that name. Boxed, because thousands of requests may wait, and few have one.
    otherwise: Option<Box<(StreamName, Extension)>>,
}

impl Target {
    /// Reads a path. An exact name wins over an extension; so does the name of a stream to come, and the name of a mount on
    /// another server until it is known that there is none. Returns `None` if the path is not this crate's: neither the name of
    /// a stream that is here or known elsewhere, nor such a name with an extension.
    pub fn find(path: &str, registry: &Registry) -> Option<Self> {
        let name = StreamName::parse(path).ok()?;
        if is_known(&name, registry) {
            return Some(Self::exactly(name));
        }
        let (stem, extension) = Extension::ALL.into_iter().find_map(|extension| {
            let stem = name.as_str().strip_suffix(extension.suffix())?;
            Some((StreamName::parse(stem).ok()?, extension))
        })?;
        let may_be_mount = is_of_mounts(extension)
            && registry.expects(&name) == Expected::Mount
            && !is_known(&stem, registry);
        Some(match may_be_mount {
            true => Self {
                otherwise: Some(Box::new((stem, extension))),
                ..Self::exactly(name)
            },
            false => Self {
                extension: Some(extension),
                ..Self::exactly(stem)
            },
        })
    }

    fn exactly(name: StreamName) -> Self {
        Self {
            name,
            extension: None,
            otherwise: None,
        }
    }

    /// Returns the target to use if no stream has this one's name.
    pub fn otherwise(&self) -> Option<Self> {
        let (stem, extension) = *self.otherwise.clone()?;
        Some(Self {
            extension: Some(extension),
            ..Self::exactly(stem)
        })
    }

    /// Stream name.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    /// Requested container, if it is not the stream's own.
    pub fn extension(&self) -> Option<Extension> {
        self.extension
    }

    /// Returns the target with the same container on another stream.
    pub fn of(self, name: StreamName) -> Self {
        Self {
            extension: self.extension,
            ..Self::exactly(name)
        }
    }

    /// Whether the stream is here, or known elsewhere.
    pub fn is_known(&self, registry: &Registry) -> bool {
        is_known(&self.name, registry)
    }

    /// Reads a path that names nothing else. It may name a stream on another server; joining the stream finds out.
    pub fn perhaps(path: &str, registry: &Registry) -> Option<Self> {
        let name = StreamName::parse(path).ok()?;
        let expected = registry.expects(&name);
        let is_possible = matches!(expected, Expected::Perhaps | Expected::Mount);
        is_possible.then(|| Self::exactly(name))
    }
}
