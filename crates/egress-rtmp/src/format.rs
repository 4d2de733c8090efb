//! What RTMP can carry, and the names of its lanes: a stream has one for each shape that somebody
//! asked for.

use fanout::{Format, Info, Protocol};
use media::Container;

use crate::packager::{Rtmp, Shape};

/// Message streams that there are lanes for. Every client plays on the first that it made; the
/// connection itself is 0. Servers that we push to give out 1, too.
const MESSAGE_STREAMS: usize = 3;

/// By message stream: everything, sound alone, pictures alone.
const PLAYED: [[&str; 3]; MESSAGE_STREAMS] = [
    ["rtmp-0", "rtmp-0-audio", "rtmp-0-video"],
    ["rtmp", "rtmp-audio", "rtmp-video"],
    ["rtmp-2", "rtmp-2-audio", "rtmp-2-video"],
];

/// By message stream: the form in which one publishes.
const PUSHED: [&str; MESSAGE_STREAMS] = ["rtmp-push-0", "rtmp-push", "rtmp-push-2"];

/// The format of lanes of a shape; `None` where there are none.
pub(crate) fn format(shape: Shape) -> Option<Format> {
    let message_stream = shape.message_stream as usize;
    let selection = match (shape.audio, shape.video) {
        (true, true) => 0,
        (true, false) => 1,
        (false, true) => 2,
        (false, false) => return None,
    };
    let name = if shape.wraps_metadata {
        *PUSHED.get(message_stream).filter(|_| selection == 0)?
    } else {
        PLAYED.get(message_stream)?[selection]
    };
    Some(Format {
        name,
        protocol: Protocol::Rtmp,
    })
}

/// Whether RTMP has a way to carry the stream. One that has announced nothing yet is given time.
pub(crate) fn is_carried(info: &Info) -> bool {
    match info.source.container {
        Container::Tracks => true,
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

    #[test]
    fn each_shape_has_a_name_of_its_own() {
        let mut names = HashSet::new();
        let mut shapes = 0;
        for message_stream in 0..MESSAGE_STREAMS as u32 {
            for (audio, video, wraps_metadata) in [
                (true, true, false),
                (true, false, false),
                (false, true, false),
                (true, true, true),
            ] {
                let shape = Shape {
                    message_stream,
                    audio,
                    video,
                    wraps_metadata,
                };
                names.insert(format(shape).expect("there is one").name);
                shapes += 1;
            }
        }
        assert_eq!(names.len(), shapes);
        let nothing = Shape {
            message_stream: 1,
            audio: false,
            video: false,
            wraps_metadata: false,
        };
        assert_eq!(format(nothing), None);
        let beyond = Shape {
            message_stream: MESSAGE_STREAMS as u32,
            audio: true,
            ..nothing
        };
        assert_eq!(format(beyond), None);
    }
}
