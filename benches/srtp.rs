//! The cost of WebRTC per packet and listener: sealing 1,200 bytes from the shared plaintext, and opening them.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use webrtc::srtp::{Keys, MasterKey, Opener, Profile, RTP_OVERHEAD_MAX, Sealer};

/// Length of a full packet: header and payload.
const PACKET_LEN: usize = 1_200;
const HEADER: [u8; 12] = [0x80, 96, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 1];
const PROFILES: [(&str, Profile); 2] = [
    ("aes-gcm", Profile::Aes128Gcm),
    ("aes-cm", Profile::Aes128CmSha1_80),
];

fn keys(profile: Profile) -> Keys {
    let salt = vec![2; profile.salt_len()];
    let key = MasterKey::new(profile, &[1; 16], &salt).expect("the lengths are right");
    Keys {
        profile,
        local: key.clone(),
        remote: key,
    }
}

fn seal(c: &mut Criterion) {
    let mut group = c.benchmark_group("srtp_seal");
    group.throughput(Throughput::Bytes(PACKET_LEN as u64));
    for (name, profile) in PROFILES {
        let sealer = Sealer::new(&keys(profile)).expect("keys");
        let payload = vec![7; PACKET_LEN - HEADER.len()];
        let mut out = vec![0; PACKET_LEN + RTP_OVERHEAD_MAX];
        group.bench_function(name, |b| {
            b.iter(|| {
                sealer
                    .seal(0x1234, &HEADER, black_box(&payload), &mut out)
                    .expect("there is room")
            });
        });
    }
    group.finish();
}

/// Measures the join of a listener: both directions' keys are expanded.
fn expand(c: &mut Criterion) {
    let mut group = c.benchmark_group("srtp_expand");
    for (name, profile) in PROFILES {
        let keys = keys(profile);
        group.bench_function(name, |b| {
            b.iter(|| Sealer::new(black_box(&keys)).expect("keys"));
        });
    }
    group.finish();
}

fn open(c: &mut Criterion) {
    let mut group = c.benchmark_group("srtp_open");
    group.throughput(Throughput::Bytes(PACKET_LEN as u64));
    for (name, profile) in PROFILES {
        let keys = keys(profile);
        let sealer = Sealer::new(&keys).expect("keys");
        let payload = vec![7; PACKET_LEN - HEADER.len()];
        let mut opener = Opener::new(&keys).expect("keys");
        let mut index = 0;
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || {
                    index += 1;
                    let mut header = HEADER;
                    header[2..4].copy_from_slice(&(index as u16).to_be_bytes());
                    let mut out = vec![0; PACKET_LEN + RTP_OVERHEAD_MAX];
                    let len = sealer
                        .seal(index, &header, &payload, &mut out)
                        .expect("there is room");
                    out.truncate(len);
                    out
                },
                |packet| opener.open(packet).expect("it is authentic"),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, seal, expand, open);
criterion_main!(benches);
