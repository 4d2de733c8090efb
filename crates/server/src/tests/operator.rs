//! The operator's port.

use super::*;

async fn document(server: &TestServer, path: &str) -> serde_json::Value {
    json(&answered(server.admin, "GET", path, "", 200).await)
}

#[tokio::test]
async fn listeners_are_listed_and_can_be_removed() {
    let (server, _source) = TestServer::on_air(AUTH).await;
    let head = b"GET /radio.mp3 HTTP/1.1\r\nHost: x\r\nUser-Agent: ear/1\r\n\r\n";
    let mut listener = saying(server.http, head).await;
    hear(&mut listener, 1).await;

    let all = document(&server, "/api/v1/listeners?stream=radio.mp3").await;
    let one = &all["listeners"][0];
    assert_eq!(one["stream"], "radio.mp3", "{all}");
    assert_eq!(one["agent"], "ear/1", "{all}");
    assert!(one["bytes"].as_u64() > Some(0), "{all}");
    let none = document(&server, "/api/v1/listeners?stream=other").await;
    assert_eq!(none["listeners"], serde_json::json!([]));
    let streams = document(&server, "/api/v1/streams").await;
    let codec = &streams["streams"][0]["tracks"][0]["codec"];
    assert_eq!(codec, "mp3", "{streams}");

    let removed = format!("listeners/{}", one["id"]);
    for (path, expected) in [
        (&removed[..], 204),
        ("listeners/999999", 404),
        ("streams/radio.mp3", 204),
        ("streams/none/at-all", 404),
    ] {
        let answer = ask(server.admin, "DELETE", &format!("/api/v1/{path}"), "").await;
        assert_eq!(status(&answer), expected, "{path}: {answer}");
        if path == removed {
            read_end(&mut listener).await;
        }
    }
    server.close().await;
}

#[tokio::test]
async fn a_stream_is_ended_and_stays_ended() {
    let server = TestServer::open(AUTH).await;
    let end = async |query: &str| {
        let path = format!("/api/v1/streams/radio.mp3{query}");
        ask(server.admin, "DELETE", &path, "").await
    };
    let source = server.publish("radio.mp3").await;
    assert_eq!(status(&end("?for=ever").await), 400);
    assert_eq!(server.registry.list().len(), 1, "nothing was ended");
    assert_eq!(status(&end("?for=10m").await), 204);
    drop(source);
    let all = document(&server, "/api/v1/streams").await;
    // It is removed within the next second.
    assert_ne!(all["streams"][0]["state"], "live", "{all}");
    assert_eq!(all["blocked"][0]["name"], "radio.mp3", "{all}");
    let seconds = all["blocked"][0]["seconds"].as_u64().expect("a number");
    assert!((1..=600).contains(&seconds), "{all}");
    let headers = authorization("source", KEY) + "Content-Type: audio/mpeg\r\n";
    let refused = answered(server.http, "SOURCE", "/radio.mp3", &headers, 403).await;
    assert!(refused.contains("operator has ended"), "{refused}");
    assert_counted(&server, &["carillon_rejected_total{reason=\"blocked\"} 1"]).await;
    assert_eq!(status(&end("?for=0s").await), 204);
    assert_eq!(status(&end("?for=0s").await), 404, "it is lifted");
    let all = document(&server, "/api/v1/streams").await;
    assert_eq!(all["blocked"], serde_json::json!([]), "{all}");
    let _again = server.publish("radio.mp3").await;
    server.close().await;
}

#[tokio::test]
async fn an_open_port_is_closed_to_rebound_names() {
    let server = TestServer::open(AUTH).await;
    let request = b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&exchange(server.admin, request).await), 403);
    server.close().await;
}

#[tokio::test]
async fn health_is_asked_and_answered() {
    let server = TestServer::open(AUTH).await;
    let admin = server.admin;
    let healthy = tokio::task::spawn_blocking(move || ::operator::ask_readiness(admin)).await;
    assert!(healthy.expect("no panic").is_ok());
    server.close().await;
    let gone = tokio::task::spawn_blocking(move || ::operator::ask_readiness(admin)).await;
    assert!(gone.expect("no panic").is_err());
}

/// Type and name of each metric on the page.
async fn scraped() -> Vec<(String, String)> {
    // With a certificate, and a link of each direction to an address without a server.
    let folder = tempfile::tempdir().expect("a folder");
    let (_, certificate) = certificate(folder.path());
    let server = TestServer::open_with_demo(&format!(
        "[http]\nlisten = [\"127.0.0.1:0\"]\ntls_listen = [\"127.0.0.1:0\"]\n{certificate}\
         [[push]]\nmatch = \"demo\"\nurl = \"rtmp://127.0.0.1:1/a/{{name}}\"\n\
         [[pull]]\nstream = \"far\"\nurl = \"rtmp://127.0.0.1:1/a/far\"\n",
    ))
    .await;
    let pushed = "carillon_push_up{stream=\"demo\"} 0";
    let page = found(pushed, async || {
        let page = answered(server.admin, "GET", "/metrics", "", 200).await;
        page.contains(pushed).then_some(page)
    })
    .await;
    assert!(page.trim_end().ends_with("# EOF"));
    let samples = "carillon_message_samples_bucket{le=\"+Inf\"} ";
    assert_has(&page, &["carillon_pull_up{stream=\"far\"} 0", samples]);
    let lines = body(&page).lines();
    let types = lines.filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let own = |(name, kind): (&str, &str)| (name.to_owned(), kind.to_owned());
    let found: Vec<_> = types.map(own).collect();
    for (name, _) in &found {
        assert_has(&page, &[&format!("# HELP {name} ")]);
        let samples = |line: &str| line.starts_with(name.as_str());
        assert!(body(&page).lines().any(samples), "{name} has no sample");
    }
    server.close().await;
    found
}

#[tokio::test]
async fn metrics_are_those_of_the_table_and_the_documentation() {
    let documented = include_str!("../../../../docs/metrics.md").lines();
    let documented: Vec<_> = documented.filter(|line| line.starts_with("| `")).collect();
    let metrics = ::operator::METRICS.iter();
    let expected: Vec<_> = metrics.map(|metric| metric.documentation()).collect();
    let text = expected.join("\n");
    assert_eq!(documented, expected, "docs/metrics.md is to have:\n{text}");

    let mut found = scraped().await;
    let mut table: Vec<_> = ::operator::METRICS
        .iter()
        .map(|metric| (metric.name.to_owned(), metric.kind.as_str().to_owned()))
        .collect();
    found.sort();
    table.sort();
    assert_eq!(found, table);
}

#[tokio::test]
async fn idle_connections_do_not_delay_the_answers() {
    let server = TestServer::open(AUTH).await;
    let mut idle = Vec::new();
    for _ in 0..300 {
        idle.push(connect(server.admin).await);
    }
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(status(&ask(server.admin, "GET", path, "").await), 200);
    }
    // None of them has reached its time limit: they gave way, the oldest first.
    read_end(&mut idle[0]).await;
    assert!(idle.iter().rev().take(60).all(is_open));
    server.close().await;
}

#[tokio::test]
async fn a_thread_that_has_ended_makes_it_unready() {
    let server = TestServer::open(AUTH).await;
    let readiness = async || ask(server.admin, "GET", "/readyz", "").await;
    assert_eq!(status(&readiness().await), 200);
    let intake = server.ingest.intake.as_ref().expect("threads");
    intake.stop();
    let noticed = async {
        loop {
            let answer = readiness().await;
            if status(&answer) == 503 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let answer = tokio::time::timeout(3 * SOON, noticed).await;
    let answer = answer.expect("noticed");
    assert_eq!(body(&answer), "stopped: reading publishers\n");
    assert_eq!(status(&ask(server.admin, "GET", "/livez", "").await), 200);
    server.close().await;
}
