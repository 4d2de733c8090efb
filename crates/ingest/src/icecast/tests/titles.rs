//! Titles beside the stream.

use super::*;

fn title_of(stream: &fanout::Stream) -> (String, String) {
    stream
        .info()
        .title
        .map_or_else(Default::default, |t| (t.text.clone(), t.url.clone()))
}

#[tokio::test(start_paused = true)]
async fn titles_arrive_in_every_dialect() {
    let context = test_context(Takeover::SameCredential, 0);
    let (_source, _task, stream) = source_of_a(&context).await;
    for (target, title, url) in [
        ("mount=/a&song=One+-+Two", "One - Two", ""),
        ("mount=a&song=old&artist=New&title=Song", "New - Song", ""),
        ("mount=/a&song=Only%20song&title=t", "Only song", ""),
        (
            "mount=/a&title=Only+title&url=http://x/",
            "Only title",
            "http://x/",
        ),
        ("mount=/a&charset=ISO-8859-1&song=Bj%F6rk", "Björk", ""),
        ("mount=/a&charset=SHIFT_JIS&song=%93%FA%96%7B", "日本", ""),
        ("mount=/a&charset=GBK&song=%D6%D0%B9%FA", "中国", ""),
        ("mount=/a&song=a%0d%0ab%09c", "a b c", ""),
        ("mount=/a&url=http://x/", "a b c", ""),
        ("mount=/a&song=", "", ""),
        ("song=without+mount", "without mount", ""),
    ] {
        let request = keyed(
            &format!("GET /admin/metadata?mode=updinfo&{target} HTTP/1.0"),
            KEY,
        );
        let answer = ask(&context, &request);
        begins(&answer, "HTTP/1.0 200 OK\r\n");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert_eq!(
            body,
            "<?xml version=\"1.0\"?>\n<iceresponse><message>Metadata update successful</message>\
             <return>1</return></iceresponse>\n"
        );
        has(&answer, &format!("\r\nContent-Length: {}\r\n", body.len()));
        let expected = (title.to_owned(), url.to_owned());
        assert_eq!(title_of(&stream), expected, "{target}");
    }
    let long = format!("mode=updinfo&mount=/a&song={}", "ö".repeat(6000));
    let head = keyed("POST /admin/metadata HTTP/1.1", KEY);
    ask(&context, &(head + &long));
    assert_eq!(title_of(&stream).0.len(), 4080);
    let request = keyed(
        "GET /admin/metadata.xsl?mode=updinfo&mount=/a&song=Page HTTP/1.0",
        KEY,
    );
    let page = ask(&context, &request);
    has(&page, "\r\nContent-Type: text/html; charset=utf-8\r\n");
    has(&page, "<p>Return Code: 1</p>");
    assert_eq!(title_of(&stream).0, "Page");
    let request =
        format!("GET /admin.cgi?mode=updinfo&pass={KEY}&sid=1&song=Cast HTTP/1.0\r\n\r\n");
    assert!(ask(&context, &request).starts_with("HTTP/1.0 200 OK\r\n"));
    assert_eq!(title_of(&stream).0, "Cast");
}

/// Returns the reply of `/admin/metadata` and the resulting title of `/a`.
fn update(context: &Context, stream: &fanout::Stream, target: &str) -> (String, String) {
    let target = format!("/admin/metadata?mode=updinfo&mount=/a&{target}");
    let answer = ask(context, &keyed(&format!("GET {target}"), KEY));
    let (_, message) = answer.split_once("<message>").expect("a message");
    let (message, _) = message.split_once("</message>").expect("its end");
    (message.to_owned(), title_of(stream).0)
}

#[tokio::test(start_paused = true)]
async fn an_empty_song_clears_the_title_unless_it_is_butts() {
    let context = test_context(Takeover::SameCredential, 0);
    let (_source, _task, stream) = source_of_a(&context).await;
    for (target, title) in [
        ("song=One HTTP/1.0", "One"),
        ("song= HTTP/1.0\r\nUser-Agent: butt 0.1.37", "One"),
        ("song= HTTP/1.0\r\nUser-Agent: x", ""),
    ] {
        assert_eq!(update(&context, &stream, target).1, title, "{target}");
    }
    assert_eq!(stream.info().title, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_carries_its_own_titles_says_that_it_takes_no_others() {
    let context = test_context(Takeover::SameCredential, 0);
    let head = keyed("PUT /a HTTP/1.1\r\nContent-Type: video/nsv", KEY);
    let (mut source, _task) = source(&context, head);
    let stream = stream(&context, "a").await;
    source.write_all(b"tick").await.expect("it is read");
    until("its type", || {
        stream.info().source.container == Container::Other
    })
    .await;
    let (message, title) = update(&context, &stream, "song=One HTTP/1.0");
    assert_eq!(message, "Mountpoint will not accept URL updates");
    assert_eq!(title, "");
}

#[tokio::test(start_paused = true)]
async fn titles_from_strangers_and_for_nothing_are_refused() {
    let context = test_context(Takeover::SameCredential, 0);
    let (_source, _task, stream) = source_of_a(&context).await;
    let (right, wrong) = (basic(KEY), basic("guess"));
    let of_page = format!("{right}Host: radio.example\r\nReferer: http://evil.example/\r\n");
    let mount = "/admin/metadata?mode=updinfo&song=x&mount=";
    for (target, auth, status) in [
        (&format!("{mount}/a")[..], &of_page[..], "403 "),
        (&format!("{mount}/a"), "", "401 "),
        (&format!("{mount}/a"), &wrong, "401 "),
        // Only Shoutcast takes the password in the query: queries end up in many logs.
        (&format!("{mount}/a&pass={KEY}"), "", "401 "),
        ("/admin.cgi?mode=updinfo&song=x&pass=guess", "", "401 "),
        (&format!("{mount}/b"), "", "401 "),
        (&format!("{mount}/b"), &right, "400 "),
        (&format!("{mount}/../b"), &right, "400 "),
        ("/admin/metadata?mode=delete&mount=/a", &right, "400 "),
        ("/admin/metadata?mount=/a&song=x", &right, "400 "),
    ] {
        let answer = ask(&context, &format!("GET {target} HTTP/1.1\r\n{auth}\r\n"));
        let begin = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&begin), "{target}: {answer}");
        let asks = answer.contains("WWW-Authenticate");
        assert_eq!(asks, status == "401 ", "{target}: {answer}");
    }
    assert_eq!(title_of(&stream).0, "");
    let (_second, _task) = source_without_type(&context);
    until("the second stream", || context.registry.list().len() == 2).await;
    let target = "GET /admin/metadata?mode=updinfo&song=x HTTP/1.1";
    let answer = ask(&context, &keyed(target, KEY));
    begins(&answer, "HTTP/1.1 400 ");
    has(&answer, "`mount`");
    let answer = ask(&context, &format!("{target}\r\n\r\n"));
    begins(&answer, "HTTP/1.1 401 ");
}

#[tokio::test(start_paused = true)]
async fn programs_of_shoutcast_mean_the_stream_that_their_source_means() {
    let mut context = test_context(Takeover::SameCredential, 0);
    let streams = &mut Arc::get_mut(&mut context)
        .expect("alone")
        .settings
        .shoutcast;
    streams.numbered = vec![(7, StreamName::parse("b").expect("a name"))];
    let mut sources = Vec::new();
    for name in ["stream", "b", "z"] {
        let head = keyed(&format!("SOURCE /{name} HTTP/1.0"), KEY);
        sources.push(source(&context, head));
        stream(&context, name).await;
    }
    let basic = basic(KEY);
    for (number, (query, auth, name)) in [
        ("pass=KEY", "", "stream"),
        // Any number that is no stream's: programs send 1 without being configured to.
        ("sid=1&pass=KEY", "", "stream"),
        ("sid=7&pass=KEY", "", "b"),
        ("pass=KEY:%237", "", "b"),
        ("pass=/z:KEY", "", "z"),
        ("pass=ann:KEY", "", "stream"),
        ("mount=/z&sid=7&pass=KEY", "", "z"),
        ("sid=1", &basic[..], "stream"),
    ]
    .into_iter()
    .enumerate()
    {
        let query = query.replace("KEY", KEY);
        let request =
            format!("GET /admin.cgi?mode=updinfo&song={number}&{query} HTTP/1.0\r\n{auth}\r\n");
        let answer = ask(&context, &request);
        let is_so = answer.starts_with("HTTP/1.0 200 OK\r\n");
        assert!(is_so, "{query}: {answer}");
        let stream = stream(&context, name).await;
        assert_eq!(title_of(&stream).0, number.to_string(), "{query}");
    }
    for query in ["pass=/z:guess", "pass=guess:%237", "pass=", "song=x"] {
        let request = format!("GET /admin.cgi?mode=updinfo&song=x&{query} HTTP/1.0\r\n\r\n");
        let answer = ask(&context, &request);
        assert!(answer.starts_with("HTTP/1.0 401 "), "{query}: {answer}");
    }
    // Its connection ends, and the stream lingers: it is no longer the one that is meant.
    for (former, task) in sources.drain(..2) {
        drop(former);
        task.await.expect("no panic").ok();
    }
    let request = format!("GET /admin.cgi?mode=updinfo&song=only&pass={KEY} HTTP/1.0\r\n\r\n");
    assert!(ask(&context, &request).starts_with("HTTP/1.0 200 OK\r\n"));
    let stream = stream(&context, "z").await;
    assert_eq!(title_of(&stream).0, "only");
}
