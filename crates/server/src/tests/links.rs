//! Streams that are pushed to another relay, and pulled from one.

use media::StreamName;
use serde_json::Value;

use super::*;

/// The links of one direction, from the API.
async fn links(server: &TestServer, direction: &str) -> (String, Vec<Value>) {
    let path = format!("/api/v1/{direction}");
    let answer = answered(server.admin, "GET", &path, "", 200).await;
    let all = json(&answer)[direction].as_array().expect("a list").clone();
    (answer, all)
}

/// Waits until the API reports so.
async fn until(server: &TestServer, direction: &str, holds: impl Fn(&[Value]) -> bool) -> String {
    found(direction, async || {
        let (answer, all) = links(server, direction).await;
        holds(&all).then_some(answer)
    })
    .await
}

async fn appears(server: &TestServer, name: &str) -> Arc<fanout::Stream> {
    let name = StreamName::parse(name).expect("a name");
    soon(server.registry.appearance(&name)).await
}

fn is_running(link: &Value) -> bool {
    link["state"] == "running" && link["bytes"].as_u64().is_some_and(|bytes| bytes > 0)
}

fn pushing_to(url: &str) -> String {
    format!("{AUTH}[ingest]\nlinger = \"0ms\"\n[[push]]\nmatch = \"live/*\"\nurl = \"{url}\"\n")
}

#[tokio::test]
async fn a_live_stream_is_pushed_and_the_operator_is_reported() {
    let far = TestServer::open(AUTH).await;
    let url = format!("rtmp://{}/relay/{{name}}?key={KEY}", far.rtmp);
    let near = TestServer::open(&pushing_to(&url)).await;
    assert!(links(&near, "push").await.1.is_empty());
    let (source, _other) = (near.publish("live/show").await, near.publish("radio").await);
    appears(&far, "relay/show").await;
    let reported = until(&near, "push", |all| matches!(all, [one] if is_running(one))).await;
    assert_has(&reported, &["live/show", "?***"]);
    assert!(!reported.contains(KEY), "{reported}");
    let attempts = "carillon_push_attempts_total 1";
    let lines = [
        "carillon_pushes{state=\"running\"} 1",
        "carillon_push_up{stream=\"live/show\"} 1",
        "carillon_listeners{protocol=\"rtmp\"} 1",
        attempts,
    ];
    assert_counted(&near, &lines).await;
    drop(source);
    until(&near, "push", <[Value]>::is_empty).await;
    // What is gone was done.
    assert_counted(&near, &[attempts]).await;
    near.close().await;
    far.close().await;
}

#[tokio::test]
async fn a_push_does_not_hold_up_the_end() {
    let far = TestServer::open(AUTH).await;
    let url = format!("rtmp://{}/relay/{{name}}?key={KEY}", far.rtmp);
    let patient = "drain_timeout = \"1h\"\n";
    let near = TestServer::open_before(patient, &pushing_to(&url)).await;
    let _source = near.publish("live/show").await;
    until(&near, "push", |all| all.iter().any(is_running)).await;
    let (hurry, ended) = near.leave();
    soon(ended).await.expect("no panic");
    drop(hurry);
    far.close().await;
}

#[tokio::test]
async fn a_push_proves_its_password_to_a_server_that_asks_for_it() {
    let far = TestServer::open(&format!(
        "[rtmp]\nlisten = [\"127.0.0.1:0\"]\nchallenge = true\n{AUTH}"
    ))
    .await;
    let url = format!("rtmp://anybody:{KEY}@{}/relay/{{name}}", far.rtmp);
    let near = TestServer::open(&pushing_to(&url)).await;
    let _source = near.publish("live/show").await;
    appears(&far, "relay/show").await;
    let reported = until(&near, "push", |all| all.iter().any(is_running)).await;
    assert_has(&reported, &["***@"]);
    assert!(!reported.contains(KEY), "{reported}");
    near.close().await;
    far.close().await;
}

#[tokio::test]
async fn a_refused_push_disturbs_no_listener() {
    let far = TestServer::open(AUTH).await;
    let url = format!("rtmp://{}/relay/{{name}}?key=not-the-k3y", far.rtmp);
    let near = TestServer::open(&pushing_to(&url)).await;
    let mut source = near.publish("live/show").await;
    let failed = |link: &Value| link["state"] == "waiting" && link["last_error"].is_string();
    let reported = until(&near, "push", |all| all.iter().any(failed)).await;
    assert!(!reported.contains("not-the-k3y"), "{reported}");
    let mut listener = listening(&near, "live/show").await;
    let frames = mp3_frame().repeat(100);
    source.write_all(&frames).await.expect("still there");
    hear(&mut listener, frames.len()).await;
    assert!(far.registry.list().is_empty());
    near.close().await;
    far.close().await;
}

#[tokio::test]
async fn a_name_without_the_parts_of_an_address_is_reported() {
    let near = TestServer::open(&format!(
        "{AUTH}[[push]]\nmatch = \"**\"\nurl = \"rtmp://127.0.0.1:1/{{app}}/{{name}}\"\n"
    ))
    .await;
    let _source = near.publish("radio").await;
    let reported = until(&near, "push", |all| {
        all.iter().any(|link| link["last_error"].is_string())
    });
    assert!(reported.await.contains("rtmp://host/app/name"));
    near.close().await;
}

fn pulling_from(stream: &str, url: &str, on_demand: bool) -> String {
    format!(
        "{AUTH}[ingest]\nlinger = \"0ms\"\n\
         [[pull]]\nstream = \"{stream}\"\nurl = \"{url}\"\non_demand = {on_demand}\n"
    )
}

#[tokio::test]
async fn a_stream_is_pulled_over_rtmp_and_over_http() {
    let far = TestServer::open_with_demo("").await;
    appears(&far, "demo").await;
    // The demo's name has one segment, which RTMP calls the application.
    let pushed = TestServer::open(&format!(
        "{AUTH}[[pull]]\nstream = \"live/demo\"\nurl = \"http://{}/demo.flv\"\n",
        far.http
    ))
    .await;
    appears(&pushed, "live/demo").await;
    let rtmp = pushed.rtmp;
    let url = format!("rtmp://anybody:x7Kq-92mPz@{rtmp}/live/demo?token=x7Kq-92mPz");
    let near = TestServer::open(&pulling_from("live/again", &url, false)).await;
    let stream = appears(&near, "live/again").await;
    assert_eq!(stream.info().source.protocol, "pull");
    let reported = until(&near, "pull", |all| all.iter().any(is_running)).await;
    let is_hidden = !reported.contains("x7Kq-92mPz");
    assert!(reported.contains("live/again") && is_hidden, "{reported}");
    let lines = [
        "carillon_pulls{state=\"running\"} 1",
        "carillon_pull_up{stream=\"live/again\"} 1",
        "carillon_publishers{protocol=\"pull\"} 1",
    ];
    assert_counted(&near, &lines).await;
    for server in [near, pushed, far] {
        server.close().await;
    }
}

#[tokio::test]
async fn the_streams_of_a_pattern_are_pulled_by_their_names() {
    let far = TestServer::open_with_demo("").await;
    appears(&far, "demo").await;
    let url = format!("http://{}/{{name}}.flv", far.http);
    let near = TestServer::open(&pulling_from("cam/*", &url, true)).await;
    let (none, all) = links(&near, "pull").await;
    assert!(all.is_empty(), "no listener has asked: {none}");
    // A name that may be a stream on the other server hides no page.
    near.get("/cam/demo/", 404).await;
    near.get("/cam/publish", 200).await;
    assert!(links(&near, "pull").await.1.is_empty(), "nor have pages");

    let answer = answered(near.http, "HEAD", "/cam/demo", "", 200).await;
    assert_eq!(header(&answer, "content-type"), Some("video/x-flv"));
    let mut listener = listening(&near, "cam/demo.flv").await;
    hear(&mut listener, 4_000).await;
    let is_it = |link: &Value| is_running(link) && link["stream"] == "cam/demo";
    until(&near, "pull", |all| matches!(all, [one] if is_it(one))).await;
    let lines = [
        "carillon_pulls{state=\"running\"} 1",
        "carillon_pull_up{stream=\"cam/demo\"} 1",
    ];
    assert_counted(&near, &lines).await;

    for path in ["/cam/none.flv", "/cam/none"] {
        let answer = near.get(path, 404).await;
        assert_eq!(body(&answer), "There is no stream cam/none.\n");
    }
    // A pull of an unknown stream is not kept, and a name that does not match is not requested.
    until(&near, "pull", |all| matches!(all, [one] if is_it(one))).await;
    near.get("/cam/a/b.flv", 404).await;
    assert_counted(&near, &["carillon_pull_failures_total "]).await;
    near.close().await;
    far.close().await;
}

#[tokio::test]
async fn an_exact_name_goes_before_a_pattern_and_a_stream_that_is_here_before_both() {
    let far = TestServer::open_with_demo("").await;
    appears(&far, "demo").await;
    let exact = format!(
        "[[pull]]\nstream = \"cam/demo\"\nurl = \"http://{}/demo.flv\"\non_demand = true\n",
        far.http
    );
    let pattern = pulling_from("cam/*", "http://127.0.0.1:1/{name}.flv", true);
    let near = TestServer::open(&(pattern + &exact)).await;
    answered(near.http, "HEAD", "/cam/demo.flv", "", 200).await;
    let _source = near.publish("cam/own.flv").await;
    let answer = ask(near.http, "HEAD", "/cam/own.flv", "").await;
    let kind = header(&answer, "content-type");
    assert_eq!(kind, Some("audio/mpeg"), "{answer}");
    let (reported, all) = links(&near, "pull").await;
    assert_eq!(all.len(), 1, "{reported}");
    near.close().await;
    far.close().await;
}
