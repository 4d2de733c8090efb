//! Router of the public HTTP ports: maps each request to its purpose.
//!
//! [`Route::of_request`] reads method and path once per request; the doors match on the result and parse no path again. The
//! table in [`routes`](crate::routes) lists the same for readers, and the tests here check the two against each other: each row
//! of the table has a route, and each route that is served has a row.

use egress_hls::{Resource, Variants};
use fanout::Registry;
use http1::{Head, Query};
use ingest::icecast::Dialect;
use media::StreamName;
use recordings::Shelf;
use vod::PastAddress;

use crate::front_door::FrontDoor;
use crate::listen::Target;
use crate::page::Page;
use crate::pages::OPERATORS_FIGURES;
use crate::pages::shoutcast::asks_figures;
use crate::routes::is_taken;

/// Purpose of a request.
#[derive(Debug)]
pub enum Route {
    /// Publishing by a source; an error if the path does not name a stream that may be published.
    Source(Result<StreamName, ingest::Error>),
    /// Setting of a title.
    Title(Dialect),
    /// `STATS`: statistics, and their changes.
    Watch,
    /// `OPTIONS *`: the server's capabilities.
    Capabilities,
    /// Listening to a stream.
    Listen(Target),
    /// Head that a listener would get, or whether a page of another origin may listen.
    Look(Target),
    /// Request that does not keep the connection.
    Page(Page),
    /// Target that no method has (RFC 9112 §3.2.4).
    Malformed,
}

impl Route {
    /// Finds the purpose of a request to this server.
    pub fn of_request(head: &Head, front: &FrontDoor) -> Self {
        let path = head.path();
        let is_published = matches!(head.method(), "SOURCE" | "PUT");
        let alias = (!is_published)
            .then(|| front.config.aliased(&path))
            .flatten();
        let path = alias.map_or(path, Into::into);
        Self::of(head.method(), &path, &front.registry)
            .or_figures((head.method(), head.query()))
            .of_single(&front.registry, &front.variants)
            .or_file(head.method(), &path, &front.registry, &front.files)
            .or_past((head.method(), head.query()), &front.shelf)
    }

    /// Takes a method, case-sensitive, and a path, percent-decoded once. A stream's exact name wins over a suffix: `/a/publish`
    /// is a stream while one of that name exists. A piece of HLS, a still, and addresses below a name that cannot be published
    /// win over the suffix of a live body, unless that body's stream exists. A path that means nothing else may name a stream
    /// on another server.
    pub fn of(method: &str, path: &str, registry: &Registry) -> Self {
        match (method, path) {
            ("OPTIONS", "*") => return Self::Capabilities,
            (_, "*") => return Self::Malformed,
            ("STATS", _) => return Self::Watch,
            ("SOURCE" | "PUT", _) => return Self::Source(ingest::name(path, is_taken)),
            ("GET" | "HEAD" | "POST", "/admin/metadata") => return Self::Title(Dialect::Icecast),
            ("GET" | "HEAD" | "POST", "/admin/metadata.xsl") => {
                return Self::Title(Dialect::IcecastPage);
            }
            ("GET" | "HEAD" | "POST", "/admin.cgi") => return Self::Title(Dialect::Shoutcast),
            _ => {}
        }
        let named = match method {
            "GET" | "HEAD" | "OPTIONS" => Target::find(path, registry),
            _ => None,
        };
        if let Some(target) = named
            && (target.is_known(registry) || !Page::resembles_body(path))
        {
            return Self::to(method, target);
        }
        match Page::of(method, path) {
            Page::Nothing => match Target::perhaps(path, registry) {
                Some(target) => Self::to(method, target),
                None => Self::Page(Page::Nothing),
            },
            page => Self::Page(page),
        }
    }

    /// Returns the route to a stream.
    fn to(method: &str, target: Target) -> Self {
        match method {
            "GET" => Self::Listen(target),
            _ => Self::Look(target),
        }
    }

    /// Resolves the name of a group to one stream for live bodies and WebRTC: that of its best quality, so that players need to
    /// follow no redirect. Sessions have that stream's name from then on.
    fn of_single(self, registry: &Registry, variants: &Variants) -> Self {
        let single = |name: &StreamName| variants.single(registry, name);
        let best = |target: &Target| Some(target.clone().of(single(target.name())?));
        let target = |target: Target| {
            let of_group = best(&target).or_else(|| best(&target.otherwise()?));
            of_group.unwrap_or(target)
        };
        match self {
            Self::Listen(asked) => Self::Listen(target(asked)),
            Self::Look(asked) => Self::Look(target(asked)),
            Self::Page(Page::Rtc(mut address)) if address.is_listeners_endpoint() => {
                if let Some(stream) = single(&address.stream) {
                    address.stream = stream;
                }
                Self::Page(Page::Rtc(address))
            }
            other => other,
        }
    }

    /// Sends queries for figures at `/admin.cgi` to their page; other requests there set titles.
    fn or_figures(self, (method, query): (&str, Query<'_>)) -> Self {
        match self {
            Self::Title(Dialect::Shoutcast)
                if matches!(method, "GET" | "HEAD") && asks_figures(query) =>
            {
                Self::Page(Page::Row(&OPERATORS_FIGURES, None))
            }
            other => other,
        }
    }

    /// Resolves files on demand: a path in one of their folders names a file, unless a stream of that name is here or known
    /// elsewhere.
    fn or_file(self, method: &str, path: &str, registry: &Registry, files: &vod::Files) -> Self {
        let is_free = match &self {
            Self::Listen(target) | Self::Look(target) => !target.is_known(registry),
            Self::Page(page) => page
                .stream()
                .is_none_or(|name| registry.stream(name).is_none()),
            _ => false,
        };
        match files.find(path) {
            Some(address) if is_free && matches!(method, "GET" | "HEAD") => {
                Self::Page(Page::File(address))
            }
            _ => self,
        }
    }

    /// Resolves a stream that starts at a past time, which is made of its recordings, over HLS and at the addresses of live
    /// bodies.
    fn or_past(self, (method, query): (&str, Query<'_>), shelf: &Shelf) -> Self {
        if !vod::is_past(query) {
            return self;
        }
        match self {
            Self::Page(Page::Hls(stream, Resource::Multivariant)) => {
                Self::Page(Page::Past(PastAddress::since(stream)))
            }
            Self::Listen(target) | Self::Look(target) if matches!(method, "GET" | "HEAD") => {
                let (stream, extension) = (target.name().clone(), target.extension());
                let address = PastAddress::body(stream, extension, shelf);
                Self::Page(Page::Past(address))
            }
            other => other,
        }
    }

    /// Whether the request is a source client's: the heads of those may deviate from HTTP where others' may not, and nothing
    /// after one that deviates is read as another request.
    pub fn is_of_sources(&self) -> bool {
        match self {
            Self::Source(_) | Self::Title(_) | Self::Capabilities => true,
            Self::Listen(_) | Self::Look(_) | Self::Page(_) | Self::Watch | Self::Malformed => {
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use egress_hls::{Packaging, Piece};
    use fanout::Settings;

    use super::*;
    use crate::listen::testing::TestServer;
    use crate::pages::{Playlist, ROWS};
    use crate::routes::{self, Surface};

    /// The row of the table for a route, by method and path; `None` for routes that mean there is no such row.
    fn row(method: &'static str, route: &Route) -> Option<(&'static str, &'static str)> {
        Some(match route {
            Route::Source(_) if matches!(method, "SOURCE" | "PUT") => (method, "/{stream}"),
            Route::Listen(_) if method == "GET" => (method, "/{stream}"),
            Route::Look(_) if method != "GET" => (method, "/{stream}"),
            Route::Source(_) | Route::Listen(_) | Route::Look(_) => return None,
            Route::Title(Dialect::Icecast) => (method, "/admin/metadata"),
            Route::Title(Dialect::IcecastPage) => (method, "/admin/metadata.xsl"),
            Route::Title(Dialect::Shoutcast) => (method, "/admin.cgi"),
            Route::Capabilities => (method, "*"),
            Route::Watch => (method, "/"),
            Route::Page(page) => return Some((method, page_row(page)?)),
            Route::Malformed => return None,
        })
    }

    fn page_row(page: &Page) -> Option<&'static str> {
        Some(match page {
            Page::Row(row, _) => row.path(),
            Page::File(_) => "/{folder}/{file}",
            Page::Playlist(_, Playlist::M3u) => "/{stream}.m3u",
            Page::Playlist(_, Playlist::Xspf) => "/{stream}.xspf",
            Page::Playlist(_, Playlist::Pls) => "/{stream}.pls",
            Page::Playlist(_, Playlist::Vclt) => "/{stream}.vclt",
            Page::Past(address) => past_row(address),
            Page::Hls(_, Resource::Multivariant) => "/{stream}/index.m3u8",
            Page::Hls(_, Resource::Media(_, Piece::Playlist)) => "/{stream}/hls/live.m3u8",
            Page::Hls(..) => "/{stream}/hls/{piece}",
            Page::Rtc(address) => return address.row(),
            Page::Preflight | Page::NotAllowed | Page::Nothing => return None,
        })
    }

    fn past_row(address: &PastAddress) -> &'static str {
        let stream = address.stream();
        match () {
            () if *address == PastAddress::since(stream.clone()) => "/{stream}/index.m3u8",
            () if *address == past(&format!("/{stream}/clip.mp4")) => "/{stream}/clip.mp4",
            () if *address == past(&format!("/{stream}/recordings/{ID}.mp4")) => {
                "/{stream}/recordings/{recording}.mp4"
            }
            () => "/{stream}/recordings/{recording}/{fragments}",
        }
    }

    fn past(path: &str) -> PastAddress {
        PastAddress::of(path).expect("an address")
    }

    /// A recording.
    const ID: &str = "006b0a5f2000010203040506";

    /// Without streams.
    fn registry() -> Arc<Registry> {
        Arc::clone(&TestServer::new(Settings::default()).context.registry)
    }

    /// A folder of files.
    fn files() -> vod::Files {
        let holdings = base::holdings::Holdings::new(0);
        vod::Files::new([(name("vod"), "/".into())], &holdings)
    }

    #[test]
    fn each_row_of_the_table_is_a_route() {
        let registry = registry();
        for endpoint in routes::all().filter(|row| row.surface != Surface::Rtmp) {
            // Listening is for paths that end like a stream's address, or are one.
            let name = match (endpoint.method, endpoint.path) {
                ("SOURCE" | "PUT", _) => "a/b",
                (_, "/{stream}") => "a/b.flv",
                _ => "a/b",
            };
            let path = endpoint.path.replace("{stream}", name);
            let path = path.replace("{id}", &"0".repeat(32));
            let path = path.replace("{recording}", ID);
            let path = path.replace("{fragments}", "0-6.m4s");
            let path = path.replace("{piece}", "41.0.m4s");
            let path = path.replace("{folder}", "vod").replace("{file}", "a.mp4");
            let method = endpoint.method;
            let route = Route::of(method, &path, &registry);
            let route = route.or_file(method, &path, &registry, &files());
            let expected = Some((method, endpoint.path));
            assert_eq!(row(method, &route), expected, "{path}: {route:?}");
        }
    }

    #[test]
    fn what_a_stream_has_is_no_name_to_publish() {
        for (path, expected) in [
            ("/live/show/titles", false),
            ("/live/whep", false),
            ("/a/b/clip.mp4", false),
            ("/status.xsl", false),
            ("/played.html/show", false),
            ("/titles", true),
            ("/live/titles/show", true),
            ("/live/show.m3u", true),
        ] {
            assert_eq!(ingest::name(path, is_taken).is_ok(), expected, "{path}");
        }
    }

    #[test]
    fn a_file_is_no_more_than_a_file() {
        let registry = registry();
        for (method, path, is_file) in [
            ("GET", "/vod/a.mp4", true),
            ("HEAD", "/vod/b/a b.mp3", true),
            ("OPTIONS", "/vod/a.mp4", false),
            ("POST", "/vod/a.mp4", false),
            ("PUT", "/vod/a.mp4", false),
            ("GET", "/vod/a.mp4/", false),
            ("GET", "/vod/show/index.m3u8", false),
            ("GET", "/vod/show", false),
            ("GET", "/other/a.mp4", false),
        ] {
            let route = Route::of(method, path, &registry);
            let route = route.or_file(method, path, &registry, &files());
            let found = matches!(route, Route::Page(Page::File(_)));
            assert_eq!(found, is_file, "{method} {path}: {route:?}");
        }
    }

    #[test]
    fn the_past_of_a_stream_is_a_page() {
        let registry = registry();
        for (path, query, is_past) in [
            ("/a/b.flv", "at=-600s", true),
            ("/a/b.flv", "key=k", false),
            ("/a/b/index.m3u8", "at=-600s", true),
            ("/a/b/index.m3u8", "key=k&at=start", true),
            ("/a/b/index.m3u8", "key=k", false),
            ("/a/b/hls/live.m3u8", "at=start", false),
            ("/a/b/clip.mp4", "from=-60", true),
            ("/a/b/recordings/ID.mp4", "", true),
            ("/a/b/recordings/ID/index.m3u8", "", true),
            ("/a/b/recordings/SHORT/index.m3u8", "", false),
            ("/a/b/recordings/../../c.mp4", "", false),
        ] {
            let path = path.replace("ID", ID).replace("SHORT", &ID[1..]);
            let route = Route::of("GET", &path, &registry);
            let query = Query::new(query.as_bytes());
            let route = route.or_past(("GET", query), &Shelf::default());
            let found = matches!(route, Route::Page(Page::Past(_)));
            assert_eq!(found, is_past, "{path}: {route:?}");
        }
    }

    #[test]
    fn each_piece_of_hls_is_a_page() {
        let registry = registry();
        for packaging in Packaging::ALL {
            for piece in [
                Piece::Playlist,
                Piece::Init("0123abcd".to_owned()),
                Piece::Segment(41),
                Piece::Part(41, 2),
            ] {
                let resource = Resource::Media(packaging, piece);
                let route = Route::of("GET", &format!("/a/b/{resource}"), &registry);
                let Route::Page(Page::Hls(stream, found)) = route else {
                    panic!("{resource:?}: {route:?}");
                };
                assert_eq!((stream.as_str(), found), ("a/b", resource));
            }
        }
    }

    #[test]
    fn what_a_page_begins_with_is_no_streams_name() {
        for path in routes::all().map(|row| row.path) {
            let is_of_a_stream = path.starts_with("/{") || path.starts_with('{');
            if is_of_a_stream || matches!(path, "*" | "/") {
                continue;
            }
            let path = path.replace("{stream}", "show.flv");
            let is_published = ingest::name(&path, is_taken).is_ok();
            assert!(!is_published, "{path} could be published");
        }
    }

    #[test]
    fn what_is_not_served_has_no_row() {
        let registry = registry();
        let page = |name| of_stream("/{stream}/", name);
        let embedded = |name| of_stream("/embed/{stream}", name);
        for (method, path, expected) in [
            ("GET", "/live", Page::Nothing),
            ("GET", "/publish", Page::Nothing),
            ("GET", "/a b/publish", Page::Nothing),
            ("GET", "/live/show/publish/", page("live/show/publish")),
            ("GET", "/live//", Page::Nothing),
            ("GET", "/../x/", Page::Nothing),
            ("GET", "//", Page::Nothing),
            ("GET", "/embed/live/show.flv", embedded("live/show.flv")),
            ("HEAD", "/embed/radio.mp3", embedded("radio.mp3")),
            ("GET", "/embed/live/show/", Page::Nothing),
            ("GET", "/embed/embed/live", Page::Nothing),
            ("GET", "/embed", Page::Nothing),
            ("GET", "/embed/a/index.m3u8", embedded("a/index.m3u8")),
            ("GET", "/{stream}/", Page::Nothing),
            ("GET", "/{stream}/titles", Page::Nothing),
            ("GET", "/still.mp4/", page("still.mp4")),
            ("OPTIONS", "/live/show/still.mp4", Page::Preflight),
            ("POST", "/", Page::NotAllowed),
            ("POST", "/radio.mp3", Page::NotAllowed),
            ("get", "/", Page::NotAllowed),
            ("DELETE", "/live/show/", Page::NotAllowed),
            ("OPTIONS", "/", Page::Preflight),
            ("OPTIONS", "/live/none", Page::Preflight),
            ("CONNECT", "/h:80", Page::NotAllowed),
        ] {
            let route = Route::of(method, path, &registry);
            let Route::Page(page) = route else {
                panic!("{method} {path}: {route:?}");
            };
            assert_eq!(page, expected, "{method} {path}");
        }
        assert!(matches!(Route::of("GET", "*", &registry), Route::Malformed));
    }

    fn of_stream(path: &str, text: &str) -> Page {
        let mut rows = ROWS.iter();
        let row = rows.find(|row| row.path() == path).expect("a row");
        Page::Row(row, Some(name(text)))
    }

    fn name(text: &str) -> StreamName {
        StreamName::parse(text).expect("a name")
    }
}
