//! Which recordings are to be removed.

use std::time::Duration;

use recordings::RecordingId;

use crate::Keep;

/// A recording that is not open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) id: RecordingId,
    /// How long ago it ended; `None` if nobody knows.
    pub(crate) age: Option<Duration>,
    pub(crate) bytes: u64,
    /// Its file may be removed; else a copy is still to be made.
    pub(crate) is_removable: bool,
}

/// Those of one rule's recordings, oldest first, that it does not keep.
pub(crate) fn surplus(keep: &Keep, recordings: &[Kept]) -> Vec<RecordingId> {
    let is_old = |one: &Kept| {
        let known = one.age.zip(keep.max_age);
        known.is_some_and(|(age, max)| age > max)
    };
    let mut bytes: u64 = recordings.iter().map(|one| one.bytes).sum();
    let mut count = recordings.len() as u64;
    let mut gone = Vec::new();
    for one in recordings {
        let is_beyond = keep.max_bytes.is_some_and(|max| bytes > max)
            || keep.max_count.is_some_and(|max| count > max);
        // They are in the order of their beginnings, and not quite in that of their ends.
        if one.is_removable && (is_beyond || is_old(one)) {
            gone.push(one.id);
            bytes = bytes.saturating_sub(one.bytes);
            count -= 1;
        }
    }
    gone
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use media::StreamName;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn recordings() -> Vec<Kept> {
        let stream = StreamName::parse("a").expect("a name");
        (1..=5)
            .map(|n| Kept {
                id: RecordingId::new(&stream, at(100 * n), 0),
                age: Some(Duration::from_secs(950 - 100 * n)),
                bytes: 10,
                is_removable: true,
            })
            .collect()
    }

    /// How many go; always the oldest.
    fn gone(keep: Keep) -> usize {
        let all = recordings();
        let gone = surplus(&keep, &all);
        let ids: Vec<_> = all.iter().map(|one| one.id).take(gone.len()).collect();
        assert_eq!(gone, ids);
        gone.len()
    }

    #[test]
    fn one_that_must_stay_counts_and_others_go_for_it() {
        let mut all = recordings();
        all[0].is_removable = false;
        let keep = Keep {
            max_count: Some(2),
            max_age: Some(Duration::from_secs(800)),
            ..Keep::default()
        };
        let ids: Vec<_> = all[1..4].iter().map(|one| one.id).collect();
        assert_eq!(surplus(&keep, &all), ids);
    }

    #[test]
    fn the_oldest_go_first_until_what_is_left_fits() {
        assert_eq!(gone(Keep::default()), 0);
        let keep = Keep::default;
        for (max, count) in [(0, 5), (9, 5), (10, 4), (35, 2), (50, 0)] {
            let max_bytes = Some(max);
            assert_eq!(
                gone(Keep {
                    max_bytes,
                    ..keep()
                }),
                count,
                "{max}"
            );
        }
        for (max, count) in [(0, 5), (1, 4), (5, 0), (9, 0)] {
            let max_count = Some(max);
            assert_eq!(
                gone(Keep {
                    max_count,
                    ..keep()
                }),
                count,
                "{max}"
            );
        }
        for (max, count) in [(449, 5), (450, 4), (849, 1), (850, 0)] {
            let max_age = Some(Duration::from_secs(max));
            assert_eq!(gone(Keep { max_age, ..keep() }), count, "{max}");
        }
        let all = Keep {
            max_age: Some(Duration::from_secs(849)),
            max_bytes: Some(30),
            max_count: Some(4),
        };
        assert_eq!(gone(all), 2);
    }
}
