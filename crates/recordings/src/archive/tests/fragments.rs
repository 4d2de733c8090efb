//! Tests of the items that a recorder receives from a stream's samples.

use fanout::Archived;

use super::*;
use crate::archive::disk::WRITE_BYTES_MAX;
use crate::archive::fragments::{Fragments, Waits};

#[test]
fn everything_is_there_once_the_publisher_has_left() {
    let archive = TestArchive::new();
    let path = archive.root.path().join("all.mp4");
    let mut reader: Option<Fragments> = None;
    let mut file = Vec::new();
    let mut preambles = 0;
    for pictures_max in [100, 200] {
        let mut left = items(Clip::Flv);
        let mut publisher = archive.publish(Container::Tracks);
        write(&mut publisher, beginning(&mut left, 100));
        let stream = Arc::clone(publisher.stream());
        let reader = reader.get_or_insert_with(|| {
            let spool = stream.spool(&archive.permission(&stream), archive.now);
            Fragments::new(spool.expect("it is there"))
        });
        write(&mut publisher, left);
        drop(publisher);
        let mut times = Vec::new();
        while let Ok(Some(next)) = reader.at_hand() {
            match next {
                Archived::Epoch(_) => {}
                Archived::Preamble { bytes, .. } => {
                    preambles += 1;
                    file.extend_from_slice(&bytes);
                }
                Archived::Media { units, bytes } => {
                    let media = bytes.concat();
                    let range = units[0].range.start..units[units.len() - 1].range.end;
                    assert_eq!(range.end - range.start, media.len() as u64);
                    assert!(units.len() == 1 || media.len() <= WRITE_BYTES_MAX);
                    times.extend(units.iter().map(|unit| unit.at.millis()));
                    file.extend_from_slice(&media);
                }
                Archived::Lost(lost) => panic!("{lost:?}"),
            }
        }
        assert_eq!(reader.at_hand().err(), Some(Waits), "another may come");
        let are_close = times.windows(2).all(|pair| pair[1] - pair[0] <= 1_001);
        assert!(are_close && times.len() <= 6, "{times:?}");
        std::fs::write(&path, &file).expect("written");
        assert_eq!(pictures(&path).len(), pictures_max);
    }
    assert_eq!(preambles, 1, "the codecs are the same");
    archive.registry.end_all();
    let end = reader.expect("a reader").at_hand();
    assert!(matches!(end, Ok(None)), "{end:?}");
}
