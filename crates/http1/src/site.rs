//! Detection of requests that a page of another site makes a browser send, with the credentials that the browser keeps for this
//! site.
//!
//! Browsers report it themselves (`Sec-Fetch-Site`), but not over plain HTTP; there they name the page (`Origin`, `Referer`). A
//! page can have its own name left out, so a browser that sends none of these headers is not trusted either. Programs that are
//! no browsers send none of these headers, and are not affected.

/// Whether a page of another site makes a browser send the request. `header` finds a header of the request, and `own` is a
/// further name of the server.
pub fn is_of_other_site<'h>(header: impl Fn(&str) -> Option<&'h str>, own: Option<&str>) -> bool {
    if let Some(site) = header("sec-fetch-site") {
        return site != "same-origin" && site != "none";
    }
    // A page can set neither of these headers, except for its own origin.
    let names = [header("host"), header("x-forwarded-host"), own];
    let names = names.into_iter().flatten();
    let mut names = names.flat_map(|names| names.split(',')).map(host);
    match header("origin").or_else(|| header("referer")) {
        Some(page) => {
            let page = page.split_once("://").map(|(_, rest)| host(rest));
            let is_own = |page: &str| names.any(|name| name.eq_ignore_ascii_case(page));
            !page.is_some_and(is_own)
        }
        None => is_browser(&header),
    }
}

/// Whether the client is a browser: browsers always send both headers. Other programs that call themselves Mozilla, because
/// SHOUTcast expects it, send no languages.
fn is_browser<'h>(header: impl Fn(&str) -> Option<&'h str>) -> bool {
    let speaks = header("accept-language").is_some_and(|languages| languages != "*");
    let agent = header("user-agent").unwrap_or_default();
    speaks && agent.starts_with("Mozilla/")
}

/// Returns the host at the beginning of a URL's part after the scheme, without the port: another port belongs to the same
/// operator.
fn host(text: &str) -> &str {
    let authority = text.trim().split(['/', '?', '#', '\\']).next();
    let authority = authority.unwrap_or_default();
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    match host.find(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or(host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_pages_of_other_sites_send_are_known() {
        const CHROME: &str = "user-agent: Mozilla/5.0 (X11) Chrome/140";
        let german = format!("{CHROME}|accept-language: de");
        let no_language = format!("{CHROME}|accept-language: *");
        for (headers, is_other) in [
            // Over TLS and to localhost.
            ("sec-fetch-site: none", false),
            ("sec-fetch-site: same-origin", false),
            ("sec-fetch-site: same-site", true),
            ("sec-fetch-site: cross-site", true),
            (
                "sec-fetch-site: same-origin|origin: http://evil.example",
                false,
            ),
            // Elsewhere.
            ("referer: http://radio.example:8000/admin/", false),
            ("referer: http://Radio.Example/admin/", false),
            ("origin: http://radio.example:8000", false),
            ("referer: http://evil.example/?radio.example", true),
            ("referer: http://radio.example@evil.example/", true),
            ("referer: http://radio.example.evil.example/", true),
            ("origin: http://evil.example", true),
            ("origin: null|referer: http://radio.example/", true),
            ("referer: ", true),
            // Behind a proxy that has another name.
            (
                "x-forwarded-host: tv.example|referer: https://tv.example/",
                false,
            ),
            ("referer: https://public.example/admin/", false),
            // A page that hides itself; and programs that are no browsers.
            (&german, true),
            ("", false),
            ("user-agent: Mozilla/4.0 (compatible)", false),
            (
                "user-agent: Nicecast/1.11 CFNetwork/760|accept-language: de",
                false,
            ),
            (&no_language, false),
        ] {
            let header = |name: &str| match name {
                "host" => Some("radio.example:8000"),
                name => headers.split('|').find_map(|line| {
                    let (known, value) = line.split_once(": ")?;
                    (known == name).then_some(value)
                }),
            };
            let reported = is_of_other_site(header, Some("public.example"));
            assert_eq!(reported, is_other, "{headers}");
        }
        assert_eq!(host("[2001:db8::1]:8000/x"), "[2001:db8::1]");
    }
}
