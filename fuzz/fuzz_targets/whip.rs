//! An admitted WebRTC publisher: whatever it sends and reports, it is answered a bounded number of times, deadlines lie ahead,
//! and the stream's times do not go back.

#![no_main]

use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use container::rtp::{Header, PayloadFormat};
use fanout::gate::{
    Authorized, Credential, Decision, Denied, Gate, Gatekeeper, Play, Publish, Request,
    UpdateMetadata,
};
use fanout::{Config, Fanout, LaneGuard, LaneSink, Packager, Registry, Source};
use ingest::whip::{self, PublisherOutbox, Publishers};
use ingest::{Context, Settings, Stats};
use libfuzzer_sys::fuzz_target;
use media::{Container, Item, StreamName, Timestamp};
use net::wait::at_once;
use webrtc::mux::{CloseReason, Handle};
use webrtc::sdp::Offer;

const STREAM: &str = "live/show";

const SESSION: Handle = Handle {
    slot: 0,
    generation: 0,
};

/// Maximum number of compounds that one packet may cause: requests, possibly for several layers, and a report, at once and in
/// each of the turns.
const ANSWERS_MAX: usize = 4 * (1 + TURNS_MAX);

/// Rids of the layers; a stream with layers is offered if the first byte is odd.
const LAYERS: [&str; 3] = ["h", "m", "l"];

/// Number of turns until nothing is due any more.
const TURNS_MAX: usize = 3;

static CONTEXT: LazyLock<Context> = LazyLock::new(context);

struct Open(Gatekeeper);

impl Gate for Open {
    fn publish<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Publish> {
        Box::pin(ready(Ok(self.0.authorize(Publish {
            stream: request.stream.clone(),
            credential: Credential(1),
        }))))
    }

    fn play<'a>(&'a self, request: &'a Request<'a>) -> Decision<'a, Play> {
        let stream = request.stream.clone();
        Box::pin(ready(Ok(self.0.authorize(Play { stream }))))
    }

    fn update_metadata<'a>(&'a self, _: &'a Request<'a>) -> Decision<'a, UpdateMetadata> {
        Box::pin(ready(Err(Denied::Missing)))
    }
}

/// Returns the permission to publish, which is granted at once.
fn publishing(name: &StreamName) -> Authorized<Publish> {
    let request = Request::new(name, "fuzz", peer());
    at_once(&mut CONTEXT.gate.publish(&request))
        .unwrap()
        .unwrap()
}

fn peer() -> SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

fn context() -> Context {
    let config = Config {
        workers: 1,
        target_utilisation: 0.02,
        log_bytes_max: 64 << 20,
    };
    let (fanout, _departures) =
        Fanout::start(&config, || Ok(Box::new(net::Epoll::new()?))).unwrap();
    let rules = Box::new(|_: &StreamName| fanout::Settings::default());
    let (registry, keeper) = Registry::new(fanout, 1, rules);
    Context {
        is_taken: |_| false,
        registry: Arc::new(registry),
        gate: Arc::new(Open(keeper)),
        settings: Settings::default(),
        stats: Arc::new(Stats::default()),
        intake: None,
        leaving: tokio::sync::watch::channel(false).1,
    }
}

/// Records the media that the stream receives: the latest time of each track.
#[derive(Default)]
struct Watch([Timestamp; 2]);

impl Packager for Watch {
    fn push(&mut self, item: &Item, _: &mut LaneSink<'_>) {
        if let Item::Sample(sample) = item {
            let last = &mut self.0[usize::from(sample.track.0)];
            assert!(sample.dts >= *last && sample.pts >= sample.dts && !sample.data.is_empty());
            *last = sample.dts;
        }
    }
}

fn watch() -> LaneGuard {
    let name = StreamName::parse(STREAM).unwrap();
    // The stream exists before its publisher has sent anything.
    let permission = publishing(&name);
    let source = Source {
        protocol: "fuzz",
        peer: None,
        agent: String::new(),
        container: Container::Tracks,
        content_type: "video/x-flv".to_owned(),
        headers: Vec::new(),
    };
    let before = CONTEXT
        .registry
        .publish(&permission, source, Instant::now());
    drop(before.unwrap());
    let stream = CONTEXT.registry.stream(&name).unwrap();
    let request = Request::new(&name, "fuzz", peer());
    let permission = at_once(&mut CONTEXT.gate.play(&request)).unwrap().unwrap();
    let format = fanout::Format {
        name: "watch",
        protocol: fanout::Protocol::Http,
        retention: fanout::Retention::Live,
    };
    let lane = stream.lane(
        &permission,
        format,
        || Box::new(Watch::default()),
        Instant::now(),
    );
    lane.unwrap()
}

#[derive(Default)]
struct Said {
    compounds: usize,
    is_closed: bool,
}

impl PublisherOutbox for Said {
    fn rtcp(&mut self, _: Handle, compound: &[u8]) {
        assert!(compound.len() <= 1_200 && compound.len().is_multiple_of(4));
        self.compounds += 1;
    }

    fn close(&mut self, _: Handle) {
        self.is_closed = true;
    }
}

fn offer(format: PayloadFormat, has_layers: bool, is_numbered: bool) -> Offer {
    let name = format.encoding_name();
    let layers = match has_layers {
        true => {
            "a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id\r\n\
             a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id\r\n\
             a=rid:h send\r\na=rid:m send\r\na=rid:l send\r\na=simulcast:send h;m;l\r\n"
        }
        false => "",
    };
    let numbers = match is_numbered {
        true => {
            "a=rtcp-fb:* transport-cc\r\na=extmap:5 \
             http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01\r\n"
        }
        false => "",
    };
    let transport = "c=IN IP4 0.0.0.0\r\na=ice-ufrag:TdB7\r\na=ice-pwd:ZxVHyLxWTDEZdb7pUvXZVLAY\r\n\
        a=setup:actpass\r\na=rtcp-mux\r\na=rtcp-rsize\r\na=sendonly\r\na=fingerprint:sha-256 \
        7B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08";
    let text = format!(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n{transport}\r\na=mid:0\r\na=rtpmap:111 opus/48000/2\r\n{numbers}\
         m=video 9 UDP/TLS/RTP/SAVPF 96 97\r\n{transport}\r\na=mid:1\r\na=rtpmap:96 {name}/90000\r\n\
         a=fmtp:96 packetization-mode=1\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n\
         a=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\na=rtcp-fb:96 goog-remb\r\n{layers}{numbers}"
    );
    Offer::parse(&text).unwrap()
}

/// Returns a packet's header with the rid of its layer, if its section has layers and the number is not past them, and with its
/// number among all packets.
fn head(header: Header, layer: Option<&&str>, number: Option<u16>) -> Vec<u8> {
    let mut head = header.to_bytes().to_vec();
    let mut elements = Vec::new();
    if let Some(name) = layer {
        let id = if header.payload_type == 97 { 4 } else { 3 };
        elements.extend([id << 4, name.as_bytes()[0]]);
    }
    if let Some(number) = number {
        elements.push(5 << 4 | 1);
        elements.extend(number.to_be_bytes());
    }
    if !elements.is_empty() {
        elements.resize(elements.len().next_multiple_of(4), 0);
        head[0] |= 0x10;
        head.extend([0xBE, 0xDE, 0, (elements.len() / 4) as u8]);
        head.extend(elements);
    }
    head
}

// The first byte chooses the video format, whether the video has layers, and whether packets are numbered. Then follow packets,
// each behind its kind, its length, and the steps of the sequence number and of the time, so that the fuzzer need not count.
fuzz_target!(|data: &[u8]| {
    let Some((format, mut rest)) = data.split_first() else {
        return;
    };
    let (format, has_layers) = (
        PayloadFormat::ALL[usize::from(*format >> 1) % 5],
        format & 1 == 1,
    );
    let is_numbered = data[0] & 0x80 != 0;
    let agreed = whip::agree(&offer(format, has_layers, is_numbered)).unwrap();
    let permission = publishing(&StreamName::parse(STREAM).unwrap());
    let ticket = whip::admit(&CONTEXT, permission, peer(), "", agreed).unwrap();
    let _lane = watch();
    let mut publishers = Publishers::new(Settings::default(), Arc::clone(&CONTEXT.stats));
    let (mut now, mut said) = (Instant::now(), Said::default());
    publishers.connected(SESSION, ticket, now);
    // Sequence numbers by line and layer.
    let mut sequences = [[0u16; 4]; 3];
    let mut count = 0u16;
    while let Some(([kind, length, step, passed], after)) = rest.split_first_chunk::<4>() {
        let (bytes, after) = after.split_at(usize::from(*length).min(after.len()));
        rest = after;
        now += Duration::from_millis(u64::from(*passed));
        said.compounds = 0;
        match kind % 5 {
            // Media, with a valid header.
            line @ 0..=2 => {
                let line = usize::from(line);
                // Two bits of the kind name the layer; each has a source of its own.
                let layer = usize::from(kind >> 5 & 3);
                let name = LAYERS.get(layer).filter(|_| has_layers && line != 1);
                let number = &mut sequences[line][name.map_or(0, |_| layer)];
                let sequence = number.wrapping_add_signed(i16::from(*step as i8));
                *number = sequence;
                // Steps of the other bits are jumps.
                count = count.wrapping_add_signed(i16::from(*step as i8) << (kind >> 3 & 3) * 3);
                let (stamp, payload) = bytes.split_at(bytes.len().min(2));
                let header = Header {
                    marker: kind & 0x80 != 0,
                    payload_type: [96, 111, 97][line],
                    sequence,
                    timestamp: stamp
                        .iter()
                        .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
                    ssrc: 1_000 + line as u32 + 10 * name.map_or(0, |_| layer as u32),
                };
                let number = is_numbered.then_some(count);
                let packet = [&head(header, name, number)[..], payload].concat();
                publishers.rtp(SESSION, &packet, now, &mut said);
            }
            3 => publishers.rtp(SESSION, bytes, now, &mut said),
            _ => publishers.rtcp(SESSION, bytes, now, &mut said),
        }
        let mut turns = 0;
        while publishers
            .turn(now, &mut said)
            .is_some_and(|due| due <= now)
        {
            turns += 1;
            assert!(turns <= TURNS_MAX, "it is due again and again");
        }
        assert!(said.compounds <= ANSWERS_MAX, "{}", said.compounds);
    }
    assert_eq!(publishers.is_empty(), said.is_closed);
    publishers.closed(SESSION, CloseReason::PeerClosed);
    assert!(publishers.is_empty());
});
