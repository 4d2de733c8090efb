//! Which stream, and in which container, a request path names.

use fanout::{DerivedOffer, Expected, Info, Registry};
use formats::{Extension, Form};
use media::{Codec, Container, StreamName};

/// A path at which a stream can be heard.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// What is sent there, for people: `FLV`, `MP3`, `Ogg`, …
    pub label: &'static str,
    /// The path, with a leading `/`. Needs no escaping.
    pub path: String,
    /// The media type. For a source's own container it is what the source declared, if that is sound or
    /// pictures: untrusted text on one line.
    pub media_type: String,
}

/// Where a stream can be heard: its own name first. Streams over RTMP have the addresses of the
/// tracks that were announced so far.
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

/// Why a stream cannot be had with an extension, in one sentence.
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

/// What a stream carries, for people.
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

/// Whether names of mounts end so: those of what Icecast relays. Others are made of a stream.
const fn is_of_mounts(extension: Extension) -> bool {
    match extension {
        Extension::Aac | Extension::Mp3 | Extension::Ogg | Extension::WebM => true,
        Extension::Flv | Extension::Ts | Extension::Mp4 => false,
    }
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" and ")
}

/// A request's path that means a stream, read once per request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Target {
    /// The stream's name, without extension where that is what makes it one.
    pub(crate) name: StreamName,
    /// The container that is asked for.
    pub(crate) extension: Option<Extension>,
    /// The stream and the container that are meant if there is no stream of that name. Boxed, because thousands of requests
    /// may wait, and few have one.
    otherwise: Option<Box<(StreamName, Extension)>>,
}

impl Target {
    /// Reads a path. An exact name wins over an extension, also that of a stream to come, and that of a mount of another
    /// server, for as long as it is not known that there is none. `None` if the path
    /// is not this crate's: neither the name of a stream that is here or known elsewhere, nor such a name
    /// with an extension.
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

    /// What is meant if there is no stream of that name.
    pub fn otherwise(&self) -> Option<Self> {
        let (stem, extension) = *self.otherwise.clone()?;
        Some(Self {
            extension: Some(extension),
            ..Self::exactly(stem)
        })
    }

    /// The stream's name.
    pub fn name(&self) -> &StreamName {
        &self.name
    }

    /// The container that is asked for, if it is not the stream's own.
    pub fn extension(&self) -> Option<Extension> {
        self.extension
    }

    /// The same of another stream.
    pub fn of(self, name: StreamName) -> Self {
        Self {
            extension: self.extension,
            ..Self::exactly(name)
        }
    }

    /// Whether its stream is here, or known elsewhere.
    pub fn is_known(&self, registry: &Registry) -> bool {
        is_known(&self.name, registry)
    }

    /// Reads a path that names nothing else: it may be a stream elsewhere, which joining it finds out.
    pub fn perhaps(path: &str, registry: &Registry) -> Option<Self> {
        let name = StreamName::parse(path).ok()?;
        let expected = registry.expects(&name);
        let is_possible = matches!(expected, Expected::Perhaps | Expected::Mount);
        is_possible.then(|| Self::exactly(name))
    }
}
