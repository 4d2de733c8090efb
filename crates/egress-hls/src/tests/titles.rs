//! Titles as date ranges: which are listed, and where.

use std::sync::Arc;

use fanout::Publisher;
use media::{Item, Title};

use super::{attribute, play, playing, segments, tags, write};

const RANGE: &str = "#EXT-X-DATERANGE";
const PLAYLIST: &str = "/radio/aac/live.m3u8";

fn set_title(publisher: &mut Publisher, text: &str) {
    let title = Title {
        text: text.to_owned(),
        url: String::new(),
    };
    write(publisher, vec![Item::Title(Arc::new(title))]);
}

/// The titles of a playlist, each with the name of the segment that it stands before.
fn listed(listing: &str) -> Vec<(String, String)> {
    let ranges = tags(listing, RANGE).into_iter().map(|range| {
        let (_, behind) = listing.split_once(range).expect("it is listed");
        let segment = segments(behind.trim_start()).first().copied();
        let title = match range.contains(",X-TITLE=") {
            true => attribute(range, "X-TITLE").to_owned(),
            false => String::new(),
        };
        (title, segment.unwrap_or_default().to_owned())
    });
    ranges.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(title, segment): &(&str, &str)| ((*title).to_owned(), (*segment).to_owned());
    expected.iter().map(owned).collect()
}

#[tokio::test]
async fn a_title_that_began_before_the_first_viewer_stands_before_the_first_segment() {
    let (server, mut publisher) = playing("radio", 1_000);
    set_title(&mut publisher, "Before");
    play(&mut publisher, 1_000, 10_000);
    set_title(&mut publisher, "A - Now");
    play(&mut publisher, 10_000, 30_000);
    // The lane opens with the last seconds.
    let listing = server.text(&format!("{PLAYLIST}?_parts")).await;
    play(&mut publisher, 30_000, 35_000);
    let first = tags(&listing, RANGE)[0].to_owned();
    assert_eq!(attribute(&first, "X-TITLE"), "Now");
    assert_eq!(attribute(&first, "X-ARTIST"), "A");
    assert_eq!(attribute(&first, "CLASS"), "com.carillon.title");
    let listing = server.text(PLAYLIST).await;
    let segment = segments(&listing)[0];
    assert_eq!(listed(&listing), pairs(&[("Now", segment)]));
    assert_eq!(tags(&listing, RANGE), [&first], "it does not change");
    // The past of the stream is another than that of its present title.
    let date = attribute(&first, "START-DATE");
    let begun = tags(&listing, "#EXT-X-PROGRAM-DATE-TIME")[0];
    assert!(date < begun, "{date} {begun}");
}

#[tokio::test]
async fn the_title_in_force_is_listed_for_as_long_as_it_lasts() {
    let (server, mut publisher) = playing("radio", 1_000);
    server.text(&format!("{PLAYLIST}?_parts")).await;
    play(&mut publisher, 1_000, 4_000);
    set_title(&mut publisher, "One");
    let listing = server.text(PLAYLIST).await;
    assert_eq!(listed(&listing), pairs(&[("One", "")]), "{listing}");
    let one = tags(&listing, RANGE)[0].to_owned();
    play(&mut publisher, 4_000, 7_000);
    set_title(&mut publisher, "Two");
    play(&mut publisher, 7_000, 13_000);
    let listing = server.text(PLAYLIST).await;
    // The number of a segment is one more than that of its slot.
    let expected = pairs(&[("One", "3.aac"), ("Two", "4.aac")]);
    assert_eq!(listed(&listing), expected, "{listing}");
    assert_eq!(tags(&listing, RANGE)[0], one, "it does not change");
    let two = tags(&listing, RANGE)[1].to_owned();
    play(&mut publisher, 13_000, 120_000);
    let listing = server.text(PLAYLIST).await;
    let first = segments(&listing)[0];
    assert_eq!(listed(&listing), pairs(&[("Two", first)]), "{listing}");
    assert_eq!(tags(&listing, RANGE), [&two], "it does not change");
}

#[tokio::test]
async fn a_publisher_that_follows_ends_the_title() {
    let (server, mut publisher) = playing("radio", 1_000);
    set_title(&mut publisher, "One");
    server.text(&format!("{PLAYLIST}?_parts")).await;
    play(&mut publisher, 1_000, 10_000);
    let mut publisher = server.publish("radio");
    play(&mut publisher, 0, 10_000);
    let listing = server.text(PLAYLIST).await;
    let (titles, _): (Vec<_>, Vec<_>) = listed(&listing).into_iter().unzip();
    assert_eq!(titles, ["One", ""], "{listing}");
}
