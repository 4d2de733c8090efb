//! ICY: titles between frames.

use container::icy::{Deinterleaver, Piece, title_of};
use fanout::Publisher;
use media::{Codec, Container, Item, Span, TrackId};
use packagers::{Form, METAINT};

use crate::listen::testing::{
    Joiner, assert_same, audio_track, impatient, mp3_frame, mp3_items, no_burst, published, sample,
    title, write,
};

/// Enough for nine metadata blocks.
const FRAMES: usize = 360;
/// Number of frames that each title lasts.
const TITLE_FRAMES: usize = 70;

fn text(number: usize) -> String {
    format!("Title {number}")
}

/// MP3 frames, with a new title every so often; an item at a time, and the audio bytes before each.
fn programme() -> Vec<Item> {
    let mut items = Vec::new();
    let mut frames = 0;
    for item in mp3_items(FRAMES) {
        if matches!(item, Item::Sample(_)) {
            if frames % TITLE_FRAMES == 0 {
                items.push(title(&text(frames / TITLE_FRAMES)));
            }
            frames += 1;
        }
        items.push(item);
    }
    items
}

fn audio() -> Vec<u8> {
    (0..FRAMES).flat_map(mp3_frame).collect()
}

/// The title in the block after `audio_bytes`: the one of the frame that ends the interval.
fn title_at(audio_bytes: usize) -> String {
    let frame = (audio_bytes - 1) / mp3_frame(0).len();
    text(frame / TITLE_FRAMES)
}

/// Separates a listener's bytes: the audio, and the title in each block.
fn separate(bytes: &[u8]) -> (Vec<u8>, Vec<Option<String>>) {
    let (mut audio, mut blocks) = (Vec::new(), Vec::new());
    Deinterleaver::new(METAINT).push(bytes, |piece| match piece {
        Piece::Audio(bytes) => audio.extend_from_slice(bytes),
        Piece::Block(block) => blocks.push(title_of(block).map(str::to_owned)),
    });
    (audio, blocks)
}

/// The titles that a listener received, in order.
fn reported(bytes: &[u8]) -> Vec<String> {
    separate(bytes).1.into_iter().flatten().collect()
}

fn say(publisher: &mut Publisher, text: &str) {
    write(publisher, &[title(text)]);
}

/// Frames that fill `intervals` intervals and a little more.
fn intervals(intervals: usize) -> usize {
    (intervals * METAINT.get()).div_ceil(mp3_frame(0).len()) + 1
}

#[test]
fn every_joiner_counts_the_same_and_hears_the_same() {
    let metaint = METAINT.get();
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    let mut joiners = Vec::new();
    let mut written = 0;
    for item in programme() {
        if let Item::Sample(sample) = &item {
            written += sample.data.len();
        }
        write(&mut publisher, &[item]);
        for (_, joiner) in &mut joiners {
            let joiner: &mut Joiner = joiner;
            joiner.drain();
        }
        let joiner = server.join("radio", Form::Icy);
        // One interval before the newest place after a block; while a block is the very last thing, one
        // interval earlier.
        let blocks_before = (written.saturating_sub(1) / metaint).saturating_sub(1);
        joiners.push((blocks_before, joiner));
    }
    let all = audio();
    for (blocks_before, mut joiner) in joiners {
        let (heard, blocks) = separate(joiner.drain());
        let start = blocks_before * metaint;
        let what = format!("joined after block {blocks_before}");
        assert_same(&heard, &all[start..], &what);
        let titles: Vec<_> = (blocks_before + 1..=all.len() / metaint)
            .map(|block| title_at(block * metaint))
            .collect();
        let news = (0..titles.len()).map(|at| at == 0 || titles[at - 1] != titles[at]);
        let expected = titles.iter().zip(news);
        let expected: Vec<_> = expected
            .map(|(title, is_news)| is_news.then(|| title.clone()))
            .collect();
        assert_eq!(blocks, expected, "{what}");
    }
}

#[test]
fn a_title_is_reported_once_and_to_each_new_listener() {
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    let mut frames = mp3_items(FRAMES).into_iter();
    let mut play = |publisher: &mut Publisher| {
        let items: Vec<_> = frames.by_ref().take(intervals(2)).collect();
        write(publisher, &items);
    };
    let mut first = server.join("radio", Form::Icy);
    play(&mut publisher);
    say(&mut publisher, "one");
    // Encoders send the same title again and again.
    say(&mut publisher, "one");
    play(&mut publisher);
    say(&mut publisher, "one");
    // A title that is taken back before a listener received it is no change.
    say(&mut publisher, "other");
    say(&mut publisher, "one");
    play(&mut publisher);
    assert_eq!(reported(first.drain()), ["one"]);
    let mut second = server.join("radio", Form::Icy);
    play(&mut publisher);
    assert_eq!(reported(second.drain()), ["one"]);
    assert_eq!(separate(&second.bytes).1[0].as_deref(), Some("one"));
    // Cleared.
    say(&mut publisher, "");
    play(&mut publisher);
    assert_eq!(reported(second.drain()), ["one", ""]);
    assert_eq!(reported(first.drain()), ["one", ""]);
}

#[test]
fn the_next_publisher_does_not_inherit_the_title() {
    let (server, mut before) = published(no_burst(), "radio", Container::Mp3);
    let items = mp3_items(intervals(2));
    let mut listener = server.join("radio", Form::Icy);
    say(&mut before, "Anna - Live");
    write(&mut before, &items);
    assert_eq!(reported(listener.drain()), ["Anna - Live"]);
    drop(before);
    let mut next = server.publish("radio", Container::Mp3);
    assert_eq!(next.stream().info().title, None);
    write(&mut next, &items);
    assert_eq!(reported(listener.drain()), ["Anna - Live", ""]);
    let mut joiner = server.join("radio", Form::Icy);
    assert_eq!(reported(joiner.drain()), [""]);
}

#[test]
fn a_joiner_is_given_the_burst_and_not_an_interval_more() {
    let mut settings = no_burst();
    settings.audio.burst = Span::from_millis(3_000);
    let (server, mut publisher) = published(settings, "radio", Container::Mp3);
    let mut first = server.join("radio", Form::Icy);
    write(&mut publisher, &programme());
    first.drain();
    let (heard, _) = separate(server.join("radio", Form::Icy).drain());
    let seconds = heard.len() as f64 * 8.0 / 128_000.0;
    assert!((2.9..4.1).contains(&seconds), "{seconds} s");
}

#[test]
fn a_title_arrives_within_one_interval() {
    let (server, mut publisher) = published(no_burst(), "radio", Container::Mp3);
    let items = mp3_items(100);
    write(&mut publisher, &items[..50]);
    let mut joiner = server.join("radio", Form::Icy);
    joiner.drain();
    say(&mut publisher, "now");
    let before = joiner.bytes.len();
    let needed = METAINT.get().div_ceil(mp3_frame(0).len());
    write(&mut publisher, &items[50..50 + needed]);
    joiner.drain();
    let text = b"StreamTitle='now';";
    let news = &joiner.bytes[before..];
    assert!(news.windows(text.len()).any(|window| window == text));
}

#[test]
fn a_laggard_stays_in_step() {
    let metaint = METAINT.get();
    let all = audio();
    let programme = programme();
    for pause in [60, 77, 100] {
        let (server, mut publisher) = published(impatient(3), "radio", Container::Mp3);
        let mut joiner = server.join("radio", Form::Icy);
        write(&mut publisher, &programme[..pause]);
        joiner.drain();
        write(&mut publisher, &programme[pause..]);
        let (heard, blocks) = separate(joiner.drain());
        assert!(heard.len() < all.len(), "it has skipped");
        assert_eq!(blocks.len(), heard.len() / metaint);
        let mut position = 0;
        let mut shown = String::new();
        for (interval, block) in heard.chunks_exact(metaint).zip(&blocks) {
            let found = (position..)
                .step_by(metaint)
                .find(|start| all[*start..*start + metaint] == *interval);
            position = found.expect("an interval is one of the source's") + metaint;
            if let Some(title) = block {
                assert_ne!(*title, shown, "told again");
                shown.clone_from(title);
            }
            // Also for titles that were skipped.
            assert_eq!(shown, title_at(position));
        }
        let tail = &heard[heard.len() - heard.len() % metaint..];
        assert!(all.ends_with(tail) && !tail.is_empty());
    }
}

/// On streams of tracks as on sources: a block stands behind the same number of bytes of audio, headers
/// included.
#[test]
fn titles_stand_between_the_frames_of_a_track() {
    for (codec, titled, plain) in [
        (Codec::Mp3, Form::IcyMp3, Form::Mp3),
        (Codec::Aac, Form::IcyAac, Form::Aac),
    ] {
        let (server, mut publisher) = published(no_burst(), "live/show", Container::Tracks);
        write(&mut publisher, &[audio_track(codec)]);
        let mut titled = server.join("live/show", titled);
        let mut plain = server.join("live/show", plain);
        for number in 0..FRAMES {
            if number % TITLE_FRAMES == 0 {
                say(&mut publisher, &text(number / TITLE_FRAMES));
            }
            let at = 26 * number as i64;
            let frame = sample(TrackId::AUDIO, at, true, mp3_frame(number));
            write(&mut publisher, &[frame]);
            titled.drain();
            plain.drain();
        }
        let (heard, blocks) = separate(titled.drain());
        assert_same(&heard, plain.drain(), "the sound between");
        assert_eq!(blocks.len(), heard.len() / METAINT.get());
        let last_frame = (blocks.len() * METAINT.get() - 1) / (heard.len() / FRAMES);
        let titles: Vec<_> = (0..=last_frame / TITLE_FRAMES).map(text).collect();
        assert_eq!(blocks.into_iter().flatten().collect::<Vec<_>>(), titles);
    }
}
