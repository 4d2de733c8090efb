//! Splitting of one listener's bytes into frames, which a ledger judges.

use bytes::Bytes;
use container::{Demuxer, flv, icy};
use http1::{ChunkedDecoder, Step};
use media::{Item, Kind, Timestamp, TrackId};

use crate::answer::Answer;
use crate::ledger::{Findings, Ledger};

/// Checker of one listener's frames.
#[derive(Debug)]
pub(crate) struct Checker {
    chunked: Option<ChunkedDecoder>,
    icy: Option<icy::Deinterleaver>,
    form: Form,
    items: Vec<Item>,
    ledger: Ledger,
    /// Wall clock at the listener's request.
    asked: u64,
}

#[derive(Debug)]
enum Form {
    Flv(flv::Reader),
    Frames(Box<Demuxer>),
    Rtmp(flv::Depacketizer),
    /// The form can no longer be read; further bytes count as damaged.
    Lost,
}

impl Checker {
    /// Creates a checker of the body that follows `answer`.
    pub(crate) fn http(answer: &Answer, asked: u64) -> Self {
        let content_type = &answer.content_type;
        let is_flv = content_type.contains("flv");
        let form = if is_flv {
            Form::Flv(flv::Reader::default())
        } else {
            Form::Frames(Box::new(Demuxer::for_content_type(content_type)))
        };
        Self {
            chunked: answer.is_chunked.then(ChunkedDecoder::new),
            icy: answer.metaint.map(icy::Deinterleaver::new),
            form,
            ..Self::rtmp(asked)
        }
    }

    /// Creates a checker of the tag bodies of an RTMP player.
    pub(crate) fn rtmp(asked: u64) -> Self {
        Self {
            chunked: None,
            icy: None,
            form: Form::Rtmp(flv::Depacketizer::default()),
            items: Vec::new(),
            ledger: Ledger::default(),
            asked,
        }
    }

    /// Judges the frames that are completed by `bytes`, received at `now`, wall clock.
    pub(crate) fn body(&mut self, bytes: &[u8], now: u64, findings: &mut Findings) {
        let Some(chunked) = &mut self.chunked else {
            unwrap_titles(&mut self.icy, &mut self.form, bytes, &mut self.items);
            return self.judge(now, findings);
        };
        let mut rest = bytes;
        loop {
            match chunked.step(&mut rest) {
                Ok(Step::Data(data)) => {
                    unwrap_titles(&mut self.icy, &mut self.form, data, &mut self.items);
                }
                Ok(Step::NeedMore | Step::End) => break,
                Err(_) => {
                    self.form = Form::Lost;
                    findings.counts.damaged += 1;
                    break;
                }
            }
        }
        self.judge(now, findings);
    }

    /// Judges an FLV tag's body, received at `now`, wall clock.
    pub(crate) fn tag(
        &mut self,
        kind: Kind,
        millis: u32,
        body: Bytes,
        now: u64,
        findings: &mut Findings,
    ) {
        if let Form::Rtmp(depacketizer) = &mut self.form {
            let at = Timestamp::from_millis(millis.into());
            match kind {
                Kind::Audio => depacketizer.audio(at, body, &mut self.items),
                Kind::Video => depacketizer.video(at, body, &mut self.items),
            }
        }
        self.judge(now, findings);
    }

    fn judge(&mut self, now: u64, findings: &mut Findings) {
        if matches!(self.form, Form::Lost) {
            findings.counts.damaged += 1;
        }
        for item in self.items.drain(..) {
            if let Item::Sample(sample) = item {
                let kind = match sample.track {
                    TrackId::VIDEO => Kind::Video,
                    _ => Kind::Audio,
                };
                self.ledger
                    .enter(kind, &sample.data, self.asked, now, findings);
            }
        }
    }
}

fn unwrap_titles(
    icy: &mut Option<icy::Deinterleaver>,
    form: &mut Form,
    bytes: &[u8],
    items: &mut Vec<Item>,
) {
    let Some(icy) = icy else {
        return demux(form, bytes, items);
    };
    icy.push(bytes, |piece| {
        if let icy::Piece::Audio(audio) = piece {
            demux(form, audio, items);
        }
    });
}

fn demux(form: &mut Form, bytes: &[u8], items: &mut Vec<Item>) {
    match form {
        Form::Flv(reader) => {
            if reader.push(bytes, items).is_err() {
                *form = Form::Lost;
            }
        }
        Form::Frames(demuxer) => demuxer.push(bytes, items),
        Form::Rtmp(_) | Form::Lost => {}
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::publish::synthetic::SyntheticAudio;

    fn answer(metaint: Option<usize>, is_chunked: bool) -> Answer {
        Answer {
            status: 200,
            content_type: "audio/mpeg".to_owned(),
            metaint: metaint.and_then(NonZeroUsize::new),
            is_chunked,
            content_length: None,
            closes: false,
        }
    }

    fn judged(answer: &Answer, body: &[u8], piece: usize) -> Findings {
        let mut checker = Checker::http(answer, 0);
        let mut findings = Findings::default();
        for bytes in body.chunks(piece) {
            checker.body(bytes, 60, &mut findings);
        }
        findings
    }

    #[test]
    fn a_mount_is_followed_however_it_is_cut() {
        let body = SyntheticAudio::mp3(0..40);
        for piece in [1, 7, 417, 5_000, body.len()] {
            let found = judged(&answer(None, false), &body, piece);
            assert!(found.counts.frames >= 38, "{found:?}");
            assert_eq!(found.counts.flaws(), [0; 4]);
            assert_eq!(found.delay.max(), 10);
        }
    }

    #[test]
    fn a_hole_in_a_mount_is_found() {
        let body = SyntheticAudio::mp3((0..20).chain(25..40));
        let found = judged(&answer(None, false), &body, 333);
        assert_eq!((found.counts.holes, found.counts.missing), (1, 5));
    }

    #[test]
    fn titles_and_chunks_are_taken_off() {
        let mut titled = Vec::new();
        for audio in SyntheticAudio::mp3(0..40).chunks(1_000) {
            titled.extend_from_slice(audio);
            titled.extend_from_slice(b"\x01StreamTitle='x';");
        }
        let mut chunked = Vec::new();
        for chunk in titled.chunks(700) {
            chunked.extend(format!("{:x}\r\n", chunk.len()).bytes());
            chunked.extend_from_slice(chunk);
            chunked.extend_from_slice(b"\r\n");
        }
        let found = judged(&answer(Some(1_000), true), &chunked, 51);
        assert!(found.counts.frames >= 38, "{found:?}");
        assert_eq!(found.counts.flaws(), [0; 4]);
    }

    #[test]
    fn what_is_no_flv_is_damaged() {
        let mut answer = answer(None, false);
        answer.content_type = "video/x-flv".to_owned();
        assert!(judged(&answer, b"not a video at all", 4).counts.damaged > 0);
    }
}
