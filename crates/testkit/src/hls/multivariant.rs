//! Multivariant playlists (RFC 8216bis §4.4.6).

use super::attributes::Attributes;
use super::parse::{Line, SyntaxError, is_among, lines};

/// Tags of media playlists.
const MEDIA: &str = "EXTINF EXT-X-TARGETDURATION EXT-X-MEDIA-SEQUENCE EXT-X-PART EXT-X-PART-INF \
    EXT-X-SERVER-CONTROL EXT-X-ENDLIST";

/// A multivariant playlist.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MultivariantPlaylist {
    /// Variants: `EXT-X-STREAM-INF`, each with the address that follows.
    pub variants: Vec<Variant>,
    /// Renditions: the `URI` of each `EXT-X-MEDIA` that has one.
    pub renditions: Vec<String>,
    /// Tags for which this parser has no field, unchanged.
    pub unknown: Vec<String>,
}

/// A variant of the whole presentation.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Variant {
    /// Address of its media playlist, relative to this one.
    pub uri: String,
    /// Peak bit rate in bits per second.
    pub bandwidth: u64,
    /// Codecs in the notation of RFC 6381.
    pub codecs: Option<String>,
    /// Width and height of the video.
    pub resolution: Option<(u64, u64)>,
}

impl MultivariantPlaylist {
    /// Parses a multivariant playlist.
    ///
    /// # Errors
    /// The first deviation from the grammar, or that there is no variant.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let mut playlist = Self::default();
        let mut pending: Option<Variant> = None;
        for (number, line) in lines(text)? {
            playlist
                .line(line, &mut pending)
                .map_err(|reason| SyntaxError {
                    line: number,
                    reason,
                })?;
        }
        if pending.is_some() || playlist.variants.is_empty() {
            return Err(SyntaxError {
                line: 0,
                reason: "no address of a variant".to_owned(),
            });
        }
        Ok(playlist)
    }

    fn line(&mut self, line: Line<'_>, pending: &mut Option<Variant>) -> Result<(), String> {
        match line {
            Line::Uri(uri) => {
                let variant = pending.take();
                let variant = variant.ok_or("an address without EXT-X-STREAM-INF")?;
                self.variants.push(Variant {
                    uri: uri.to_owned(),
                    ..variant
                });
            }
            Line::Tag(name, _) if is_among(MEDIA, name) => {
                return Err(format!("{name} in a multivariant playlist"));
            }
            Line::Tag(..) if pending.is_some() => {
                return Err("EXT-X-STREAM-INF is not followed by an address".to_owned());
            }
            Line::Tag("EXT-X-STREAM-INF", value) => {
                *pending = Some(variant(&Attributes::parse(value)?)?);
            }
            Line::Tag("EXT-X-MEDIA", value) => {
                let list = Attributes::parse(value)?;
                self.renditions
                    .extend(list.quoted("URI")?.map(str::to_owned));
            }
            Line::Tag("EXTM3U", _) => {}
            Line::Tag(name, value) => self.unknown.push(format!("#{name}:{value}")),
        }
        Ok(())
    }
}

fn variant(list: &Attributes) -> Result<Variant, String> {
    let resolution = |text: &str| {
        let (width, height) = text.split_once('x')?;
        Some((width.parse().ok()?, height.parse().ok()?))
    };
    let resolution = list
        .plain("RESOLUTION")?
        .map(|text| resolution(text).ok_or_else(|| format!("RESOLUTION is {text}")));
    list.seconds("FRAME-RATE")?;
    list.integer("AVERAGE-BANDWIDTH")?;
    Ok(Variant {
        uri: String::new(),
        bandwidth: list.integer("BANDWIDTH")?.ok_or("BANDWIDTH is missing")?,
        codecs: list.quoted("CODECS")?.map(str::to_owned),
        resolution: resolution.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_read() {
        let text = "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-INDEPENDENT-SEGMENTS\n\
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",URI=\"a.m3u8\"\n\
            #EXT-X-STREAM-INF:BANDWIDTH=500000,CODECS=\"avc1.42c01e,mp4a.40.2\",RESOLUTION=320x180,\
            FRAME-RATE=25.000\nhls/live.m3u8\n";
        let playlist = MultivariantPlaylist::parse(text).expect("it is right");
        assert_eq!(playlist.renditions, ["a.m3u8"]);
        assert_eq!(playlist.unknown.len(), 2);
        let variant = Variant {
            uri: "hls/live.m3u8".to_owned(),
            bandwidth: 500_000,
            codecs: Some("avc1.42c01e,mp4a.40.2".to_owned()),
            resolution: Some((320, 180)),
        };
        assert_eq!(playlist.variants, [variant]);
    }

    #[test]
    fn deviations_are_refused() {
        for text in [
            "",
            "a.m3u8\n",
            "#EXT-X-STREAM-INF:CODECS=\"x\"\na.m3u8\n",
            "#EXT-X-STREAM-INF:BANDWIDTH=1\n",
            "#EXT-X-STREAM-INF:BANDWIDTH=1\n#EXT-X-VERSION:9\na.m3u8\n",
            "#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=big\na.m3u8\n",
            "#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n#EXT-X-TARGETDURATION:6\n",
        ] {
            let text = format!("#EXTM3U\n{text}");
            assert!(MultivariantPlaylist::parse(&text).is_err(), "{text:?}");
        }
    }
}
