//! Addresses relative to one another, so that a path prefix in front of the server needs no configuration.

/// Returns the address of `to`, relative to a resource directly below the folder `from`. Both are paths without a
/// leading slash, and `from` has no trailing slash. No segment is empty, `.` or `..`; stream names have none of these.
pub fn relative(from: &str, to: &str) -> String {
    let (folder, file) = to
        .rsplit_once('/')
        .map_or((None, to), |(folder, file)| (Some(folder), file));
    let folders: Vec<_> = folder
        .into_iter()
        .flat_map(|folder| folder.split('/'))
        .collect();
    let shared = from
        .split('/')
        .zip(&folders)
        .take_while(|(one, other)| one == *other)
        .count();
    let mut address = "../".repeat(from.split('/').count() - shared);
    for folder in &folders[shared..] {
        address += folder;
        address.push('/');
    }
    address + file
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves an address as RFC 3986 §5.2 does, for paths without empty segments.
    fn resolved(folder: &str, address: &str) -> String {
        let mut path: Vec<_> = folder.split('/').collect();
        for segment in address.split('/') {
            match segment {
                ".." => assert!(path.pop().is_some(), "{folder} {address} leaves the server"),
                segment => path.push(segment),
            }
        }
        path.join("/")
    }

    #[test]
    fn an_address_leads_from_one_folder_to_the_other() {
        for (from, to_expected) in [
            ("live/show", "live/show/hls/live.m3u8 hls/live.m3u8"),
            ("live/show", "live/show_3/hls/a.m3u8 ../show_3/hls/a.m3u8"),
            ("live/show/hls", "live/b/hls/a.m3u8 ../../b/hls/a.m3u8"),
            ("live/show", "other/a/b/a.m3u8 ../../other/a/b/a.m3u8"),
            ("show", "low/hls/live.m3u8 ../low/hls/live.m3u8"),
            ("a/b/c", "a/hls/live.m3u8 ../../hls/live.m3u8"),
            ("a", "a/b/hls/live.m3u8 b/hls/live.m3u8"),
            ("live/show", "live/show ../show"),
            ("show", "show ../show"),
            ("live/show", "live/show~1 ../show~1"),
            ("live/show", "live ../../live"),
        ] {
            let (to, expected) = to_expected.split_once(' ').expect("two");
            let address = relative(from, to);
            assert_eq!(address, expected);
            assert_eq!(resolved(from, &address), to);
        }
    }
}
