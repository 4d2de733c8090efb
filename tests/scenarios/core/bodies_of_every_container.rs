//! `.ts` and `.mp4` as live bodies: ffmpeg receives every video and audio frame as sent, from the join on.

use crate::support::shows::{Recorder, SHOWS};
use crate::support::{server_with_short_linger, wait_for_stream};

const SECONDS: u32 = 8;

#[test]
fn what_ffmpeg_gets_is_what_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let is_chosen = |stream| ["live/h264", "radio.aac"].contains(&stream);
    let shows = || SHOWS.iter().filter(|show| is_chosen(show.stream));
    // The clips are made before the first is published, since encoding them may take as long as one lasts.
    for show in shows() {
        let _made = show.clip.seconds(SECONDS);
    }
    let server = server_with_short_linger();
    let _publishers: Vec<_> = shows()
        .map(|show| show.publish_for(SECONDS, &server))
        .collect();
    for show in shows() {
        wait_for_stream(&server, show.stream);
    }
    let bodies = shows().flat_map(|show| show.bodies.iter().map(move |suffix| (show, suffix)));
    let recorders: Vec<_> = bodies
        .map(|(show, suffix)| Recorder::ffmpeg(&server, show, suffix, folder.path()))
        .collect();
    for recorder in recorders {
        let show = recorder.show;
        let clip = show.clip.seconds(SECONDS);
        recorder.check(&show.pictures(&clip), &show.audio_frames(&clip));
    }
}
