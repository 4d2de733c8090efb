//! Memory and work that a client causes by what it writes into its requests.

use std::net::IpAddr;

use base::holdings::Kind;
use http1::OWN_QUERY_BYTES_MAX;

use super::*;
use crate::template::PIECE_BYTES;

const PLAYLIST: &str = "/live/show/hls/live.m3u8";

/// The answer to a request for the playlist with this query, from an address.
async fn ask_from(server: &TestServer, address: [u8; 4], query: &str) -> Answer {
    let (target, peer) = (format!("{PLAYLIST}?{query}"), (IpAddr::from(address), 1));
    server.ask_with(&target, peer.into(), []).await
}

#[tokio::test]
async fn a_query_that_would_be_repeated_in_each_address_is_bounded() {
    let (server, _publisher) = playing("live/show", 7_000);
    let longest = "a".repeat(OWN_QUERY_BYTES_MAX);
    let target = format!("{PLAYLIST}?{longest}&_HLS_skip=YES");
    let (listing, suffix) = (server.text(&target).await, format!("?{longest}"));
    let mut lines = segments(&listing).into_iter();
    assert!(lines.all(|line| line.ends_with(&suffix)));
    for query in [
        format!("{longest}a"),
        format!("a=b&{longest}"),
        format!("_HLS_x={}", "a".repeat(14_000)),
    ] {
        for path in [PLAYLIST, "/live/show/index.m3u8", "/live/none/index.m3u8"] {
            let refused = server.ask(&format!("{path}?{query}")).await;
            assert_eq!(refused.status, StatusCode::URI_TOO_LONG, "{path}");
        }
    }
    assert_eq!(server.viewers(), 1);
}

#[tokio::test]
async fn texts_of_viewers_own_take_the_share_of_their_address_until_they_are_sent() {
    let (server, _publisher) = playing("live/show", 7_000);
    let held = |kind| server.context.holdings.bytes(kind);
    let mut unread = Vec::new();
    let refused = loop {
        let query = format!("k={}", unread.len());
        let answer = ask_from(&server, [192, 0, 2, 1], &query).await;
        match answer.status {
            StatusCode::OK => unread.push(answer),
            refused => break refused,
        }
    };
    assert_eq!(refused, StatusCode::SERVICE_UNAVAILABLE);
    let share = HOLDINGS_BYTES_MAX / 4;
    let answers = (unread.len(), held(Kind::Answers));
    assert_eq!(answers, (share / PIECE_BYTES, share));
    let other = ask_from(&server, [198, 51, 100, 1], "k=0").await;
    assert_eq!(other.status, StatusCode::OK);
    drop((unread, other));
    assert_eq!(held(Kind::Answers), 0);
    // The text that all have in common is one.
    let text = server.text(PLAYLIST).await;
    assert_eq!(held(Kind::Playlists), text.len());
}

#[tokio::test]
async fn who_is_turned_away_is_no_question_to_the_gate() {
    struct Closed;
    impl Admission for Closed {
        fn admit(&self, _peer: SocketAddr) -> Result<Permit, Turned> {
            Err(Turned {
                reason: "closed".to_owned(),
                retry_after: 1,
            })
        }
    }
    let (mut server, _publisher) = playing("secret/show", 7_000);
    let playlist = "/secret/show/hls/live.m3u8?key=wrong";
    assert_eq!(server.ask(playlist).await.status, StatusCode::UNAUTHORIZED);
    let context = Arc::get_mut(&mut server.context).expect("no other holds it");
    context.admission = Box::new(Closed);
    let turned = server.ask(playlist).await;
    assert_eq!(turned.status, StatusCode::SERVICE_UNAVAILABLE);
}
