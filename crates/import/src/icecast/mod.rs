//! `icecast.xml` of Icecast 2.4, 2.5 and icecast-kh.
//!
//! Mounts are in [`mount`], relays in [`relay`]; directives that need no setting, or have none here, are in [`words`].

mod mount;
mod relay;
mod words;

pub(crate) use self::words::WORDS;
use crate::draft::{Import, TableId};
use crate::source::Directive;

/// Values that several parts of the file need.
#[derive(Debug, Default)]
struct Station<'a> {
    /// Host by which clients address this server, with its port.
    host: String,
    webroot: &'a str,
    logdir: &'a str,
    /// Names of mounts.
    mounts: Vec<&'a str>,
}

/// Imports a document.
pub(crate) fn import(root: &Directive, import: &mut Import) {
    let Some(icecast) = root.child("icecast") else {
        return;
    };
    let station = Station::of(icecast);
    sockets(icecast, import);
    let mounts = icecast.all("mount");
    let asking = mounts.filter_map(|mount| mount.child("authentication"));
    let asking: Vec<_> = asking
        .filter(|element| element.attribute("type") == Some("url"))
        .collect();
    mount::hook(&asking, &station, import);
    let mut defaults = Vec::new();
    for element in &icecast.children {
        match &*element.name {
            "listen-socket" | "port" => {}
            "limits" => limits(element, import),
            "authentication" => passwords(element, import),
            "paths" => paths(element, &station, import),
            "logging" => logging(element, &station, import),
            "mount" if element.attribute("type") == Some("default") => defaults.push(element),
            "mount" => mount::mount(element, &station, import),
            "relay" => relay::relay(element, import),
            "directory" | "yp-directory" => directory(element, &station, import),
            "shoutcast-mount" => shoutcast_stream(element, import),
            "location" => import.set("http", "location", element.value(), element),
            "admin" => import.set("http", "contact", element.value(), element),
            "fileserve" => fileserve(element, &station, import),
            "http-headers" => http_headers(element, import),
            _ => import.explain(element),
        }
    }
    // Settings for all streams come last: the first match wins.
    for element in defaults {
        mount::mount(element, &station, import);
    }
}

impl<'a> Station<'a> {
    fn of(icecast: &'a Directive) -> Self {
        let paths = icecast.child("paths");
        let in_paths = |name| paths.and_then(|paths| paths.value_of(name));
        let mut sockets = icecast.all("listen-socket");
        let port = sockets.find_map(|socket| socket.value_of("port"));
        let port = port.or_else(|| icecast.value_of("port")).unwrap_or("8000");
        let hostname = icecast.value_of("hostname").unwrap_or("localhost");
        let mounts = icecast.all("mount");
        Self {
            host: format!("{hostname}:{port}"),
            webroot: in_paths("webroot").unwrap_or_default(),
            logdir: in_paths("logdir").unwrap_or_default(),
            mounts: mounts
                .filter_map(|mount| mount.value_of("mount-name"))
                .collect(),
        }
    }

    /// Returns the path of a file in the directory of files, as Icecast resolves it.
    fn file(&self, name: &str) -> String {
        format!(
            "{}/{}",
            self.webroot.trim_end_matches('/'),
            name.trim_start_matches('/')
        )
    }
}

/// Returns the stream name, or the pattern, of a mount. The stars of icecast-kh match across slashes.
fn stream(mount: &str) -> String {
    mount.trim_start_matches('/').replace('*', "**")
}

/// TLS mode of a port, by the names of 2.5.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tls {
    /// In clear text.
    Off,
    /// `disabled`: in clear text, without upgrades to TLS.
    Disabled,
    /// `auto`: as the client begins, or upgrades.
    Auto,
    /// `auto_no_plain`: TLS, from the beginning or after an upgrade.
    AutoNoPlain,
    /// `rfc2817`: TLS after an upgrade.
    Upgrade,
    /// `rfc2818`, and the mode that older versions switch on: TLS from the beginning.
    Https,
}

impl Tls {
    fn of(element: &Directive) -> Self {
        match &*element.value().to_ascii_lowercase() {
            "disabled" => Self::Disabled,
            "auto" => Self::Auto,
            "auto_no_plain" => Self::AutoNoPlain,
            "rfc2817" => Self::Upgrade,
            "rfc2818" => Self::Https,
            _ if element.is_on() => Self::Https,
            _ => Self::Off,
        }
    }

    /// Returns whether the port's address belongs to `tls_listen`. Icecast announces an `auto` port as `http://`, so that is
    /// none.
    fn is_secure(self) -> bool {
        matches!(self, Self::AutoNoPlain | Self::Https)
    }

    /// Accounts for the element of a port whose address has been set. A port here supports one of the two ways to TLS; a remark
    /// says what the clients of the other way lose.
    fn carry_over(self, element: &Directive, http: TableId, import: &mut Import) {
        let upgrade = |import: &mut Import, is_on: bool| {
            import.set(http, "tls_upgrade", is_on, element);
        };
        match self {
            Self::Off => import.needless(element, "is off"),
            Self::Disabled => upgrade(import, false),
            Self::Auto => {
                upgrade(import, true);
                import.remark(http, "A port of `listen` is no port of HTTPS: clients that begin with TLS need one of `tls_listen`.");
            }
            Self::Upgrade => {
                upgrade(import, true);
                import.remark(http, "A port of `listen` answers in clear whoever does not ask for TLS; Icecast refused them there.");
            }
            Self::AutoNoPlain => import.remark(http, "A port of `tls_listen` begins with TLS: clients that ask for it in clear (RFC 2817) need one of `listen`."),
            Self::Https => {}
        }
    }
}

fn sockets(icecast: &Directive, import: &mut Import) {
    let (mut plain, mut secure) = (Vec::new(), Vec::new());
    let (mut plain_from, mut secure_from) = (Vec::new(), Vec::new());
    let mut modes = Vec::new();
    for socket in icecast.all("listen-socket") {
        let Some(port) = socket.child("port") else {
            import.leave(socket, "has no port");
            continue;
        };
        let bind = socket.child("bind-address");
        let host = match bind.map_or("", Directive::value) {
            "" => "0.0.0.0".to_owned(),
            host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let at = format!("{host}:{}", port.value());
        let tls = ["ssl", "tls"]
            .into_iter()
            .find_map(|name| socket.child(name));
        let mode = tls.map_or(Tls::Off, Tls::of);
        let shoutcast = socket.child("shoutcast-compat");
        let parts: Vec<_> = [Some(port), bind].into_iter().flatten().collect();
        if shoutcast.is_some_and(Directive::is_on) {
            let from: Vec<_> = parts.into_iter().chain(shoutcast).collect();
            import.set_from("shoutcast", "listen", &[at][..], &from);
            if let Some(tls) = tls.filter(|_| mode != Tls::Off) {
                import.leave(tls, "sources of SHOUTcast are heard in clear");
            }
        } else if mode.is_secure() {
            secure.push(at);
            secure_from.extend(parts);
            secure_from.extend(tls);
        } else {
            plain.push(at);
            plain_from.extend(parts);
        }
        if let Some(tls) = tls {
            modes.push((mode, tls));
        }
        for element in &socket.children {
            match &*element.name {
                "port" | "bind-address" => {}
                "shoutcast-mount" => {
                    let port = port.value().parse::<u16>().ok();
                    if let Some(next) = port.and_then(|port| port.checked_add(1)) {
                        let at = [format!("{host}:{next}")];
                        import.set("shoutcast", "listen", &at[..], element);
                    }
                    shoutcast_stream(element, import);
                }
                "shoutcast-compat" if !element.is_on() => import.needless(element, "is off"),
                "shoutcast-compat" | "ssl" | "tls" => {}
                _ => import.explain(element),
            }
        }
    }
    if let Some(port) = icecast.child("port") {
        plain.push(format!("0.0.0.0:{}", port.value()));
        plain_from.push(port);
    }
    let http = import.section("http");
    if !plain.is_empty() || !secure.is_empty() {
        import.set_from(http, "listen", &plain[..], &plain_from);
    }
    if !secure.is_empty() {
        import.set_from(http, "tls_listen", &secure[..], &secure_from);
    }
    for (mode, element) in modes {
        mode.carry_over(element, http, import);
    }
}

/// Imports a directory of stations, whose address is a child element or, in 2.5, an attribute.
fn directory(element: &Directive, station: &Station<'_>, import: &mut Import) {
    let address = element.child("yp-url");
    let of_attribute = || element.attribute("url");
    let url = address.map(Directive::value).or_else(of_attribute);
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        import.leave(element, "has no address");
        return;
    };
    let Some(id) = import.entry("directory", element, &[]) else {
        return;
    };
    import.set(id, "url", url, address.unwrap_or(element));
    import.set(id, "base_url", format!("http://{}", station.host), element);
    for child in &element.children {
        match &*child.name {
            "yp-url" => {}
            "yp-url-timeout" => import.needless(child, "is 15 s"),
            _ => import.explain(child),
        }
    }
}

fn shoutcast_stream(element: &Directive, import: &mut Import) {
    import.set("shoutcast", "stream", stream(element.value()), element);
}

fn limits(limits: &Directive, import: &mut Import) {
    // -1 means no limit of its own.
    let is_limit = |element: &Directive| element.value().parse::<u32>().is_ok();
    let has_own = limits.child("max-listeners").is_some_and(is_limit);
    let burst = limits.child("burst-on-connect");
    let is_burst_off = burst.is_some_and(|burst| !burst.is_on());
    for element in &limits.children {
        match &*element.name {
            "max-listeners" if element.value() == "-1" => {
                import.needless(element, "there is no limit");
            }
            "clients" if has_own => {
                import.leave(element, "limits.listeners is that of max-listeners");
            }
            "clients" | "max-listeners" => import.set_number("limits", "listeners", element),
            "sources" => import.set_number("limits", "publishers", element),
            "max-bandwidth" => bandwidth(element, import),
            "header-timeout" => import.set_time("http", "head_timeout", 1e3, element),
            "source-timeout" => import.set_time("ingest", "source_timeout", 1e3, element),
            "burst-on-connect" if is_burst_off => {
                import.set("fanout.audio", "burst", "0ms", element)
            }
            "burst-on-connect" => import.needless(element, "is always on"),
            "burst-size" if is_burst_off => import.needless(element, "burst-on-connect is off"),
            "burst-size" => mount::burst(import.section("fanout.audio"), element, import),
            _ => import.explain(element),
        }
    }
}

/// Imports icecast-kh's bandwidth: bits per second, followed by k, m or g.
fn bandwidth(element: &Directive, import: &mut Import) {
    let value = element.value().to_ascii_lowercase();
    let value = value.trim_end_matches("bps").trim_end_matches("bit").trim();
    let number = value.trim_end_matches(['k', 'm', 'g']);
    let unit = match value.chars().last() {
        Some('g') => 1e3,
        Some('m') => 1.0,
        Some('k') => 1e-3,
        _ => 1e-6,
    };
    match number.parse::<f64>().map(|number| number * unit) {
        Ok(megabits) if megabits >= 1.0 => {
            let megabits = megabits.round_ties_even() as u64;
            import.set("limits", "egress_mbps", megabits, element);
        }
        _ => import.leave(element, "limits.egress_mbps is at least 1"),
    }
}

fn passwords(authentication: &Directive, import: &mut Import) {
    for element in &authentication.children {
        match &*element.name {
            "source-password" => import.set("auth", "publish_key", element.value(), element),
            "admin-password" => import.set("auth", "admin_password", element.value(), element),
            "admin-user" => {
                import.needless(element, "any user name will do with the right password")
            }
            _ => import.explain(element),
        }
    }
}

fn paths(paths: &Directive, station: &Station<'_>, import: &mut Import) {
    access(paths, import);
    for element in &paths.children {
        match &*element.name {
            "alias" => alias(element, import),
            "ssl-certificate" | "tls-certificate" => {
                import.set("http", "certificate", element.value(), element);
                let mut keys = ["ssl-private-key", "tls-private-key"].into_iter();
                if !keys.any(|key| paths.child(key).is_some()) {
                    import.set("http", "private_key", element.value(), element);
                }
            }
            "ssl-private-key" | "tls-private-key" => {
                import.set("http", "private_key", element.value(), element);
            }
            "x-forwarded-for" => proxies(paths, import),
            "allow-ip" | "deny-ip" | "deny-agents" if element.value().is_empty() => {
                import.needless(element, "is empty");
            }
            // All of these elements form one entry.
            "allow-ip" | "deny-ip" | "deny-agents" => {}
            "webroot" if station.webroot.is_empty() => import.needless(element, "is empty"),
            _ => import.explain(element),
        }
    }
}

/// Imports files of clients, which apply to all streams.
fn access(paths: &Directive, import: &mut Import) {
    let keys = [
        ("allow-ip", "allow_file"),
        ("deny-ip", "deny_file"),
        ("deny-agents", "deny_agents_file"),
    ];
    let named = keys.map(|(name, key)| Some((paths.child(name)?, key)));
    let named = named.into_iter().flatten();
    let named: Vec<_> = named.filter(|(file, _)| !file.value().is_empty()).collect();
    let Some((first, _)) = named.first() else {
        return;
    };
    let Some(id) = import.entry("access", first, &[]) else {
        return;
    };
    for (file, key) in named {
        import.set(id, key, file.value(), file);
    }
}

/// Imports icecast-kh's proxies whose X-Forwarded-For is trusted.
fn proxies(paths: &Directive, import: &mut Import) {
    let all: Vec<_> = paths.all("x-forwarded-for").collect();
    let texts = all.iter().map(|element| element.value());
    let addresses = texts.flat_map(|text| text.split([',', ' ']));
    let addresses: Vec<_> = addresses.filter(|address| !address.is_empty()).collect();
    import.set_from("http", "trusted_proxies", &addresses[..], &all);
}

fn alias(element: &Directive, import: &mut Import) {
    let [destination, dest] = ["destination", "dest"].map(|name| element.attribute(name));
    let destination = destination.or(dest);
    let (Some(source), Some(destination)) = (element.attribute("source"), destination) else {
        import.leave(element, "has no source or no destination");
        return;
    };
    if destination.ends_with(".xsl") || destination.contains('?') {
        import.leave(element, "[[alias]] leads to streams, not to pages");
        return;
    }
    let destination = stream(destination);
    let id = import.entry(
        "alias",
        element,
        &[("path", &source), ("stream", &destination)],
    );
    let of_one_address = ["port", "bind-address"];
    if let Some(id) = id
        && of_one_address
            .iter()
            .any(|name| element.attribute(name).is_some())
    {
        import.remark(
            id,
            "Icecast had this at one address of its own only; here it is at all.",
        );
    }
}

fn logging(logging: &Directive, station: &Station<'_>, import: &mut Import) {
    for element in &logging.children {
        match (&*element.name, element.value()) {
            ("accesslog", "") if element.children.is_empty() => {
                import.needless(
                    element,
                    "no access log is written unless log.access names one",
                );
            }
            ("accesslog", name) => {
                let own = Some(name).filter(|name| !name.is_empty());
                let own = own.or_else(|| element.value_of("name"));
                let name = own.unwrap_or("access.log");
                let is_whole = name == "-" || name.starts_with('/') || station.logdir.is_empty();
                let path = match is_whole {
                    true => name.to_owned(),
                    false => format!("{}/{name}", station.logdir.trim_end_matches('/')),
                };
                import.set("log", "access", path, element);
            }
            ("loglevel", level) => {
                let word = match level {
                    "4" | "debug" => "debug",
                    "3" | "info" | "information" => "info",
                    "2" | "warn" | "warning" => "warn",
                    "1" | "error" => "error",
                    _ => {
                        import.leave(element, "is no level from 1 to 4");
                        continue;
                    }
                };
                import.set("log", "level", word, element);
            }
            _ => import.explain(element),
        }
    }
}

fn fileserve(element: &Directive, station: &Station<'_>, import: &mut Import) {
    match element.is_on() && !station.webroot.is_empty() {
        true => import.leave(
            element,
            "files of `webroot` are not at `/`; a [[files]] serves them below a path of its own",
        ),
        false => import.needless(element, "no files are served without a [[files]]"),
    }
}

fn http_headers(headers: &Directive, import: &mut Import) {
    for header in &headers.children {
        let name = header.attribute("name").unwrap_or_default();
        let is_cors = name.to_ascii_lowercase().starts_with("access-control-");
        match is_cors && header.attribute("value") == Some("*") {
            true => import.needless(header, "is always sent"),
            false => import.leave(header, "headers are not configurable; a proxy can add them"),
        }
    }
}
