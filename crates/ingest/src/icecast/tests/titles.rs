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
    let (_source, _task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    let stream = stream(&context, "a").await;
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
        let request = format!(
            "GET /admin/metadata?mode=updinfo&{target} HTTP/1.0\r\n{}\r\n",
            basic(KEY)
        );
        let answer = ask(&context, &request);
        assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert_eq!(
            body,
            "<?xml version=\"1.0\"?>\n<iceresponse><message>Metadata update successful</message>\
             <return>1</return></iceresponse>\n"
        );
        assert!(
            answer.contains(&format!("\r\nContent-Length: {}\r\n", body.len())),
            "{answer}"
        );
        assert_eq!(
            title_of(&stream),
            (title.to_owned(), url.to_owned()),
            "{target}"
        );
    }
    let long = format!("mode=updinfo&mount=/a&song={}", "ö".repeat(6000));
    ask(
        &context,
        &format!("POST /admin/metadata HTTP/1.1\r\n{}\r\n{long}", basic(KEY)),
    );
    assert_eq!(title_of(&stream).0.len(), 4080);
    let request = format!(
        "GET /admin/metadata.xsl?mode=updinfo&mount=/a&song=Page HTTP/1.0\r\n{}\r\n",
        basic(KEY)
    );
    let page = ask(&context, &request);
    assert!(
        page.contains("\r\nContent-Type: text/html; charset=utf-8\r\n"),
        "{page}"
    );
    assert!(page.contains("<p>Return Code: 1</p>"), "{page}");
    assert_eq!(title_of(&stream).0, "Page");
    let request =
        format!("GET /admin.cgi?mode=updinfo&pass={KEY}&sid=1&song=Cast HTTP/1.0\r\n\r\n");
    assert!(ask(&context, &request).starts_with("HTTP/1.0 200 OK\r\n"));
    assert_eq!(title_of(&stream).0, "Cast");
}

/// What `/admin/metadata` answers and leaves as the title of `/a`.
fn update(
    context: &Context,
    stream: &fanout::Stream,
    target: &str,
    agent: &str,
) -> (String, String) {
    let request = format!(
        "GET /admin/metadata?mode=updinfo&mount=/a&{target} HTTP/1.0\r\n{}User-Agent: {agent}\r\n\r\n",
        basic(KEY)
    );
    let answer = ask(context, &request);
    let (_, message) = answer.split_once("<message>").expect("a message");
    let (message, _) = message.split_once("</message>").expect("its end");
    (message.to_owned(), title_of(stream).0)
}

#[tokio::test(start_paused = true)]
async fn an_empty_song_clears_the_title_unless_it_is_butts() {
    let context = test_context(Takeover::SameCredential, 0);
    let (_source, _task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    let stream = stream(&context, "a").await;
    let update = |target, agent| update(&context, &stream, target, agent);
    assert_eq!(update("song=One", "x").1, "One");
    assert_eq!(update("song=", "butt 0.1.37").1, "One");
    assert_eq!(update("song=", "x").1, "");
    assert_eq!(stream.info().title, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_carries_its_own_titles_says_that_it_takes_no_others() {
    let context = test_context(Takeover::SameCredential, 0);
    let head = format!(
        "PUT /a HTTP/1.1\r\nContent-Type: video/nsv\r\n{}\r\n",
        basic(KEY)
    );
    let (mut source, _task) = source(&context, head);
    let stream = stream(&context, "a").await;
    source.write_all(b"tick").await.expect("it is read");
    wait_for("its type", || {
        (stream.info().source.container == Container::Other).then_some(())
    })
    .await;
    let (message, title) = update(&context, &stream, "song=One", "x");
    assert_eq!(message, "Mountpoint will not accept URL updates");
    assert_eq!(title, "");
}

#[tokio::test(start_paused = true)]
async fn titles_from_strangers_and_for_nothing_are_refused() {
    let context = test_context(Takeover::SameCredential, 0);
    let (_source, _task) = source(
        &context,
        format!("SOURCE /a HTTP/1.0\r\n{}\r\n", basic(KEY)),
    );
    let stream = stream(&context, "a").await;
    let (right, wrong) = (basic(KEY), basic("guess"));
    let of_page = format!("{right}Host: radio.example\r\nReferer: http://evil.example/\r\n");
    for (target, auth, status) in [
        (
            "/admin/metadata?mode=updinfo&mount=/a&song=x",
            &of_page[..],
            "403 ",
        ),
        ("/admin/metadata?mode=updinfo&mount=/a&song=x", "", "401 "),
        (
            "/admin/metadata?mode=updinfo&mount=/a&song=x",
            &wrong[..],
            "401 ",
        ),
        // Only Shoutcast takes the password in the query: queries end up in many logs.
        (
            "/admin/metadata?mode=updinfo&mount=/a&song=x&pass=opensesame",
            "",
            "401 ",
        ),
        ("/admin.cgi?mode=updinfo&song=x&pass=guess", "", "401 "),
        ("/admin/metadata?mode=updinfo&mount=/b&song=x", "", "401 "),
        (
            "/admin/metadata?mode=updinfo&mount=/b&song=x",
            &right,
            "400 ",
        ),
        (
            "/admin/metadata?mode=updinfo&mount=/../b&song=x",
            &right,
            "400 ",
        ),
        ("/admin/metadata?mode=delete&mount=/a", &right, "400 "),
        ("/admin/metadata?mount=/a&song=x", &right, "400 "),
    ] {
        let answer = ask(&context, &format!("GET {target} HTTP/1.1\r\n{auth}\r\n"));
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{target}: {answer}"
        );
        assert_eq!(
            answer.contains("WWW-Authenticate"),
            status == "401 ",
            "{answer}"
        );
    }
    assert_eq!(title_of(&stream).0, "");
    let (_second, _task) = source_without_type(&context);
    wait_for("the second stream", || {
        (context.registry.list().len() == 2).then_some(())
    })
    .await;
    let request = format!("GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\r\n{right}\r\n");
    let answer = ask(&context, &request);
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.contains("`mount`"),
        "{answer}"
    );
    let answer = ask(
        &context,
        "GET /admin/metadata?mode=updinfo&song=x HTTP/1.1\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
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
        let head = format!("SOURCE /{name} HTTP/1.0\r\n{}\r\n", basic(KEY));
        sources.push(source(&context, head));
        stream(&context, name).await;
    }
    let basic = basic(KEY);
    for (number, (query, auth, name)) in [
        ("pass=KEY", "", "stream"),
        // Any number that is no stream's: programs send 1 without being told.
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
        assert!(
            answer.starts_with("HTTP/1.0 200 OK\r\n"),
            "{query}: {answer}"
        );
        let stream = stream(&context, name).await;
        assert_eq!(title_of(&stream).0, number.to_string(), "{query}");
    }
    for query in ["pass=/z:guess", "pass=guess:%237", "pass=", "song=x"] {
        let request = format!("GET /admin.cgi?mode=updinfo&song=x&{query} HTTP/1.0\r\n\r\n");
        assert!(
            ask(&context, &request).starts_with("HTTP/1.0 401 "),
            "{query}"
        );
    }
    // Its connection ends, and the stream lingers: it is no longer the one that is meant.
    let (former, task) = sources.remove(0);
    drop(former);
    task.await.expect("no panic").ok();
    let (former, task) = sources.remove(0);
    drop(former);
    task.await.expect("no panic").ok();
    let request = format!("GET /admin.cgi?mode=updinfo&song=only&pass={KEY} HTTP/1.0\r\n\r\n");
    assert!(ask(&context, &request).starts_with("HTTP/1.0 200 OK\r\n"));
    let stream = stream(&context, "z").await;
    assert_eq!(title_of(&stream).0, "only");
}
