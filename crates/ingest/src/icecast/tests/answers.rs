//! Replies to each kind of source.

use super::*;

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn each_kind_of_source_gets_the_answer_it_waits_for() {
    let expects = "\r\nExpect: 100-continue";
    let (old, new) = ("HTTP/1.0 200 OK\r\n", "HTTP/1.1 200 OK\r\n");
    let context = test_context(Takeover::SameCredential, 0);
    let whole = "HTTP/1.0 200 OK\r\n\r\n";
    for (request, before, expected) in [
        ("SOURCE /a HTTP/1.0", "", whole),
        ("SOURCE /a ICE/1.0", "", whole),
        (&format!("SOURCE /a HTTP/1.1{expects}"), "", whole),
        ("PUT /a HTTP/1.1", "", new),
        (&format!("PUT /a HTTP/1.1{expects}"), CONTINUE, new),
        (&format!("PUT /a HTTP/1.0{expects}"), CONTINUE, old),
    ] {
        let expected = format!("{before}{expected}");
        let (mut source, task) = source(&context, keyed(request, KEY));
        // At once, before any of the body: butt waits for a second.
        let began = Instant::now();
        let answer = next_answer(&mut source, expected.len()).await;
        assert_eq!(answer, expected, "{request}");
        assert_eq!(began.elapsed(), Duration::ZERO);
        drop(source);
        left(task).await;
    }
    let (mut source, _task) = source(&context, format!("SOURCE {KEY} /a\r\n\r\n"));
    assert_eq!(next_answer(&mut source, 6).await, "OK\r\n\r\n");
}

#[tokio::test(start_paused = true)]
async fn what_the_source_says_of_itself_is_kept() {
    let context = test_context(Takeover::SameCredential, 0);
    let request = format!(
        "PUT /a%2Emp3 HTTP/1.1\r\n{}User-Agent: butt\r\nContent-Type: audio/aacp\r\n\
         Ice-Name: Böse\r\nicy-br: 64\r\nIcy-MetaData: 1\r\nx-audiocast-genre: Jazz\r\nX-Other: 1\r\n\r\n",
        basic(KEY)
    );
    let (mut first, _task) = source(&context, request);
    let info = stream(&context, "a.mp3").await.info();
    let headers = [
        ("ice-name", "Böse"),
        ("icy-br", "64"),
        ("ice-genre", "Jazz"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(info.source.headers, headers);
    assert_eq!(info.source.agent, "butt");
    assert_eq!(info.source.content_type, "audio/aacp");
    assert_eq!(info.source.protocol, "icecast");
    assert_eq!(info.source.container, Container::Unknown);
    first.write_all(&adts(5)).await.expect("it is read");
    let adts = || stream_now(&context, "a.mp3").source.container == Container::Adts;
    until("its bytes to be known", adts).await;
    assert_eq!(stream_now(&context, "a.mp3").announced_type, None);
    assert_eq!(info.source.peer, Some(PEER));
    assert_eq!(context.stats.publishers.value(Protocol::Icecast), 1);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_says_much_of_itself_is_kept_in_few_words() {
    let log = Log::default();
    let _guard = log.capture();
    let context = test_context(Takeover::SameCredential, 0);
    // Characters of two bytes, of which each limit would split one.
    let long = format!("x{}", "ö".repeat(700));
    let name = "n".repeat(100);
    let many: String = (0..60).map(|n| format!("ice-{n}: {long}\r\n")).collect();
    let said = format!("User-Agent: {long}\r\nContent-Type: {long}\r\nice-{name}: a\r\n{many}");
    let limits = HeadLimits {
        bytes_max: 1 << 20,
        ..HeadLimits::default()
    };
    for key in [KEY, "guess"] {
        let request = format!("PUT /a HTTP/1.1\r\n{}{said}\r\n", basic(key));
        let (head, _) = HeadReader::new(limits)
            .push(request.as_bytes())
            .expect("a head")
            .expect("a whole head");
        let (ours, theirs) = duplex(64 * 1024);
        drop(ours);
        let name = crate::name(&head.path(), |_| false);
        let served = serve(&context, theirs, name, head, Bytes::new(), PEER, || {}).await;
        served.expect_err("the source is gone");
    }
    let source = stream(&context, "a").await.info().source;
    assert_eq!((source.agent.len(), source.content_type.len()), (255, 255));
    assert!(long.starts_with(&source.agent));
    assert_eq!(source.headers.len(), 32);
    for (index, (name, value)) in source.headers.iter().enumerate() {
        assert_eq!(*name, format!("ice-{index}"));
        assert_eq!(value.len(), 511);
    }
    let lines = log.lines();
    for event in ["publishing begins", "source refused"] {
        let mut of_event = lines.iter().filter(|line| line.contains(event));
        let is_short = of_event.next().is_some_and(|line| line.len() < 1000);
        assert!(is_short, "{event}: {lines:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn strangers_are_asked_for_their_key() {
    let context = test_context(Takeover::SameCredential, 0);
    use Rejection::{CredentialMissing, CredentialWrong};
    let poke_of_libshout = "SOURCE /a HTTP/1.0\r\nContent-Length: 0\r\n\r\n";
    let put = "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\n\r\n";
    for (request, reason) in [
        (poke_of_libshout, CredentialMissing),
        (put, CredentialMissing),
        (&keyed("PUT /a HTTP/1.1", "guess"), CredentialWrong),
    ] {
        let before = context.stats.rejected.value(reason);
        let (answer, error) = refused(&context, request.to_owned()).await;
        has(&answer, " 401 Unauthorized\r\n");
        has(&answer, "\r\nWWW-Authenticate: Basic realm=");
        has(&answer, "\r\nContent-Length: 26\r\n");
        ends(&answer, "\r\n\r\nYou need to authenticate\r\n");
        assert_eq!(error.rejection(), Some(reason));
        assert_eq!(context.stats.rejected.value(reason), before + 1);
    }
    for (key, status) in [(FLOODER, "429 "), (LOST_KEY, "503 ")] {
        let (answer, _) = refused(&context, keyed("PUT /a HTTP/1.1", key)).await;
        begins(&answer, &format!("HTTP/1.1 {status}"));
        has(&answer, "\r\nRetry-After: 5\r\n");
    }
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_read_by_a_source_that_sends_without_waiting() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut source, task) = source(&context, "SOURCE /a HTTP/1.0\r\n\r\n");
    source.write_all(&mp3(400)).await.expect("it is drained");
    let answer = answer_of(source).await;
    begins(&answer, "HTTP/1.0 401 ");
    ended(task).await;
}

#[tokio::test(start_paused = true)]
async fn a_probe_with_the_key_publishes_nothing() {
    let context = test_context(Takeover::SameCredential, 0);
    let request = keyed("PUT /a HTTP/1.1\r\nContent-Length: 0", KEY);
    let (source, task) = source(&context, request);
    let answer = answer_of(source).await;
    begins(&answer, "HTTP/1.1 200 OK\r\n");
    has(&answer, "\r\nContent-Length: 0\r\n");
    left(task).await;
    assert!(context.registry.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn bad_names_are_refused_in_words() {
    let context = test_context(Takeover::SameCredential, 0);
    for (path, status) in [
        ("/", "400 Bad Request"),
        ("//", "400 Bad Request"),
        ("/a/../b", "400 Bad Request"),
        ("/a%00b", "400 Bad Request"),
        ("/a%2f%2e%2e", "400 Bad Request"),
        ("/admin/metadata", "403 Forbidden"),
        ("/status-json.xsl", "403 Forbidden"),
    ] {
        let request = keyed(&format!("PUT {path} HTTP/1.1"), KEY);
        let (answer, error) = refused(&context, request).await;
        let begin = format!("HTTP/1.1 {status}\r\n");
        assert!(answer.starts_with(&begin), "{path}: {answer}");
        has(answer.lines().last().unwrap_or_default(), "name");
        assert_eq!(error.rejection(), Some(Rejection::Name), "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_taken_mount_and_a_full_house_are_distinguished() {
    let context = test_context(Takeover::Never, 1);
    let (mut first, _task) = source(&context, keyed("PUT /a HTTP/1.1", KEY));
    stream(&context, "a").await;
    let (answer, error) = refused(&context, keyed("PUT /a HTTP/1.1", OTHER_KEY)).await;
    begins(&answer, "HTTP/1.1 403 Forbidden\r\n");
    ends(&answer, "\r\n\r\nMountpoint in use\r\n");
    assert!(matches!(error, Error::Refused(PublishRefused::Busy)));
    let (answer, error) = refused(&context, keyed("PUT /b HTTP/1.1", KEY)).await;
    begins(&answer, "HTTP/1.1 503 ");
    has(&answer, "\r\nRetry-After: 5\r\n");
    ends(&answer, "\r\n\r\ntoo many sources connected\r\n");
    assert_eq!(error.rejection(), Some(Rejection::Limit));
    let ended = StreamName::parse("c").expect("a name");
    let minute = Some(Duration::from_secs(60));
    let ended = context.registry.end(&ended, minute, now());
    assert_eq!(ended, Ok(true));
    let (answer, error) = refused(&context, keyed("PUT /c HTTP/1.1", KEY)).await;
    begins(&answer, "HTTP/1.1 403 Forbidden\r\n");
    has(&answer, "the operator has ended this stream");
    assert_eq!(error.rejection(), Some(Rejection::Blocked));
    // The first is untouched.
    send(&mut first, &mp3(1)).await;
}

#[tokio::test(start_paused = true)]
async fn passwords_are_never_logged() {
    let log = Log::default();
    let _guard = log.capture();
    let context = test_context(Takeover::SameCredential, 0);
    for key in [KEY, "guess"] {
        let request = keyed("PUT /a HTTP/1.1", key);
        let (mut source, task) = source(&context, request);
        let target = format!("/admin.cgi?mode=updinfo&mount=/a&song=x&pass={key}");
        ask(&context, &format!("GET {target} HTTP/1.0\r\n\r\n"));
        source.shutdown().await.expect("a duplex does not fail");
        answer_of(source).await;
        assert_eq!(task.await.expect("no panic").is_ok(), key == KEY);
    }
    let said = log.lines().join("\n");
    for event in [
        "publishing begins",
        "publishing ended",
        "source refused",
        "title refused",
    ] {
        has(&said, event);
    }
    assert!(!said.contains(KEY) && !said.contains("guess"), "{said}");
}

#[test]
fn options_name_what_libshout_looks_for() {
    let (head, _) = parse(b"OPTIONS * HTTP/1.1\r\nUpgrade: TLS/1.0\r\n\r\n");
    let reported = |prospects| {
        let answer = answer_options(&Settings::default(), &head, prospects);
        String::from_utf8(answer).expect("answers are text")
    };
    let upgrade = "Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1";
    for (persists, upgrades, connection) in [
        (false, false, "Close"),
        (true, false, "Keep-Alive"),
        (false, true, &format!("Close, {upgrade}")),
        (true, true, &format!("Keep-Alive, {upgrade}")),
    ] {
        let answer = reported(Prospects { persists, upgrades });
        let expected = format!("\r\nConnection: {connection}\r\nAllow:");
        has(&answer, &expected);
    }
    let answer = reported(Prospects::default());
    begins(&answer, "HTTP/1.1 200 OK\r\nServer: Icecast 2.4.4");
    has(&answer, "\r\nAllow: GET, HEAD, PUT, SOURCE, OPTIONS\r\n");
    ends(&answer, "\r\nContent-Length: 0\r\n\r\n");
}
