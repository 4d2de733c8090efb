//! Public pages: the list of streams; for each stream a player, its newest video frame, its state and a page to publish it from
//! a browser; the list as JSON, playlists for player programs, and Icecast's status document and administration. Requests of
//! WHIP and WHEP are routed here as well.
//!
//! A page is a row of [`ROWS`] and the file that answers it. Text from publishers is escaped where it is written. Pages run
//! only this server's scripts, which their Content-Security-Policy enforces.

pub mod assets;
mod charged;
mod files;
mod finish;
mod hls;
mod html;
pub(super) mod icecast;
mod info;
pub mod kept;
mod lasting;
mod list;
mod lists;
pub mod operator;
mod playbacks;
mod player;
mod playlist;
mod presentation;
mod public;
mod publish;
mod recordings;
mod rendered;
mod row;
pub mod shoutcast;
mod status;
mod still;
mod stills;
mod title_clients;
mod titles;
mod xml;

use http::{StatusCode, header};
use http1::OWN_QUERY_BYTES_MAX;

use self::html::nothing_here;
use self::icecast::Subject;
use self::lists::Which;
use self::shoutcast::Figures;
use crate::page::Page;
use crate::reply::Reply;
use crate::request::Request;
use crate::signalling;

pub use finish::add_common;
pub(crate) use hls::answer_directly;
pub use icecast::watch;
pub use playlist::Playlist;
pub use row::Row;

pub(crate) use row::EMBED;

/// Builds the row of a page at a path.
macro_rules! page {
    ($path:literal, $answer:path) => {
        Row::page($path, |request| Box::pin($answer(request)))
    };
}

/// Builds the row of a page that each stream has.
macro_rules! of_stream {
    ($path:literal, $answer:path) => {
        Row::of_stream($path, |request, name| Box::pin($answer(request, name)))
    };
}

/// Table of all pages by address. The other addresses in [`routes`](crate::routes) are answered by other crates.
pub static ROWS: &[Row] = &[
    // The list of public streams: as a page, in Icecast's format, and for other programs.
    page!("/", list::answer).listed(),
    page!("/status-json.xsl", status::answer).listed(),
    page!("/api/v1/public/streams", public::answer),
    // The element that puts a player into any page; files that pages load.
    Row::asset("/carillon.js", &assets::COMPONENT),
    Row::asset("/favicon.ico", &assets::ICON),
    Row::asset("/_/icon.svg", &assets::ICON),
    Row::asset("/_/list.js", &assets::LIST),
    Row::asset("/_/player.js", &assets::SCRIPT),
    Row::asset("/_/mpegts.js", &assets::FLV_LIBRARY),
    Row::asset("/_/hls.js", &assets::HLS_LIBRARY),
    Row::asset("/_/style.css", &assets::STYLE),
    Row::asset("/_/publish.js", &assets::PUBLISH),
    // The player page; the player alone, for frames.
    of_stream!("/{stream}/", player::page),
    of_stream!("/embed/{stream}", player::frame),
    // The newest video frame.
    of_stream!("/{stream}/still.mp4", still::answer).waits(),
    // The state that the player page needs; the title, each time it changes.
    of_stream!("/{stream}/info.json", info::answer).waits(),
    of_stream!("/{stream}/titles", titles::answer).lasts(),
    // The publish page.
    of_stream!("/{stream}/publish", publish::answer),
    // The stream's recordings.
    of_stream!("/{stream}/recordings.json", recordings::list).waits(),
    // In SHOUTcast's form: a stream's figures, those of all streams, its title, its last titles, the seven values of SHOUTcast
    // 1.
    Row::shoutcast("/stats", Figures::Stats),
    Row::shoutcast("/statistics", Figures::Statistics).listed(),
    Row::shoutcast("/currentsong", Figures::Song),
    Row::shoutcast("/played", Figures::Played),
    Row::shoutcast("/played.html", Figures::Played),
    Row::shoutcast("/7.html", Figures::Seven),
    // The public streams, as on Icecast's page; the server's version.
    Row::icecast("/status.xsl", Subject::Public).listed(),
    Row::icecast("/server_version.xsl", Subject::Version),
    // Icecast's administration: statistics, streams, listeners, titles.
    Row::administration("/admin/", Subject::Stats),
    Row::administration("/admin/stats", Subject::Stats),
    Row::administration("/admin/stats.xsl", Subject::Stats),
    Row::administration("/admin/listmounts", Subject::Mounts),
    Row::administration("/admin/listmounts.xsl", Subject::Mounts),
    Row::administration("/admin/streamlist", Subject::Mounts),
    Row::administration("/admin/streamlist.txt", Subject::Names),
    Row::administration("/admin/listclients", Subject::Listeners),
    Row::administration("/admin/listclients.xsl", Subject::Listeners),
    Row::administration("/admin/updatemetadata", Subject::Title),
    Row::administration("/admin/updatemetadata.xsl", Subject::Title),
    // Remove a listener, end a stream, move listeners to another, set a fallback.
    Row::administration("/admin/killclient", Subject::Kick),
    Row::administration("/admin/killclient.xsl", Subject::Kick),
    Row::administration("/admin/killsource", Subject::End),
    Row::administration("/admin/killsource.xsl", Subject::End),
    Row::administration("/admin/moveclients", Subject::Move),
    Row::administration("/admin/moveclients.xsl", Subject::Move),
    Row::administration("/admin/fallbacks", Subject::FallBack),
    // A playlist that a player program opens to listen with a user and a password.
    Row::administration("/admin/buildm3u", Subject::Playlist),
];

/// Row of the figures for the operator at `/admin.cgi`, which otherwise sets titles.
pub(crate) static OPERATORS_FIGURES: Row = Row::shoutcast("/admin.cgi", Figures::Operators);

/// Answers a request for a page, without its line in the access log.
pub(crate) async fn respond(request: &Request<'_>, page: &Page) -> Reply {
    let made = make(request, page);
    let reply = match page.list(request.uri.query().is_some()) {
        Some(path) => {
            let which = Which::new(path, &request.uri, request.base());
            let lists = &request.front.pages.lists;
            lists.answer(which, request.visitor, made).await
        }
        None => made.await,
    };
    finish::finish(request, page.is_made_for_one(), reply)
}

async fn make(request: &Request<'_>, page: &Page) -> Reply {
    if page.repeats_query() && request.query().len() > OWN_QUERY_BYTES_MAX {
        let words = format!("The query is longer than {OWN_QUERY_BYTES_MAX} bytes.\n");
        return Reply::text(StatusCode::URI_TOO_LONG, words);
    }
    match page {
        Page::Row(row, stream) => row.answer(request, stream.as_ref()).await,
        Page::Hls(stream, resource) => hls::answer(request, (stream, resource)).await,
        Page::File(address) => files::answer(request, address).await,
        Page::Playlist(body, playlist) => playlist::answer(request, body, *playlist),
        Page::Past(address) => recordings::answer(request, address).await,
        Page::Rtc(address) => signalling::serve(request, address).await,
        Page::Preflight => Reply::new(StatusCode::NO_CONTENT),
        Page::NotAllowed => {
            Reply::new(StatusCode::METHOD_NOT_ALLOWED).with(header::ALLOW, "GET, HEAD, OPTIONS")
        }
        Page::Nothing => nothing_here(request.uri.path(), "There is nothing at this address."),
    }
}
