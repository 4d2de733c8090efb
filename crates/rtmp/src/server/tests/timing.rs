//! Acknowledgements, pings and deadlines.

use super::*;

#[test]
fn acknowledgements_are_cumulative() {
    let mut client = Client::publishing();
    client.control(Kind::WindowAckSize, 100_000);
    client.chunks_of(65_536);
    let mut acknowledged = Vec::new();
    for _ in 0..30 {
        client.send(Kind::Video, 1, 0, &[0x27; 10_000]);
        for line in client.replies() {
            let value = line.strip_prefix("Acknowledgement ").unwrap();
            acknowledged.push(u32::from_str_radix(value, 16).unwrap());
        }
    }
    assert_eq!(acknowledged.len(), 6);
    for pair in acknowledged.windows(2) {
        let step = pair[1] - pair[0];
        assert!((50_000..61_000).contains(&step), "{acknowledged:?}");
    }
}

#[test]
fn a_new_bandwidth_is_answered_once() {
    let mut client = Client::connected();
    for _ in 0..2 {
        client.send(Kind::SetPeerBandwidth, 0, 0, &[0, 0x10, 0, 0, 2]);
    }
    client.hears("WindowAckSize 00100000");
}

#[test]
fn pings_are_answered() {
    let mut client = Client::connected();
    client.send(Kind::UserControl, 0, 0, &[0, 6, 1, 2, 3, 4]);
    client.hears("UserControl 000701020304");
    // A buffer length, an unknown event, and events cut short.
    for body in [
        &[0, 3, 0, 0, 0, 1, 0, 0, 1, 0][..],
        &[0, 99, 0, 0, 0, 0],
        &[0, 6],
        &[],
    ] {
        client.send(Kind::UserControl, 0, 0, body);
    }
    client.hears("");
}

#[test]
fn a_silent_publisher_is_pinged() {
    let mut client = Client::publishing();
    let due = client.session.poll_timeout().unwrap();
    assert_eq!(due, client.now + Duration::from_secs(15));
    let early = due - Duration::from_millis(1);
    client.session.handle_timeout(early).unwrap();
    client.hears("");
    client.session.handle_timeout(due).unwrap();
    client.hears("UserControl 000600003a98");
    let next = due + Duration::from_secs(15);
    assert_eq!(client.session.poll_timeout(), Some(next));

    // The pong, in the short form of librtmp, postpones the next ping.
    client.now = due + Duration::from_secs(5);
    let pong = [1 << 6 | 2, 0, 0, 0, 0, 0, 6, 4, 0, 7, 0, 0, 0x3a, 0x98];
    client.feed(&pong).unwrap();
    let due = client.now + Duration::from_secs(15);
    assert_eq!(client.session.poll_timeout(), Some(due));
}

#[test]
fn the_handshake_has_a_deadline() {
    let now = Instant::now();
    let mut session = Session::new(Config::default(), [0; 32], now);
    let due = now + Duration::from_secs(5);
    assert_eq!(session.poll_timeout(), Some(due));
    session.read(&mut &[3; 100][..], now).unwrap();
    assert_eq!(session.handle_timeout(due), Err(Error::HandshakeTimeout));
    assert!(session.output().is_empty());
    assert!(session.is_closed());
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn a_request_has_a_deadline_until_it_comes() {
    let mut client = Client::connected();
    let due = client.now + Duration::from_secs(10);
    assert_eq!(client.session.poll_timeout(), Some(due));
    let request = client.publish("show");
    client.session.handle_timeout(due).unwrap();
    client.session.accept_publish(request.id).unwrap();

    client.now += Duration::from_secs(100);
    client.say(1, "closeStream 0");
    client.replies();
    let due = client.now + Duration::from_secs(10);
    assert_eq!(client.session.poll_timeout(), Some(due));
    let got = client.session.handle_timeout(due);
    assert_eq!(got, Err(Error::RequestTimeout));
    client.hears("onStatus 0 @0 error NetConnection.Connect.IdleTimeOut");
}
