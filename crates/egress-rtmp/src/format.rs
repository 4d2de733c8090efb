//! Streams that RTMP can carry, and the names of their lanes: a stream has one for each requested shape.

use fanout::{Format, Info, Protocol};
use media::Container;

use packagers::rtmp::{Rtmp, Shape};

/// Message stream on which players have lanes: the first that they made, which every client plays on. A free
/// choice would package each format once more, for unauthenticated peers.
const PLAYED_ON: u32 = 1;

/// Names of played lanes: everything, audio alone, video alone.
const PLAYED: [&str; 3] = ["rtmp", "rtmp-audio", "rtmp-video"];

/// Names of pushed lanes, by message stream, which the target of a push assigns; their bytes have the form
/// for publishing.
const PUSHED: [&str; 3] = ["rtmp-push-0", "rtmp-push", "rtmp-push-2"];

/// Returns the format of lanes of a shape; `None` for shapes without lanes.
pub(crate) fn format(shape: Shape) -> Option<Format> {
    let selection = match (shape.audio, shape.video) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => return None,
    };
    let name = if shape.wraps_metadata {
        let message_stream = shape.message_stream as usize;
        *PUSHED.get(message_stream).filter(|_| selection == 0)?
    } else if shape.message_stream == PLAYED_ON {
        PLAYED[selection]
    } else {
        return None;
    };
    Some(Format {
        name,
        protocol: Protocol::Rtmp,
        retention: fanout::Retention::Live,
    })
}

/// Whether RTMP can carry the stream. A stream that has announced no tracks yet counts as carried.
pub(crate) fn is_carried(info: &Info) -> bool {
    match info.source.container {
        Container::Tracks | Container::Unknown => true,
        Container::Mp3 | Container::Adts => {
            info.tracks.is_empty() || info.tracks.iter().any(|track| Rtmp::carries(track))
        }
        Container::Ogg | Container::WebM | Container::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn shape(message_stream: u32, (audio, video): (bool, bool), wraps_metadata: bool) -> Shape {
        Shape {
            message_stream,
            audio,
            video,
            wraps_metadata,
        }
    }

    const ALL: (bool, bool) = (true, true);

    #[test]
    fn each_shape_has_a_name_of_its_own() {
        let kinds = [ALL, (true, false), (false, true)];
        let played = kinds.map(|kinds| shape(PLAYED_ON, kinds, false));
        let pushed = [0, 1, 2].map(|message_stream| shape(message_stream, ALL, true));
        let all = played.into_iter().chain(pushed);
        let names: HashSet<_> = all.map(|shape| format(shape).unwrap().name).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(format(shape(PLAYED_ON, (false, false), false)), None);
    }

    #[test]
    fn players_cannot_have_more_lanes_by_choosing_another_message_stream() {
        for message_stream in [0, 2, 3, u32::MAX] {
            let elsewhere = shape(message_stream, ALL, false);
            assert_eq!(format(elsewhere), None, "on {message_stream}");
        }
        assert_eq!(format(shape(3, ALL, true)), None, "pushed beyond");
    }
}
