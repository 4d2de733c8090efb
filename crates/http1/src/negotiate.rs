//! Content negotiation: the replies that a request's client accepts (RFC 9110 §12.5.3, §13.1.1, §13.1.2).

/// Whether a client accepts a content coding: whether the lines of its `Accept-Encoding` name it, and not with quality 0.
pub fn accepts_coding<'a>(lines: impl IntoIterator<Item = &'a str>, coding: &str) -> bool {
    members(lines).any(|one| {
        let (name, parameters) = one.split_once(';').unwrap_or((one, ""));
        let quality = parameters.trim().strip_prefix("q=");
        let is_refused = quality.is_some_and(|quality| quality.trim().parse() == Ok(0.0_f32));
        name.trim().eq_ignore_ascii_case(coding) && !is_refused
    })
}

/// Whether a client has the version with that entity tag: whether the lines of its `If-None-Match` name it, by weak comparison,
/// or any.
pub fn has_version<'a>(lines: impl IntoIterator<Item = &'a str>, tag: &str) -> bool {
    let opaque = |tag: &'a str| tag.trim_start_matches("W/");
    members(lines).any(|known| known == "*" || opaque(known) == tag.trim_start_matches("W/"))
}

/// Whether a client wants the version with that entity tag: whether the lines of its `If-Match` name it, by strong comparison,
/// or any.
pub fn wants_version<'a>(lines: impl IntoIterator<Item = &'a str>, tag: &str) -> bool {
    members(lines).any(|wanted| wanted == "*" || wanted == tag && !tag.starts_with("W/"))
}

fn members<'a>(lines: impl IntoIterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    lines
        .into_iter()
        .flat_map(|line| line.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_accepted_unless_it_is_refused() {
        let parameters = "deflate;q=0, gzip ; q=1.0";
        for accepted in ["gzip", "br, GZIP", "gzip;q=0.1", parameters] {
            assert!(accepts_coding([accepted], "gzip"), "{accepted}");
        }
        for refused in ["", "*", "gzip;q=0", "gzip; q=0.000", "x-gzip", "br"] {
            assert!(!accepts_coding([refused], "gzip"), "{refused}");
        }
        assert!(accepts_coding(["br", "gzip"], "gzip"));
    }

    #[test]
    fn tags_are_compared_weakly() {
        for known in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            for tag in ["\"a\"", "W/\"a\""] {
                assert!(has_version([known], tag), "{known}, {tag}");
            }
        }
        for other in ["", "\"b\"", "a", "\"a"] {
            assert!(!has_version([other], "\"a\""), "{other}");
        }
    }

    #[test]
    fn tags_that_are_wanted_are_compared_strongly() {
        for wanted in ["\"a\"", "\"b\", \"a\"", "*"] {
            assert!(wants_version([wanted], "\"a\""), "{wanted}");
        }
        for other in ["", "\"b\"", "a", "W/\"a\""] {
            assert!(!wants_version([other], "\"a\""), "{other}");
        }
        assert!(!wants_version(["W/\"a\""], "W/\"a\""));
    }
}
