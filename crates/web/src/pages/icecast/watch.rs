//! `STATS /`: all figures in lines, and each that changes, for as long as its client takes them.
//!
//! ```text
//! EVENT global listeners 2
//! EVENT /radio.mp3 title Me - Tune
//! EVENT /radio.mp3 null null        the source is gone
//! ```
//!
//! Nothing is queued: what a client has been told is compared with what is true when something has happened, and every
//! few seconds. So a client that is slow is told less often, and one that takes nothing for a while is let go.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use config::BaseUrl;
use fanout::events::EventReader;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::stats::snapshot;
use super::told::Told;
use super::watchers::Watching;
use crate::front_door::FrontDoor;

/// Until figures of bytes are told again when nothing else happens, as Icecast has it.
const QUIET: Duration = Duration::from_secs(5);

/// Between two looks, however much happens.
const PAUSE: Duration = Duration::from_millis(250);

/// For a client to take what it is told.
const TAKING_TIMEOUT: Duration = Duration::from_secs(10);

/// What is of no source, in place of a mount.
const GLOBAL: &str = "global";

/// A name or a value that is no more.
const NULL: &str = "null";

/// Tells an operator everything until it leaves, or the server does.
///
/// # Errors
/// When the client is gone or takes nothing.
pub async fn watch<S>(
    front: &FrontDoor,
    base: &BaseUrl,
    socket: &mut S,
    _watching: Watching<'_>,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut known = Known::default();
    timeout(TAKING_TIMEOUT, socket.write_all(http1::SOURCE_OK)).await??;
    loop {
        // From before the look, so that nothing is missed that happens during it.
        let events = front.registry.fanout().events().subscribe();
        let Ok(told) = snapshot(front, base, None).await else {
            return Ok(());
        };
        let news = known.learn(&told);
        timeout(TAKING_TIMEOUT, socket.write_all(news.as_bytes())).await??;
        tokio::select! {
            () = front.drain.begun() => return Ok(()),
            left = has_left(socket) => return left,
            () = happens(events) => {}
            () = sleep(QUIET) => {}
        }
        sleep(PAUSE).await;
    }
}

/// Waits for an event.
async fn happens(mut events: EventReader) {
    events.next().await;
}

/// Waits until the client has closed. What it says meanwhile means nothing.
async fn has_left<S: AsyncRead + Unpin>(socket: &mut S) -> io::Result<()> {
    let mut ignored = [0; 64];
    while socket.read(&mut ignored).await? > 0 {}
    Ok(())
}

/// What a client has been told.
#[derive(Debug, Default)]
struct Known(BTreeMap<String, BTreeMap<String, String>>);

impl Known {
    /// Takes what is true now, and returns what the client is to be told of it.
    fn learn(&mut self, told: &Told) -> String {
        let server = (GLOBAL, &told.server);
        let sources = told.sources.iter();
        let sources = sources.map(|source| (source.mount.as_str(), &source.facts));
        let now: BTreeMap<String, BTreeMap<String, String>> = std::iter::once(server)
            .chain(sources)
            .map(|(of, facts)| (of.to_owned(), facts.iter().cloned().collect()))
            .collect();
        let mut out = String::new();
        let nothing = BTreeMap::new();
        // The server's come first, as it is a word and mounts begin with `/`.
        let global = now.iter().filter(|(of, _)| *of == GLOBAL);
        let others = now.iter().filter(|(of, _)| *of != GLOBAL);
        for (of, facts) in global.chain(others) {
            let before = self.0.get(of).unwrap_or(&nothing);
            for (name, text) in facts {
                if before.get(name) != Some(text) {
                    say(&mut out, of, name, text);
                }
            }
            for name in before.keys().filter(|name| !facts.contains_key(*name)) {
                say(&mut out, of, name, NULL);
            }
        }
        for of in self.0.keys().filter(|of| !now.contains_key(*of)) {
            say(&mut out, of, NULL, NULL);
        }
        self.0 = now;
        out
    }
}

fn say(out: &mut String, of: &str, name: &str, text: &str) {
    // A text could make up lines.
    let text = text.replace(char::is_control, " ");
    out.push_str(&format!("EVENT {of} {name} {text}\n"));
}

#[cfg(test)]
mod tests {
    use super::super::told::Source;
    use super::*;

    fn told(listeners: &str, sources: &[(&str, &[(&str, &str)])]) -> Told {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let sources = sources.iter().map(|(mount, facts)| Source {
            mount: (*mount).to_owned(),
            facts: facts.iter().map(own).collect(),
            listeners: None,
        });
        Told {
            server: vec![own(&("listeners", listeners))],
            sources: sources.collect(),
            moved_from: None,
        }
    }

    #[test]
    fn everything_is_told_once_and_then_what_changes() {
        let mut known = Known::default();
        let title: &[(&str, &str)] = &[("listeners", "0"), ("title", "a\nEVENT b")];
        assert_eq!(
            known.learn(&told("0", &[("/a", title), ("/b", &[])])),
            "EVENT global listeners 0\nEVENT /a listeners 0\nEVENT /a title a EVENT b\n"
        );
        let same = told("0", &[("/a", title), ("/b", &[])]);
        assert_eq!(known.learn(&same), "");
        let untitled = told("1", &[("/a", &[("listeners", "1")]), ("/b", &[])]);
        assert_eq!(
            known.learn(&untitled),
            "EVENT global listeners 1\nEVENT /a listeners 1\nEVENT /a title null\n"
        );
        let gone = told("1", &[("/b", &[])]);
        assert_eq!(known.learn(&gone), "EVENT /a null null\n");
    }
}
