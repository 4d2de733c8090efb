//! Starting and ending.

use super::anonymous::rtmp_asking;
use super::*;
use crate::start_error::StartError;

#[tokio::test]
async fn the_notice_names_the_ports_and_the_generated_key() {
    let server = TestServer::open("").await;
    for (port, address) in [
        ("rtmp", server.rtmp),
        ("http", server.http),
        ("admin", server.admin),
    ] {
        let line = format!("listening {port} {address}");
        let notice = &server.notice;
        assert!(notice.lines().any(|one| one == line), "{notice}");
    }
    assert!(server.notice.lines().any(|line| line == "ready"));
    assert!(!server.notice.contains("key=KEY"), "{}", server.notice);
    let asked = server.notice.contains("admin_password");
    assert!(!asked, "nothing asks for it on loopback");
    server.close().await;
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = TestServer::open("").await;
    let source = format!("[http]\nlisten = [\"{}\"]\n", server.http);
    let source = format!("{source}[rtmp]\nlisten = []\n[admin]\nlisten = \"127.0.0.1:0\"\n");
    let config = Config::parse("test", &source, std::iter::empty()).expect("valid");
    let relay = Relay::load(config).expect("loaded");
    let error = relay.start().await.expect_err("taken");
    assert!(matches!(&error, StartError::Bind { port, .. } if *port == Port::Http));
    let address = server.http.to_string();
    assert!(error.to_string().contains(&address), "{error}");
    server.close().await;
}

#[tokio::test]
async fn clients_that_know_how_are_asked_to_connect_again() {
    let server = TestServer::open_before("drain_timeout = \"1h\"\n", AUTH).await;
    let _source = server.publish("radio.mp3").await;
    let _listener = listening(&server, "radio.mp3").await;
    let name = format!("show?key={KEY}");
    let mut publisher = rtmp_asking(server.rtmp, "publish", &name).await;
    read_until(&mut publisher, "NetStream.Publish.Start").await;
    let mut player = rtmp_asking(server.rtmp, "play", "show").await;
    read_until(&mut player, "NetStream.Play.Start").await;

    let admin = server.admin;
    let (hurry, ended) = server.leave();
    let asked = "NetConnection.Connect.ReconnectRequest";
    read_until(&mut publisher, asked).await;
    read_until(&mut player, asked).await;
    assert_eq!(status(&ask(admin, "GET", "/livez", "").await), 200);
    drop(hurry);
    soon(ended).await.expect("no panic");
}
