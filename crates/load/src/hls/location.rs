//! Resolution of URIs in a playlist (RFC 3986 §5). Paths lack their first slash, and keep their query.

/// Reasons why a URI cannot be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LocationError {
    /// The URI leads to another server; all players of a load use one server.
    #[error("an address on another server")]
    Elsewhere,
}

/// Returns the path of `reference`, which occurs in a playlist that the server `authority` sent for `base`.
pub(super) fn resolve(
    authority: &str,
    base: &str,
    reference: &str,
) -> Result<String, LocationError> {
    let reference = reference.split('#').next().unwrap_or_default();
    let reference = match reference.split_once("://") {
        Some(("http", rest)) => own(authority, rest)?,
        // A query may contain an address.
        Some((scheme, _)) if !scheme.contains(['/', '?']) => return Err(LocationError::Elsewhere),
        _ => match reference.strip_prefix("//") {
            Some(rest) => own(authority, rest)?,
            None => reference,
        },
    };
    let folder = base.split('?').next().unwrap_or_default();
    if reference.is_empty() {
        return Ok(base.to_owned());
    }
    if reference.starts_with('?') {
        return Ok(format!("{folder}{reference}"));
    }
    let folder = match reference.starts_with('/') {
        true => "",
        false => folder.rsplit_once('/').map_or("", |(folder, _)| folder),
    };
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (reference, None),
    };
    let mut steps: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in path.trim_start_matches('/').split('/') {
        match step {
            "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let path = steps.join("/");
    Ok(match query {
        Some(query) => format!("{path}?{query}"),
        None => path,
    })
}

/// Returns the part after the authority, if the authority is `authority`.
fn own<'a>(authority: &str, rest: &'a str) -> Result<&'a str, LocationError> {
    let path = rest.strip_prefix(authority);
    match path {
        Some("") => Ok("/"),
        Some(path) if path.starts_with('/') => Ok(path),
        _ => Err(LocationError::Elsewhere),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved() {
        let from = |reference| resolve("host:8000", "live/show/index.m3u8?a=b/c", reference);
        for (reference, path) in [
            ("hls/live.m3u8", "live/show/hls/live.m3u8"),
            ("../live.m3u8?x=/y", "live/live.m3u8?x=/y"),
            ("./a//b.mp4", "live/show/a//b.mp4"),
            ("/top.mp4", "top.mp4"),
            ("?c=d", "live/show/index.m3u8?c=d"),
            ("", "live/show/index.m3u8?a=b/c"),
            ("http://host:8000/z.mp4#t", "z.mp4"),
            ("//host:8000/z.mp4", "z.mp4"),
            ("p.mp4?to=http://x", "live/show/p.mp4?to=http://x"),
            ("../../../../p.mp4", "p.mp4"),
        ] {
            assert_eq!(from(reference).as_deref(), Ok(path), "{reference}");
        }
        for reference in [
            "http://other/z.mp4",
            "https://host:8000/z",
            "//host:80001/z",
        ] {
            assert_eq!(
                from(reference),
                Err(LocationError::Elsewhere),
                "{reference}"
            );
        }
    }
}
