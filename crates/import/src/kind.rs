//! Detection of the server that a configuration is for.

/// A server whose configurations can be imported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Icecast 2.4, 2.5 and icecast-kh: XML.
    Icecast,
    /// nginx with the RTMP module.
    Nginx,
    /// MediaMTX: YAML.
    Mediamtx,
    /// SRS: blocks in the syntax of nginx.
    Srs,
}

/// Keys at the beginning of a line that identify a MediaMTX file.
const OF_MEDIAMTX: [&str; 9] = [
    "paths:",
    "pathDefaults:",
    "logLevel:",
    "authMethod:",
    "rtmpAddress:",
    "hlsAddress:",
    "webrtcAddress:",
    "rtspAddress:",
    "rtmp:",
];

impl Kind {
    /// Detects the kind of a file by its content.
    pub fn of(source: &str) -> Option<Self> {
        let has_line = |is_one: &dyn Fn(&str) -> bool| source.lines().any(is_one);
        let opens = |line: &str, word: &str| {
            let rest = line.trim_start().strip_prefix(word);
            rest.is_some_and(|rest| {
                let rest = rest.trim_start();
                rest.is_empty() || rest.starts_with('{')
            })
        };
        if source.contains("<icecast>") || source.contains("<icecast ") {
            return Some(Self::Icecast);
        }
        if has_line(&|line| line.starts_with("vhost ") && line.trim_end().ends_with('{')) {
            return Some(Self::Srs);
        }
        if has_line(&|line| opens(line, "rtmp")) {
            return Some(Self::Nginx);
        }
        let is_key = |line: &str| OF_MEDIAMTX.iter().any(|key| line.starts_with(key));
        has_line(&is_key).then_some(Self::Mediamtx)
    }

    /// Returns the server's name.
    pub const fn server(self) -> &'static str {
        match self {
            Self::Icecast => "Icecast",
            Self::Nginx => "nginx-rtmp",
            Self::Mediamtx => "MediaMTX",
            Self::Srs => "SRS",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_content() {
        for (text, kind) in [
            ("<!-- ours -->\n<icecast>\n", Some(Kind::Icecast)),
            ("events {}\nrtmp {\n", Some(Kind::Nginx)),
            ("rtmp\n{\n", Some(Kind::Nginx)),
            ("listen 1935;\nvhost __defaultVhost__ {\n", Some(Kind::Srs)),
            ("# mine\nlogLevel: info\n", Some(Kind::Mediamtx)),
            ("[rtmp]\nlisten = []\n", None),
            ("http { server { listen 80; } }", None),
        ] {
            assert_eq!(Kind::of(text), kind, "{text}");
        }
    }
}
