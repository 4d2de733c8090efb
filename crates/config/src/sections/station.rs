//! `[[station]]`: files that are played as a live stream.

use std::path::PathBuf;
use std::time::Duration;

use media::StreamName;

use crate::WeekHours;
use crate::read::Section;

/// One `[[station]]`: a stream that is played from files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StationRule {
    /// Name of the stream.
    pub stream: StreamName,
    /// Lists of files: first its own, then its further lists.
    pub lists: Vec<StationList>,
    /// Whether it begins again at the end.
    pub is_looped: bool,
    /// Time before which a shuffled file is not chosen again, if there are others.
    pub no_repeat: Duration,
    /// Time after a file was played before which it is not accepted as a request.
    pub request_after: Duration,
    /// Time for which the station waits after another publisher has left.
    pub linger: Duration,
    /// Key of the rule in reports: `station.0`, `station.1`, ….
    pub(crate) key: String,
}

/// Files of a station, and their share of its programme.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StationList {
    /// Location of the files.
    pub place: StationPlace,
    /// Whether the files may be outside the folder.
    pub absolute_paths: bool,
    /// Order of the files.
    pub order: StationOrder,
    /// Number of the list's turns, in proportion to other lists.
    pub weight: u32,
    /// Number of other files after which one of its files is played, instead of in turn with them; 0 for a turn.
    pub every: u32,
    /// Times at which the list takes part, in UTC; always if there are none.
    pub hours: Vec<WeekHours>,
}

/// Location of a station's files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StationPlace {
    /// Files of a folder.
    Folder(PathBuf),
    /// Files of a playlist.
    Playlist(PathBuf),
}

/// Order in which the files of a station are played.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StationOrder {
    /// One after the other.
    Sequential,
    /// Random order, with each file once per round.
    Shuffle,
}

/// Largest number of further lists of a station: programmes have a handful. Every choice examines each.
const LISTS_MAX: usize = 16;

/// Largest weight, and largest number of files between jingles: a hundredth of a rotation is hardly heard.
const SHARE_MAX: u32 = 100;

impl StationRule {
    /// Reads one rule; `None` if its stream or its files are missing.
    pub(super) fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let help = "say what it is called, such as stream = \"radio.mp3\"";
        let stream = s.needed("stream", help);
        let is_looped = s.read("loop").unwrap_or(true);
        let no_repeat = s.read("no_repeat").unwrap_or_default();
        let request_after = s
            .read("request_after")
            .unwrap_or(Duration::from_secs(15 * 60));
        let linger = s.read("linger").unwrap_or(Duration::from_secs(5));
        let mut more = Vec::new();
        s.sections("list", |s| {
            let every = s.read("every").unwrap_or_default();
            let hours: Vec<_> = s.read("hours").unwrap_or_default();
            s.require("every", every <= SHARE_MAX, "is more than 100");
            more.extend(StationList::read(s).map(|list| StationList {
                every,
                hours,
                ..list
            }));
        });
        s.require(
            "list",
            more.len() <= LISTS_MAX,
            "has more than 16 entries: a playlist may name the files of several folders",
        );
        let own = StationList::read(s);
        let lists = std::iter::once(own?).chain(more).collect();
        Some(Self {
            stream: stream?,
            lists,
            is_looped,
            no_repeat,
            request_after,
            linger,
            key: s.path(),
        })
    }
}

impl StationList {
    /// Reads one list; `None` if its files are missing.
    fn read(s: &mut Section<'_, '_>) -> Option<Self> {
        let folder = s.read("folder").flatten();
        let playlist = s.read("playlist").flatten();
        let absolute_paths = s.read("absolute_paths").unwrap_or_default();
        let order = s.read("order").unwrap_or(StationOrder::Sequential);
        let weight = s.read("weight").unwrap_or(1);
        let is_weight = (1..=SHARE_MAX).contains(&weight);
        s.require("weight", is_weight, "is not from 1 to 100");
        let place = match (folder, playlist) {
            (Some(folder), None) => Some(StationPlace::Folder(folder)),
            (None, Some(playlist)) => Some(StationPlace::Playlist(playlist)),
            (Some(_), Some(_)) => {
                let message = "is set beside a folder: a station has one of both";
                s.require("playlist", false, message);
                None
            }
            (None, None) => {
                let help = "say what is played, such as folder = \"/srv/music\" or playlist = \"/srv/music/day.m3u8\"";
                s.missing("folder", help);
                None
            }
        };
        Some(Self {
            place: place?,
            absolute_paths,
            order,
            weight,
            every: 0,
            hours: Vec::new(),
        })
    }
}
