//! Feedback on each packet, for senders that have a congestion control of their own.

use std::collections::BTreeMap;

use container::rtp::Packet;
use rtc_rtcp::payload_feedbacks::receiver_estimated_maximum_bitrate::ReceiverEstimatedMaximumBitrate;
use rtc_rtcp::transport_feedbacks::transport_layer_cc::{
    PacketStatusChunk, SymbolTypeTcc, TransportLayerCc,
};

use super::*;

/// Packets in a message, by their numbers, with the arrival time of those that arrived.
pub(super) type Reported = Vec<(u16, Option<Duration>)>;

/// Reads the feedback in a compound packet by another library.
pub(super) fn read(compound: &[u8]) -> Reported {
    let mut rest = compound;
    let packets = rtc_rtcp::packet::unmarshal(&mut rest).expect("well formed");
    let feedback = packets
        .iter()
        .filter_map(|packet| packet.as_any().downcast_ref::<TransportLayerCc>());
    // Browsers read only what names a source of theirs.
    let has_source = |one: &&TransportLayerCc| assert!([100, 200, 201].contains(&one.media_ssrc));
    feedback.inspect(has_source).flat_map(read_one).collect()
}

fn read_one(feedback: &TransportLayerCc) -> Reported {
    let symbols = feedback.packet_chunks.iter().flat_map(|chunk| match chunk {
        PacketStatusChunk::RunLengthChunk(run) => {
            vec![run.packet_status_symbol; run.run_length.into()]
        }
        PacketStatusChunk::StatusVectorChunk(list) => list.symbol_list.clone(),
    });
    let mut at = i64::from(feedback.reference_time) * 64_000;
    let mut deltas = feedback.recv_deltas.iter();
    let reported = symbols.take(feedback.packet_status_count.into());
    let reported = reported.enumerate().map(|(place, symbol)| {
        let number = feedback.base_sequence_number.wrapping_add(place as u16);
        if symbol == SymbolTypeTcc::PacketNotReceived {
            return (number, None);
        }
        at += deltas.next().expect("a delta").delta;
        let at = u64::try_from(at).expect("after the beginning");
        (number, Some(Duration::from_micros(at)))
    });
    reported.collect()
}

/// A sender's packets: their fate, and the feedback on them.
#[derive(Default)]
pub(super) struct Numbered {
    next: u16,
    /// Times of sending and of arrival, by number.
    sent: BTreeMap<u16, (Duration, Option<Duration>)>,
    reported: BTreeMap<u16, Option<Duration>>,
    messages: Vec<Duration>,
}

impl Numbered {
    /// The number of the next packet.
    pub(super) fn next(&mut self, now: Duration) -> u16 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.sent.insert(number, (now, None));
        number
    }

    pub(super) fn arrive(&mut self, packet: &[u8], now: Duration) {
        let packet = Packet::parse(packet).expect("it was made here");
        let number = packet.element(3).expect("a number");
        let number = u16::from_be_bytes([number[0], number[1]]);
        let (_, came) = self.sent.get_mut(&number).expect("it was sent");
        came.get_or_insert(now);
    }

    pub(super) fn tell(&mut self, reported: Reported, now: Duration) {
        for (number, at) in reported {
            let before = self.reported.entry(number).or_default();
            assert!(before.is_none(), "{number} is told twice");
            *before = at;
        }
        self.messages.push(now);
    }
}

#[test]
fn a_sender_learns_of_every_packet_several_times_a_second() {
    let microphone = audio() + NUMBERED + "a=rtcp-fb:111 transport-cc\r\n";
    let camera = picture(PayloadFormat::Vp8, &(FEEDBACK.to_owned() + NUMBERED));
    let mut seen = Line::pictures(1_500);
    seen.rtx = Some((97, 201));
    let link = Link {
        delay: Duration::from_millis(40),
        jitter: Duration::from_millis(3),
        ..Link::default()
    };
    let text = offer(&[microphone, camera]);
    let mut trial = Trial::new(&text, vec![Line::audio(), seen], link);
    trial.numbered = Some(Numbered {
        // They wrap soon.
        next: 65_400,
        ..Numbered::default()
    });
    trial.run(Duration::from_millis(100));
    trial.link.lost = 50;
    trial.run(Duration::from_secs(10));
    let numbered = trial.numbered.as_ref().expect("they are numbered");
    for pair in numbered.messages.windows(2) {
        let apart = pair[1] - pair[0];
        let usual = Duration::from_millis(50)..=Duration::from_millis(100);
        assert!(usual.contains(&apart), "{apart:?}");
    }
    let mut lost = 0;
    for (number, (sent, came)) in &numbered.sent {
        // What is under way, and what the next message would say.
        if *sent > trial.now - Duration::from_millis(300) {
            continue;
        }
        let units = |at: Duration| at.as_micros() / 250;
        let reported = numbered.reported.get(number).expect("it is told");
        assert_eq!(reported.map(units), came.map(units), "{number}");
        lost += u32::from(came.is_none());
    }
    assert!(lost > 20 && numbered.sent.len() > 800, "{lost} lost");
    // Nothing else limits the sender.
    let has_limit = |compound: &Vec<u8>| compound.windows(4).any(|bytes| bytes == b"REMB");
    assert!(!trial.compounds.iter().any(has_limit));
}

/// An outage of the network is reported as such, and a sender that restarts its numbering is understood.
#[test]
fn a_jump_of_the_numbers_is_a_loss_or_a_new_beginning() {
    let microphone = audio() + NUMBERED + "a=rtcp-fb:111 transport-cc\r\n";
    let mut trial = Trial::new(&offer(&[microphone]), vec![Line::audio()], Link::default());
    trial.numbered = Some(Numbered::default());
    trial.run(Duration::from_secs(1));
    let jump = |trial: &mut Trial, ahead: u16| {
        let numbered = trial.numbered.as_mut().expect("they are numbered");
        let next = numbered.next;
        numbered.next = next.wrapping_add(ahead);
        trial.run(trial.now + Duration::from_secs(1));
        let numbered = trial.numbered.as_ref().expect("they are numbered");
        let reported =
            (0..ahead).filter(|at| numbered.reported.contains_key(&next.wrapping_add(*at)));
        assert!(numbered.reported.contains_key(&next.wrapping_add(ahead)));
        reported.count()
    };
    assert_eq!(jump(&mut trial, 2_000), 2_000);
    assert_eq!(jump(&mut trial, 20_000), 0);
}

#[test]
fn a_sender_without_numbers_may_send_less_once_its_packets_wait() {
    let text = offer(&[audio(), picture(PayloadFormat::Vp8, FEEDBACK)]);
    let link = Link::delayed(40);
    let lines = vec![Line::audio(), Line::pictures(3_000)];
    let mut trial = Trial::new(&text, lines, link);
    trial.run(Duration::from_secs(5));
    assert!(bit_rates(&trial).iter().all(|rate| *rate == 2_500_000.0));
    trial.link.delay += Duration::from_millis(200);
    trial.run(Duration::from_secs(8));
    // Some 700 kb/s arrive.
    let least = bit_rates(&trial).into_iter().fold(f32::MAX, f32::min);
    assert!((500_000.0..680_000.0).contains(&least), "{least}");
}

/// Returns the allowed bit rates that the sender received, in order.
fn bit_rates(trial: &Trial) -> Vec<f32> {
    let compounds = trial.compounds.iter();
    let packets = compounds.flat_map(|compound| {
        let mut rest = &compound[..];
        rtc_rtcp::packet::unmarshal(&mut rest).expect("well formed")
    });
    let rates = packets.filter_map(|packet| {
        let limit = packet
            .as_any()
            .downcast_ref::<ReceiverEstimatedMaximumBitrate>();
        Some(limit?.bitrate)
    });
    rates.collect()
}
