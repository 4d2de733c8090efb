//! Selection of recordings to remove.

use std::time::Duration;

use crate::RecordingId;

use crate::archive::Keep;

/// Recording that is not open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) id: RecordingId,
    /// Time since its end; `None` if unknown.
    pub(crate) age: Option<Duration>,
    pub(crate) bytes: u64,
    /// Whether its file may be removed; false if a copy must be made first.
    pub(crate) is_removable: bool,
}

/// Returns those of a rule's recordings, given oldest first, that exceed its limits.
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
        // The recordings are in order of their start, which is not quite that of their ends.
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
        let kept = |n: u64| Kept {
            id: RecordingId::new(&stream, at(100 * n), 0),
            age: Some(Duration::from_secs(950 - 100 * n)),
            bytes: 10,
            is_removable: true,
        };
        (1..=5).map(kept).collect()
    }

    /// Returns the number of removed recordings, which are always the oldest.
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
        let (mut bytes, mut count, mut age) = (Keep::default(), Keep::default(), Keep::default());
        for (max, left) in [(0, 5), (9, 5), (10, 4), (35, 2), (50, 0)] {
            bytes.max_bytes = Some(max);
            assert_eq!(gone(bytes), left, "{max}");
        }
        for (max, left) in [(0, 5), (1, 4), (5, 0), (9, 0)] {
            count.max_count = Some(max);
            assert_eq!(gone(count), left, "{max}");
        }
        for (max, left) in [(449, 5), (450, 4), (849, 1), (850, 0)] {
            age.max_age = Some(Duration::from_secs(max));
            assert_eq!(gone(age), left, "{max}");
        }
        let all = Keep {
            max_age: Some(Duration::from_secs(849)),
            max_bytes: Some(30),
            max_count: Some(4),
        };
        assert_eq!(gone(all), 2);
    }
}
