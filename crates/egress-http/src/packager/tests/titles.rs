//! ICY: titles between frames.

use std::sync::Arc;

use container::icy::{Deinterleaver, Piece, title_of};
use media::{Container, Item, Span, Title};

use crate::form::Form;
use crate::packager::METAINT;
use crate::testing::{House, Joiner, assert_same, mp3_frame, mp3_items, no_burst, write};

/// Enough for nine metadata blocks.
const FRAMES: usize = 360;
/// How many frames each title lasts.
const TITLE_FRAMES: usize = 70;

fn title(number: usize) -> String {
    format!("Title {number}")
}

/// MP3 frames, with a new title every so often; an item at a time, and the audio bytes before each.
fn programme() -> Vec<Item> {
    let mut items = Vec::new();
    let mut frames = 0;
    for item in mp3_items(FRAMES) {
        if matches!(item, Item::Sample(_)) {
            if frames % TITLE_FRAMES == 0 {
                let text = title(frames / TITLE_FRAMES);
                let url = String::new();
                items.push(Item::Title(Arc::new(Title { text, url })));
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

/// The title that the block after `audio_bytes` tells: the one of the frame that ends the interval.
fn title_at(audio_bytes: usize) -> String {
    let frame = (audio_bytes - 1) / mp3_frame(0).len();
    title(frame / TITLE_FRAMES)
}

/// Separates what a listener received.
fn separate(bytes: &[u8]) -> (Vec<u8>, Vec<String>) {
    let (mut audio, mut titles) = (Vec::new(), Vec::new());
    Deinterleaver::new(METAINT).push(bytes, |piece| match piece {
        Piece::Audio(bytes) => audio.extend_from_slice(bytes),
        Piece::Block(block) => titles.push(title_of(block).expect("every block tells").to_owned()),
    });
    (audio, titles)
}

#[test]
fn every_joiner_counts_the_same_and_hears_the_same() {
    let metaint = METAINT.get();
    let house = House::new(no_burst());
    let mut publisher = house.publish("radio", Container::Mp3);
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
        let joiner = house.join("radio", Form::Icy);
        // The newest place after a block; while a block is the very last thing, the one before.
        let blocks_before = written.saturating_sub(1) / metaint;
        joiners.push((blocks_before, joiner));
    }
    let all = audio();
    for (blocks_before, mut joiner) in joiners {
        let (heard, titles) = separate(joiner.drain());
        let start = blocks_before * metaint;
        let what = format!("joined after block {blocks_before}");
        assert_same(&heard, &all[start..], &what);
        let expected: Vec<_> = (blocks_before + 1..=all.len() / metaint)
            .map(|block| title_at(block * metaint))
            .collect();
        assert_eq!(titles, expected);
    }
}

#[test]
fn a_title_arrives_within_one_interval() {
    let house = House::new(no_burst());
    let mut publisher = house.publish("radio", Container::Mp3);
    let items = mp3_items(100);
    write(&mut publisher, &items[..50]);
    let mut joiner = house.join("radio", Form::Icy);
    joiner.drain();
    let new = Title {
        text: "now".to_owned(),
        url: String::new(),
    };
    write(&mut publisher, &[Item::Title(Arc::new(new))]);
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
    let mut settings = no_burst();
    settings.audio.skip_after = Span::from_millis(3_000);
    settings.audio.drop_after = Span::from_millis(600_000);
    let metaint = METAINT.get();
    let all = audio();
    let programme = programme();
    for pause in [60, 77, 100] {
        let house = House::new(settings);
        let mut publisher = house.publish("radio", Container::Mp3);
        let mut joiner = house.join("radio", Form::Icy);
        write(&mut publisher, &programme[..pause]);
        joiner.drain();
        write(&mut publisher, &programme[pause..]);
        let (heard, titles) = separate(joiner.drain());
        assert!(heard.len() < all.len(), "it has skipped");
        assert_eq!(titles.len(), heard.len() / metaint);
        let mut position = 0;
        for (interval, title) in heard.chunks_exact(metaint).zip(&titles) {
            let found = (position..)
                .step_by(metaint)
                .find(|start| all[*start..*start + metaint] == *interval);
            position = found.expect("an interval is one of the source's") + metaint;
            assert_eq!(*title, title_at(position));
        }
        let tail = &heard[heard.len() - heard.len() % metaint..];
        assert!(all.ends_with(tail) && !tail.is_empty());
    }
}
