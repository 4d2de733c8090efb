//! Radio servers that are relayed, each one script.

use container::icy::Block;
use media::{Charset, Container, Title};

use super::*;
use crate::testing::mp3;

/// Bytes between two titles.
const INTERVAL: usize = 1_000;

fn block(title: &str) -> Block {
    let title = Title {
        text: title.to_owned(),
        url: String::new(),
    };
    Block::new(&title, Charset::UTF_8)
}

/// Returns audio with a title after each interval of it: the given ones first, then none.
fn with_titles(audio: &[u8], titles: &[&str]) -> Vec<u8> {
    let mut titles = titles.iter();
    let mut wire = Vec::new();
    for piece in audio.chunks(INTERVAL) {
        wire.extend_from_slice(piece);
        if piece.len() == INTERVAL {
            let block = titles
                .next()
                .map_or_else(Block::empty, |title| block(title));
            wire.extend_from_slice(block.bytes());
        }
    }
    wire
}

async fn said(context: &Context, title: &str) {
    let stream = stream(context, "live/show").await;
    let is_said = || stream.info().title.is_some_and(|said| said.text == title);
    crate::testing::until(title, is_said).await;
}

#[tokio::test]
async fn a_shoutcast_server_s_audio_is_relayed_with_its_titles_and_what_it_says_of_itself() {
    let context = test_context(Takeover::SameCredential, 0);
    let (door, port) = door().await;
    let pulling = Pulling::from(&context, &format!("http://127.0.0.1:{port}/;stream"));
    let audio = mp3(40);
    let wire = with_titles(&audio, &["First", "Second"]);
    let head = b"ICY 200 OK\r\nicy-notice1:<BR>Requires Winamp<BR>\r\nicy-name:Radio \xdcber\r\nicy-genre:Jazz\r\n\
        icy-metaint:1000\r\nicy-br:128\r\ncontent-type:audio/mpeg\r\n\r\n";
    let first = 2 * INTERVAL;
    let (request, mut socket) = answer(&door, &[head, &wire[..first]].concat()).await;
    has(&request, "icy-metadata: 1\r\n");
    said(&context, "First").await;
    let mut listener = listen(&context, "live/show").await;
    // In pieces that end within titles and frames.
    for piece in wire[first..].chunks(777) {
        socket.write_all(piece).await.unwrap();
    }
    said(&context, "Second").await;
    let info = stream(&context, "live/show").await.info();
    assert_eq!(info.source.container, Container::Mp3);
    let expected = [
        ("icy-name", "Radio Über"),
        ("icy-genre", "Jazz"),
        ("icy-br", "128"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(info.source.headers, expected);
    let frames = hear(&mut listener, 10 * 417).await;
    let is_part = audio.windows(frames.len()).any(|part| part == frames);
    assert!(is_part, "no byte of a title is among them");
    drop(socket);
    assert_eq!(pulling.failed(1).await, Failure::HungUp.to_string());
    pulling.stop().await;
}

#[tokio::test]
async fn another_server_takes_the_place_of_one_that_fails_and_gives_it_back() {
    let context = test_context(Takeover::SameCredential, 0);
    let ((near, near_port), (far, far_port)) = (door().await, door().await);
    let urls = format!("http://127.0.0.1:{near_port}/a http://127.0.0.1:{far_port}/b");
    let pulling = Pulling::from(&context, &urls);
    let gone = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let head = b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n";
    drop(answer(&near, gone).await);
    // At once: there is no pause before one that has not been tried.
    let (request, socket) = answer(&far, &[head, &mp3(8)[..]].concat()).await;
    begins(&request, "GET /b ");
    pulling.running().await;
    drop(socket);
    let (request, _socket) = answer(&near, &[head, &mp3(8)[..]].concat()).await;
    begins(&request, "GET /a ");
    pulling.running().await;
    pulling.stop().await;
}

#[tokio::test]
async fn a_server_that_sends_no_media_is_given_up() {
    let mut context = test_context(Takeover::SameCredential, 0);
    Arc::get_mut(&mut context).unwrap().settings = Settings {
        source_timeout: Duration::from_millis(300),
        ..Settings::default()
    };
    let (door, port) = door().await;
    let pulling = Pulling::from(&context, &format!("http://127.0.0.1:{port}/a"));
    let head = b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n";
    let (_, _silent) = answer(&door, head).await;
    pulling.failed(1).await;
    assert!(context.registry.list().is_empty(), "no media, no stream");
    let (_, _falling_silent) = answer(&door, &[head, &mp3(8)[..]].concat()).await;
    has(&pulling.failed(2).await, "0.3 s");
    pulling.stop().await;
}
