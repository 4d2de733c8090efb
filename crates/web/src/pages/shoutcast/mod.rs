//! Documents for SHOUTcast (DNAS 2) programs: figures, titles and listeners of streams, which have numbers there.
//!
//! A stream's number, `sid`, is the one in `[[stream]]`, or else its place among the public streams in the order of their
//! names, from 1. Without `sid=`, the first stream is used. A stream that does not exist is shown as one without a source. The
//! replies of `/admin.cgi` demand the operator's password; the other documents are about public streams only, and for everyone.

pub(super) mod audience;
mod facts;

use std::sync::Arc;

use fanout::{Info, Stream};
use http::StatusCode;
use http1::Query;
use serde_json::{Value, json};

use self::audience::{Census, Crowd};
use self::facts::{Facts, House, Standing, listener, object, song, summary, title, write};
use super::html::escape;
use super::xml::{self, Xml};
use crate::front_door::FrontDoor;
use crate::listeners;
use crate::refusal;
use crate::reply::Reply;
use crate::request::Request;
use crate::status::STREAMS_MAX;
use reports::view::StreamView;

/// Document of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Figures {
    /// Figures of a stream.
    Stats,
    /// Figures of all streams.
    Statistics,
    /// Title of a stream.
    Song,
    /// Last titles of a stream.
    Played,
    /// The seven values of SHOUTcast 1.
    Seven,
    /// Figures for the operator, by one of the queries of `/admin.cgi`.
    Operators,
}

/// Maximum length in bytes of the name of a function that JSON is wrapped into.
const CALLBACK_BYTES_MAX: usize = 64;

/// Whether a query of `/admin.cgi` is for figures.
pub fn asks_figures(query: Query<'_>) -> bool {
    let mode = query.get("mode");
    matches!(mode.as_deref(), Some("viewxml" | "viewjson"))
}

/// Answers a request for a row.
pub(super) async fn answer(request: &Request<'_>, figures: Figures) -> Reply {
    let query = request.parameters();
    if figures == Figures::Operators
        && let Err(denied) = request.administer(query.get("pass")).await
    {
        return refusal::not_the_operator(denied);
    }
    let (front, base) = (request.front, request.base());
    let listeners_max = front.config.limits.listeners;
    let house = House {
        base: &base,
        version: &front.config.http.server_header,
        listeners_max: listeners_max.map_or(0, std::num::NonZero::get),
        directories: &front.directories,
    };
    let census = front.pages.audience.census(front.registry.fanout()).await;
    let ask = Ask {
        front,
        house,
        query,
        census: &census,
    };
    match figures {
        Figures::Stats => ask.stats(),
        Figures::Statistics => ask.statistics(),
        Figures::Operators => ask.figures().await,
        Figures::Song => text("text/plain; charset=utf-8", ask.song()),
        Figures::Played => ask.played(),
        Figures::Seven => ask.seven(),
    }
}

struct Ask<'a> {
    front: &'a FrontDoor,
    house: House<'a>,
    query: Query<'a>,
    census: &'a Census,
}

impl Ask<'_> {
    /// Returns the public streams, in the order of their names.
    fn streams(&self) -> Vec<(Arc<Stream>, Info)> {
        let streams = self.front.registry.list().into_iter();
        let streams = streams.map(|stream| {
            let info = stream.info();
            (stream, info)
        });
        let public = streams.filter(|(_, info)| info.settings.public);
        public.take(STREAMS_MAX).collect()
    }

    /// Returns a stream's number: the configured one, or else its place.
    fn number(&self, place: usize, info: &Info) -> u64 {
        let configured = self.front.config.rule(&info.name).and_then(|rule| rule.sid);
        configured.map_or(place as u64 + 1, |sid| sid.get().into())
    }

    /// Returns the stream that the request is about.
    fn stream(&self) -> Option<(Arc<Stream>, Info)> {
        let sid = self.query.get("sid");
        let sid: u64 = sid.map_or(Some(1), |sid| sid.trim().parse().ok())?;
        let streams = self.streams().into_iter().enumerate();
        let numbered = streams.map(|(place, (stream, info))| {
            let number = self.number(place, &info);
            let is_configured = self.front.config.rule(&info.name);
            let is_configured = is_configured.is_some_and(|rule| rule.sid.is_some());
            (number, is_configured, stream, info)
        });
        let of_sid = numbered.filter(|(number, ..)| *number == sid);
        // A configured number wins over a place.
        let found = of_sid.reduce(|one, other| if one.1 || !other.1 { one } else { other });
        found.map(|(_, _, stream, info)| (stream, info))
    }

    fn wants_json(&self) -> bool {
        self.query.get("json").as_deref() == Some("1")
            || self.query.get("type").as_deref() == Some("json")
    }

    fn summary(&self, of: Option<&(Arc<Stream>, Info)>, is_operators: bool) -> Facts {
        let nobody = Crowd::default();
        let crowd = of.and_then(|(_, info)| self.census.stream(&info.name));
        let standing = of.map(|(stream, info)| Standing {
            info,
            departed: stream.departed().listeners.value(),
        });
        summary(self.house, standing, crowd.unwrap_or(&nobody), is_operators)
    }

    /// Handles `/stats?sid=`.
    fn stats(&self) -> Reply {
        let facts = self.summary(self.stream().as_ref(), false);
        match self.wants_json() {
            true => self.json(&Value::Object(object(facts))),
            false => document(|xml| write(xml, &facts)),
        }
    }

    /// Handles `/statistics`: the figures of all streams.
    fn statistics(&self) -> Reply {
        let streams = self.streams();
        let active = streams.iter().filter(|(_, info)| info.is_on_air()).count();
        let sum = |of: fn(&Info) -> usize| streams.iter().map(|(_, info)| of(info)).sum::<usize>();
        let server: Facts = vec![
            ("totalstreams", streams.len().into()),
            ("activestreams", active.into()),
            ("currentlisteners", sum(|info| info.listeners).into()),
            ("peaklisteners", sum(|info| info.listeners_peak).into()),
            ("maxlisteners", self.house.listeners_max.into()),
            ("uniquelisteners", self.census.all.unique().into()),
            ("averagetime", self.census.all.average().into()),
            ("version", self.house.version.into()),
        ];
        let streams = streams.iter().enumerate().map(|(place, of)| {
            let mut facts = self.summary(Some(of), false);
            facts.retain(|(name, _)| *name != "version");
            (self.number(place, &of.1), facts)
        });
        if self.wants_json() {
            let streams = streams.map(|(number, facts)| {
                let mut stream = object(facts);
                stream.insert("id".to_owned(), number.into());
                Value::Object(stream)
            });
            let streams: Vec<_> = streams.collect();
            let mut whole = object(server);
            whole.insert("streams".to_owned(), streams.into());
            return self.json(&Value::Object(whole));
        }
        document(|xml| {
            xml.element("STREAMSTATS", &[], |xml| {
                write(xml, &server);
                for (number, facts) in streams {
                    let id = number.to_string();
                    xml.element("STREAM", &[("id", &id)], |xml| write(xml, &facts));
                }
            });
        })
    }

    /// Handles `/currentsong?sid=`.
    fn song(&self) -> String {
        let stream = self.stream();
        let view = stream.as_ref().map(|(_, info)| StreamView::of(info));
        title(view.as_ref()).to_owned()
    }

    /// Handles `/played?sid=`, as a page, or with `type=xml` or `type=json`.
    fn played(&self) -> Reply {
        let songs = self.songs();
        if self.wants_json() {
            let songs = songs.into_iter().map(|facts| {
                let mut song = object(facts);
                let metadata = json!({ "tit2": song["title"] });
                song.insert("metadata".to_owned(), metadata);
                Value::Object(song)
            });
            return self.json(&songs.collect());
        }
        if self.query.get("type").as_deref() == Some("xml") {
            return document(|xml| history(xml, &songs));
        }
        let lines = songs.iter().map(|song| {
            let title = song.iter().find(|(name, _)| *name == "title");
            let title = title
                .and_then(|(_, title)| title.as_str())
                .unwrap_or_default();
            format!("<li>{}</li>\n", escape(title))
        });
        let lines: String = lines.collect();
        let page = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Played</title></head>\n\
             <body><main><h1>Played</h1>\n<ol>\n{lines}</ol>\n</main></body></html>\n"
        );
        text("text/html; charset=utf-8", page)
    }

    fn songs(&self) -> Vec<Facts> {
        let stream = self.stream();
        let played = stream.map_or_else(Vec::new, |(stream, _)| stream.played());
        played.iter().map(song).collect()
    }

    /// Handles `/7.html`: seven values, of which the title may contain commas.
    fn seven(&self) -> Reply {
        let facts = object(self.summary(self.stream().as_ref(), false));
        let of = |name: &str| match facts.get(name) {
            Some(Value::String(text)) => escape(text),
            Some(value) => value.to_string(),
            None => String::new(),
        };
        let values = [
            "currentlisteners",
            "streamstatus",
            "peaklisteners",
            "maxlisteners",
            "uniquelisteners",
            "bitrate",
            "songtitle",
        ];
        let values = values.map(of).join(",");
        let page = format!(
            "<html><head><meta http-equiv=\"Pragma\" content=\"no-cache\"></head><body>{values}</body></html>"
        );
        text("text/html; charset=utf-8", page)
    }

    /// Handles `/admin.cgi?mode=viewxml&sid=&page=`: 1 and 7 are the summary, 3 the listeners, 4 the titles, 5 the current
    /// title; without a page, all but the last. `mode=viewjson` gives one page as JSON, and without a page the summary.
    async fn figures(&self) -> Reply {
        let stream = self.stream();
        let page = self.query.get("page");
        let page = page.and_then(|page| page.trim().parse().ok()).unwrap_or(0);
        // Page 7 is the operator's view of a stream in the administration.
        let page = if page == 7 { 1 } else { page };
        let is_json = self.query.get("mode").as_deref() == Some("viewjson");
        let has = |number: u32| page == number || page == 0 && !is_json;
        let mut own = Vec::new();
        if has(3)
            && let Some((_, info)) = &stream
        {
            let Ok(mut records) = listeners::list(self.front.registry.fanout()).await else {
                return Reply::new(StatusCode::SERVICE_UNAVAILABLE);
            };
            records.retain(|record| record.stream == info.name);
            own = records.iter().map(|record| listener(record)).collect();
        }
        if is_json {
            let all = |facts: Vec<Facts>| -> Value {
                let objects = facts.into_iter().map(object);
                objects.map(Value::Object).collect()
            };
            return self.json(&match page {
                3 => all(own),
                4 => all(self.songs()),
                5 => json!({ "tit2": self.song() }),
                _ => Value::Object(object(self.summary(stream.as_ref(), true))),
            });
        }
        document(|xml| {
            if has(1) {
                write(xml, &self.summary(stream.as_ref(), true));
            }
            if has(3) {
                xml.element("LISTENERS", &[], |xml| {
                    for listener in &own {
                        xml.element("LISTENER", &[], |xml| write(xml, listener));
                    }
                });
            }
            if has(4) {
                history(xml, &self.songs());
            }
            if page == 5 {
                xml.element("SONGMETADATA", &[], |xml| xml.text("TIT2", &self.song()));
            }
        })
    }

    /// Renders JSON, wrapped into the function that the query names.
    fn json(&self, value: &Value) -> Reply {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        let callback = self.query.get("callback").filter(|name| {
            !name.is_empty() && name.len() <= CALLBACK_BYTES_MAX && name.chars().all(is_plain)
        });
        match callback {
            Some(name) => text(
                "application/javascript; charset=utf-8",
                format!("{name}({value})"),
            ),
            None => text("application/json; charset=utf-8", value.to_string()),
        }
    }
}

fn history(xml: &mut Xml, songs: &[Facts]) {
    xml.element("SONGHISTORY", &[], |xml| {
        for song in songs {
            xml.element("SONG", &[], |xml| write(xml, song));
        }
    });
}

fn document(inside: impl FnOnce(&mut Xml)) -> Reply {
    let mut document = Xml::document();
    document.element("SHOUTCASTSERVER", &[], inside);
    xml::answer(document)
}

fn text(content_type: &str, text: String) -> Reply {
    Reply::full(StatusCode::OK, content_type, text)
}
