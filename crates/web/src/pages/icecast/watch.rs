//! `STATS /`: all statistics in lines, and each one that changes, for as long as the client takes them.
//!
//! ```text
//! EVENT global listeners 2
//! EVENT /radio.mp3 title Me - Tune
//! EVENT /radio.mp3 null null        the source is gone
//! ```
//!
//! Nothing is queued: after an event, and every few seconds, the figures already sent are compared with the current ones. So a
//! slow client gets fewer updates, and a client that takes nothing for a while is dropped.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use config::BaseUrl;
use fanout::events::EventReader;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::sheet::Sheet;
use super::stats::snapshot;
use super::watchers::Watching;
use crate::front_door::FrontDoor;

/// Interval at which byte counts are sent when nothing else happens, as in Icecast.
const QUIET: Duration = Duration::from_secs(5);

/// Minimum interval between two updates, however much happens.
const PAUSE: Duration = Duration::from_millis(250);

/// Time limit for a client to take an update.
const TAKING_TIMEOUT: Duration = Duration::from_secs(10);

/// Word that stands in place of a mount for figures of the server.
const GLOBAL: &str = "global";

/// Word for a name or a value that no longer exists.
const NULL: &str = "null";

/// Sends an operator all statistics until the client leaves, or the server does.
///
/// # Errors
/// If the client is gone or takes nothing.
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
        // Subscribed before the snapshot, so that no event during it is missed.
        let events = front.registry.fanout().events().subscribe();
        let Ok(sheet) = snapshot(front, base, None).await else {
            return Ok(());
        };
        let news = known.learn(&sheet);
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

/// Waits until the client has closed. Bytes that it sends meanwhile are ignored.
async fn has_left<S: AsyncRead + Unpin>(socket: &mut S) -> io::Result<()> {
    let mut ignored = [0; 64];
    while socket.read(&mut ignored).await? > 0 {}
    Ok(())
}

/// Figures that were sent to a client.
#[derive(Debug, Default)]
struct Known(BTreeMap<String, BTreeMap<String, String>>);

impl Known {
    /// Stores the current figures, and returns the lines to send about changes.
    fn learn(&mut self, sheet: &Sheet) -> String {
        let server = (GLOBAL, &sheet.server);
        let sources = sheet.sources.iter();
        let sources = sources.map(|source| (source.mount.as_str(), &source.facts));
        let now: BTreeMap<String, BTreeMap<String, String>> = std::iter::once(server)
            .chain(sources)
            .map(|(of, facts)| (of.to_owned(), facts.iter().cloned().collect()))
            .collect();
        let mut out = String::new();
        let nothing = BTreeMap::new();
        // The server's figures come first; in order of names they would not, as mounts begin with `/`.
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
    // Control characters are replaced, because a text could otherwise forge lines.
    let text = text.replace(char::is_control, " ");
    out.push_str(&format!("EVENT {of} {name} {text}\n"));
}

#[cfg(test)]
mod tests {
    use super::super::sheet::Source;
    use super::*;

    fn sheet(listeners: &str, sources: &[(&str, &[(&str, &str)])]) -> Sheet {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let sources = sources.iter().map(|(mount, facts)| Source {
            mount: (*mount).to_owned(),
            facts: facts.iter().map(own).collect(),
            listeners: None,
        });
        Sheet {
            server: vec![own(&("listeners", listeners))],
            sources: sources.collect(),
            moved_from: None,
        }
    }

    #[test]
    fn everything_is_reported_once_and_then_what_changes() {
        let mut known = Known::default();
        let title: &[(&str, &str)] = &[("listeners", "0"), ("title", "a\nEVENT b")];
        let titled = sheet("0", &[("/a", title), ("/b", &[])]);
        let all = "EVENT global listeners 0\nEVENT /a listeners 0\nEVENT /a title a EVENT b\n";
        assert_eq!(known.learn(&titled), all);
        assert_eq!(known.learn(&titled), "");
        let untitled = sheet("1", &[("/a", &[("listeners", "1")]), ("/b", &[])]);
        let news = "EVENT global listeners 1\nEVENT /a listeners 1\nEVENT /a title null\n";
        assert_eq!(known.learn(&untitled), news);
        let gone = sheet("1", &[("/b", &[])]);
        assert_eq!(known.learn(&gone), "EVENT /a null null\n");
    }
}
